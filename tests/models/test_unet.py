"""The plain peer: a network like any other, with no second opinion."""

from dataclasses import asdict

import pytest
import torch
from torch import Tensor, nn

from smokescope.models.build import build_model
from smokescope.models.bvm import SmokeBVM
from smokescope.models.settings import PAPER, UNET, ModelSettings
from smokescope.models.unet import UNet
from smokescope.settings.plain import from_plain
from smokescope.uncertainty import binary_entropy
from tests.models.base import ModelTester
from tests.models.small import TINY


class TestUNet(ModelTester):
    def build(self) -> nn.Module:
        return UNet(TINY)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.rand(batch, 3, height, width),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == 3 * [(batch, 1, height, width)]


def test_all_its_doubt_is_the_entropy_of_its_answer() -> None:
    torch.manual_seed(0)
    output = UNet(TINY).eval()(torch.rand(2, 3, 40, 56))
    assert torch.equal(output.total, binary_entropy(output.logits))
    assert output.total.min() > 0
    assert not output.epistemic.any()


class Given(nn.Module):
    """An encoder that gives the same features whatever it sees."""

    channels = (4, 5, 6, 7)
    strides = (4, 8, 16, 32)

    def __init__(self) -> None:
        super().__init__()
        shapes = zip(self.channels, self.strides, strict=True)
        self.features = [torch.rand(1, c, 64 // s, 64 // s, requires_grad=True) for c, s in shapes]

    def forward(self, x: Tensor) -> list[Tensor]:
        return self.features


def test_every_feature_is_used_and_a_fine_one_only_where_it_is() -> None:
    torch.manual_seed(0)
    encoder = Given()
    logits = UNet(TINY, encoder).eval()(torch.rand(1, 3, 64, 64)).logits
    gradients = torch.autograd.grad(logits[0, 0, 2, 2], encoder.features)  # of the map's upper left
    assert all(gradient.any() for gradient in gradients)
    finest = gradients[0].abs().sum(1)[0]
    assert finest[:4, :4].any()
    assert not finest[4:].any()  # two 3x3 convolutions and the last step of resizing reach no farther


def test_it_is_of_the_bayesian_models_size_and_normalises_as_it_does() -> None:
    with torch.device("meta"):
        millions = sum(p.numel() for p in UNet(UNET).parameters()) / 1e6
    assert 30 < millions < 32
    shifted = from_plain(ModelSettings, {**asdict(TINY), "mean": [0.0, 0.0, 0.0], "std": [0.5, 0.5, 0.5]})
    model, other = UNet(TINY).eval(), UNet(shifted).eval()
    other.load_state_dict(model.state_dict())  # the colours' means are settings, not weights
    picture = torch.rand(1, 3, 32, 32)
    mean, std = torch.tensor(TINY.mean).view(3, 1, 1), torch.tensor(TINY.std).view(3, 1, 1)
    again = other((picture - mean) / std * 0.5)
    torch.testing.assert_close(model(picture).logits, again.logits, atol=1e-5, rtol=1e-4)


def test_settings_choose_the_network() -> None:
    with torch.device("meta"):
        assert isinstance(build_model(UNET), UNet)
        assert isinstance(build_model(PAPER), SmokeBVM)
    with pytest.raises(ValueError, match="describe a smoke-bvm, not a unet"):
        UNet(PAPER)
    with pytest.raises(ValueError, match="architecture must be smoke-bvm or unet, not 'yolo'"):
        from_plain(ModelSettings, {"architecture": "yolo"})
