"""A graph made ready for 8 bits computes what it did before."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import openvino
import pytest
from numpy.typing import NDArray
from tests.data.hills import hills
from tests.export.conftest import Exported, write_openvino
from tests.models.small import shrunk

from smokescope.export import int8_graph
from smokescope.export.int8_graph import UNEVEN, as_batch, even_out, read_levels
from smokescope.export.onnx import to_onnx
from smokescope.export.openvino import to_openvino
from smokescope.inference.engines.maps import Pixels
from smokescope.inference.engines.openvino_graph import SETTINGS
from smokescope.models import DEFAULT, InputSettings, Pipeline, SmokeBVM, UNet

PICTURES = [hills(seed, smoke=True, size=(110, 150)) for seed in range(3)]
Change = Callable[[openvino.Model], None]


@pytest.mark.parametrize("change", [read_levels, partial(even_out, calibration=PICTURES, outliers=1e-4)])
def test_nothing_changes_but_the_numbers_on_the_way(exported: Exported, change: Change) -> None:
    model = openvino.Core().read_model(exported.openvino)
    before, kernels = _maps(model, PICTURES), _kernels(model)
    change(model)
    assert not all(map(np.array_equal, kernels, _kernels(model)))
    for ours, theirs in zip(_maps(model, PICTURES), before, strict=True):
        assert np.abs(ours - theirs).max() < 1e-4  # up to the borders


def test_an_untrained_network_of_either_kind_is_made_ready(tmp_path: Path) -> None:
    settings = shrunk(DEFAULT)
    for network in (SmokeBVM(settings), UNet(replace(settings, architecture="unet"))):
        pipeline = Pipeline(network, InputSettings(height=64, width=96)).eval()
        write_openvino(to_openvino(to_onnx(pipeline, {"sha256": ""})), tmp_path / "m.xml")
        model = openvino.Core().read_model(tmp_path / "m.xml")
        before = _maps(model, PICTURES)
        read_levels(model)
        even_out(model, PICTURES, 1e-4)
        for ours, theirs in zip(_maps(model, PICTURES), before, strict=True):
            assert np.abs(ours - theirs).max() < 1e-4


def test_channels_that_share_a_range_come_closer(exported: Exported) -> None:
    model = openvino.Core().read_model(exported.openvino)
    before = [_spread(model, name) for name in UNEVEN]
    even_out(model, PICTURES, 1e-4)
    after = [_spread(model, name) for name in UNEVEN]
    assert all(b > 1.5 for b in before)  # there is something to do
    assert np.allclose(after, np.sqrt(before), rtol=0.05)  # half the way


def _spread(model: openvino.Model, name: str) -> float:
    """How many times as far the widest channel reaches as the narrowest."""
    given = int8_graph._activated(int8_graph._find(model, name))
    (reach,) = int8_graph._reach(model, [given], PICTURES, 1e-4)
    return float(reach.max() / np.maximum(reach, int8_graph.LEAST * reach.max()).min())


def _maps(model: openvino.Model, pictures: Sequence[Pixels]) -> list[NDArray[np.float32]]:
    compiled = openvino.Core().compile_model(model, "CPU", SETTINGS)
    return [each.copy() for picture in pictures for each in compiled([as_batch(picture)]).values()]


def _kernels(model: openvino.Model) -> list[NDArray[np.float32]]:
    return [int8_graph._kernels(int8_graph._find(model, name)) for name in UNEVEN]
