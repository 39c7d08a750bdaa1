"""What is in an exported graph: all of the resizing, nothing of chance, and names that say what is what."""

import onnx
import onnxruntime
import pytest
import torch
from tests.data.hills import hills
from tests.export.conftest import Exported
from torch import Tensor, nn

from smokescope.checkpoints.model import load_model
from smokescope.export.onnx import trace
from smokescope.uncertainty import Decomposition

CHANCE = {"Dropout", "Bernoulli", "Multinomial"}
CHANCE |= {f"Random{kind}{like}" for kind in ("Normal", "Uniform") for like in ("", "Like")}


@pytest.mark.parametrize("size", [(64, 96), (181, 240), (50, 31)])
def test_the_file_alone_takes_pixels_and_gives_maps_of_their_size(
    exported: Exported, size: tuple[int, int]
) -> None:
    """As another program would run it: nothing of ours resizes before or after."""
    session = onnxruntime.InferenceSession(exported.onnx)
    pictures = torch.from_numpy(hills(4, smoke=True, size=size[::-1]).transpose(2, 0, 1)[None].copy())
    assert pictures.dtype == torch.uint8
    with torch.no_grad():
        expected = load_model(exported.safetensors)(pictures)
    for found, own in zip(session.run(None, {"pictures": pictures.numpy()}), expected, strict=True):
        assert found.shape == (1, 1, *size)
        torch.testing.assert_close(torch.from_numpy(found), own, atol=1e-4, rtol=0)


def test_there_is_no_chance_in_it(exported: Exported) -> None:
    assert not CHANCE & {node.op_type for node in onnx.load(exported.onnx).graph.node}


class Forgetful(nn.Module):
    """A part that is drawn by mode, as ours are not."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, pictures: Tensor) -> Decomposition:
        return Decomposition(*([self.dropout(pictures.float())] * 4))


def test_a_dropout_in_training_mode_would_be_off() -> None:
    pictures = torch.ones(2, 3, 8, 8, dtype=torch.uint8)
    data = trace(Forgetful().train(), {"pictures": pictures}, {"pictures": (0, 2, 3)}, {})
    found = onnxruntime.InferenceSession(data).run(None, {"pictures": pictures.numpy()})
    assert all((each == 1).all() for each in found)


def test_a_nodes_name_begins_with_its_module(exported: Exported) -> None:
    known = {name for name, _ in load_model(exported.safetensors).named_modules()} | {"pipeline"}
    nodes = onnx.load(exported.onnx).graph.node
    names = [node.name for node in nodes]
    convolutions = [node.name for node in nodes if node.op_type == "Conv"]
    assert {name.split("/")[0] for name in convolutions} <= known
    assert any(name.startswith("network.decoder.head/") for name in convolutions)
    assert len(set(names)) == len(names)
