"""`smokescope serve` with exported models: a process, a socket, and no torch in it."""

import sys

import httpx
import numpy as np
import pytest
from tests.data.hills import hills
from tests.export.conftest import Exported
from tests.serve.test_processes import process

import smokescope
from smokescope.data.pictures import encode_png

SCRIPT = "import sys; sys.modules['torch'] = None; from smokescope.cli import main; main()"


@pytest.mark.parametrize(
    ("kind", "name", "engine"), [("onnx", "m.onnx", "onnxruntime"), ("openvino", "m.xml", "OpenVINO")]
)
def test_an_exported_model_is_served(exported: Exported, kind: str, name: str, engine: str) -> None:
    path, picture = getattr(exported, kind), hills(3, smoke=True)
    expected = smokescope.load(exported.safetensors, "cpu")(picture)
    command = [sys.executable, "-c", SCRIPT, "serve", "--model", path, "--port", 0]
    with process(*command) as (_, address):
        model = httpx.get(address + "/v1/model").json()
        answer = httpx.post(
            address + "/v1/segment",
            content=encode_png(picture),
            headers={"content-type": "image/png"},
            timeout=60,
        ).json()
        page = httpx.get(address + "/app.js").text
    assert (model["name"], model["engine"], model["device"]) == (name, engine, "cpu")
    assert (model["architecture"], model["parameters"], model["temperature"]) == ("smoke-bvm", None, 0.7)
    assert model["input"] == {"height": 64, "width": 96, "fit": "aspect"}
    assert (model["threshold"], model["verdicts"]["unsure_above"]) == (0.45, 0.2)
    assert len(model["sha256"]) == 64
    assert answer["model"]["name"] == name
    assert answer["verdict"] == expected.verdict
    np.testing.assert_allclose(answer["mean"]["epistemic"], expected.epistemic.mean(), atol=1e-4)
    assert "model.parameters === null" in page  # which the page can do without
