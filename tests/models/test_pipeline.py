"""From pictures as they come to maps as they are given out."""

import math
from dataclasses import asdict
from typing import cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.distributions import Bernoulli
from torch.nn import functional

from smokescope.chance import make_keys
from smokescope.models.build import SmokeModel
from smokescope.models.bvm import Output, SmokeBVM
from smokescope.models.pipeline import Pipeline, enlarge_samples, resize
from smokescope.models.unet import UNet
from smokescope.settings.input import InputSettings, network_size
from smokescope.settings.plain import from_plain
from smokescope.uncertainty import LN2, Decomposition, decompose
from tests.models.small import TINY, small_bvm

SMALL = InputSettings(height=64, width=96)
ASPECT = InputSettings(height=64, width=96, fit="aspect")


class Echo(nn.Module):
    """Answers with the picture's own channels: red as logits, a share of the others as uncertainties."""

    def forward(self, pictures: Tensor, temperature: float) -> Output:
        self.seen = pictures
        red, green, blue = pictures.split(1, 1)
        return Output((10 * red - 5) / temperature, LN2 * green, LN2 * green * blue)


def echo(input: InputSettings, temperature: float = 1.0) -> tuple[Pipeline, Echo]:
    network = Echo()
    return Pipeline(cast(SmokeModel, network), input, temperature).eval(), network


@pytest.fixture
def bvm() -> SmokeBVM:
    return small_bvm().eval()


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(64, 1200))
def test_aspect_keeps_the_aspect_and_the_number_of_pixels(height: int, width: int, side: int) -> None:
    h, w = network_size(height, width, InputSettings(height=side, width=side, fit="aspect"))
    assert h % 32 == w % 32 == 0
    assert min(h, w) >= 64
    if 1 / 4 <= height / width <= 4:  # each side is within half a step of 32, and 1.2 %, of the ideal
        root = math.sqrt(height / width)
        assert abs(h - max(64, side * root)) <= 16.1 + 0.012 * h
        assert abs(w - max(64, side / root)) <= 16.1 + 0.012 * w
    assert h * w <= (side + 16) ** 2 * 1.35 or min(h, w) == 64  # however long and thin


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        ((480, 480), (480, 480)),
        ((1080, 1920), (352, 640)),
        ((1920, 1080), (640, 352)),
        ((1, 9000), (96, 2400)),
    ],
)
def test_sizes_that_the_network_sees(picture: tuple[int, int], size: tuple[int, int]) -> None:
    assert network_size(*picture, InputSettings(fit="aspect")) == size
    assert network_size(*picture, InputSettings(height=448, width=640)) == (448, 640)


def test_resizing_averages_when_it_shrinks_and_interpolates_when_it_grows() -> None:
    fine = torch.zeros(1, 1, 96, 96)
    fine[..., ::4, ::4] = 1  # lost entirely, or taken for everything, by looking at every fourth pixel
    assert resize(fine, (24, 24)).mean() == pytest.approx(1 / 16, rel=0.05)
    assert resize(fine, (24, 24)).amax() < 0.2
    coarse = torch.rand(1, 2, 6, 7)
    torch.testing.assert_close(
        resize(coarse, (24, 33)), functional.interpolate(coarse, (24, 33), mode="bilinear"), atol=1e-6, rtol=0
    )
    assert torch.equal(resize(coarse, (6, 7)), coarse)


@pytest.mark.parametrize("size", [(64, 96), (31, 200), (300, 70), (1, 1)])
@pytest.mark.parametrize("settings", [SMALL, ASPECT])
def test_maps_have_the_pictures_own_size(size: tuple[int, int], settings: InputSettings) -> None:
    pipeline, network = echo(settings)
    picture = torch.rand(2, 3, *size)
    maps = pipeline(picture)
    assert tuple(network.seen.shape[-2:]) == network_size(*size, settings)
    assert all(m.shape == (2, 1, *size) for m in maps)
    assert (maps.epistemic >= 0).all()
    assert torch.equal(maps.epistemic, (maps.total - maps.aleatoric).clamp(min=0))


def test_bytes_and_shares_of_white_are_the_same_picture() -> None:
    pipeline, network = echo(SMALL, temperature=2.0)
    eight = torch.randint(256, (1, 3, 64, 96), dtype=torch.uint8)
    maps = pipeline(eight)
    torch.testing.assert_close(network.seen, eight / 255)
    for a, b in zip(maps, pipeline(eight / 255), strict=True):
        assert torch.equal(a, b)
    logits = 10 * (eight[:, :1] / 255) - 5
    torch.testing.assert_close(maps.probability, torch.sigmoid(logits / 2), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        maps.total, LN2 * (eight[:, 1:2] / 255), atol=1e-6, rtol=0
    )  # as the net gives it
    with pytest.raises(ValueError, match="uint8 or floating point"):
        pipeline(eight.int())


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_floats_of_every_width_are_taken(kind: torch.dtype) -> None:
    pipeline, network = echo(SMALL)
    pipeline((torch.arange(3 * 40 * 70).view(1, 3, 40, 70) / (3 * 40 * 70)).to(kind))
    assert network.seen.dtype == torch.float32


def test_logits_are_resized_not_probabilities() -> None:
    """So that the temperature softens a border, and does not move it."""
    picture = torch.full((1, 3, 512, 768), 0.4)  # logit -1
    picture[..., 384:] = 0.9  # logit 4
    sharp, soft = (echo(SMALL, temperature)[0](picture).probability for temperature in (0.25, 4.0))
    assert torch.equal(sharp > 0.5, soft > 0.5)
    assert 0 < (sharp > 0.5).float().mean() < 1
    assert sharp.max() > soft.max()


def test_the_bayesian_models_maps_are_all_at_the_temperature(bvm: SmokeBVM) -> None:
    nn.init.normal_(bvm.get_parameter("decoder.head.weight"), std=0.5)  # answers that vary
    pipeline, picture = Pipeline(bvm, SMALL, temperature=2.5).eval(), torch.rand(2, 3, 40, 50)
    seen = pipeline.prepare(picture)
    logits, found = bvm(seen).logits, pipeline(picture)
    probability = torch.sigmoid(resize(logits, (40, 50)) / 2.5)
    torch.testing.assert_close(found.probability, probability, atol=1e-5, rtol=0)
    expected = bvm.estimate_uncertainty(seen, logits / 2.5)  # of what is given out, not of what it was
    for ours, theirs in zip((found.total, found.aleatoric), expected, strict=True):
        torch.testing.assert_close(ours, resize(theirs, (40, 50)), atol=1e-5, rtol=0)


def test_the_unets_maps_are_all_at_the_temperature() -> None:
    torch.manual_seed(0)
    unet, picture = UNet(TINY).eval(), torch.rand(2, 3, 40, 50)
    nn.init.normal_(unet.head.weight, std=2)
    pipeline = Pipeline(unet, SMALL, temperature=2.5).eval()
    logits, found = unet(pipeline.prepare(picture)).logits, pipeline(picture)
    probability = torch.sigmoid(resize(logits, (40, 50)) / 2.5)
    torch.testing.assert_close(found.probability, probability, atol=1e-5, rtol=0)
    entropy = Bernoulli(logits=logits / 2.5).entropy()
    for doubt in (found.total, found.aleatoric):
        torch.testing.assert_close(doubt, resize(entropy, (40, 50)), atol=1e-5, rtol=0)


def test_samples_are_at_the_temperature_and_at_the_pictures_size(bvm: SmokeBVM) -> None:
    pipeline = Pipeline(bvm, SMALL, temperature=2.5).eval()
    picture, keys = torch.rand(2, 3, 40, 50), make_keys(3, torch.arange(2))
    found = pipeline.sample(picture, 5, keys, block=2)
    encoding = bvm.encode(pipeline.prepare(picture))
    expected = decompose([logits / 2.5 for logits in bvm.sample_blocks(encoding, keys, 5)])
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(ours, resize(theirs, (40, 50)), atol=1e-5, rtol=0)
    assert (found.epistemic >= 0).all()
    assert found.epistemic.max() > 0
    assert torch.equal(pipeline.sample(picture, 2).total, pipeline.sample(picture, 2).total)
    assert not torch.equal(pipeline.sample(picture, 2, keys).total, pipeline.sample(picture, 2).total)


def test_maps_of_samples_stay_probabilities_in_full_precision() -> None:
    """The weights of a smaller size add up to 1 but for rounding, and halves would be rounded once more."""
    sure = Decomposition(torch.ones(1, 1, 37, 53), *torch.full((3, 1, 1, 37, 53), 0.25))
    for maps in (sure, Decomposition(*(each.bfloat16() for each in sure))):
        result = enlarge_samples(maps, torch.zeros(1, 3, 20, 31))
        assert result.probability.max() <= 1
        assert {each.dtype for each in result} == {torch.float32}


def test_sampling_does_not_care_for_training_mode(bvm: SmokeBVM) -> None:
    pipeline = Pipeline(bvm, SMALL)
    picture = torch.rand(1, 3, 64, 64)
    calm = pipeline.eval().sample(picture, 2)
    assert torch.equal(pipeline.train().sample(picture, 2).total, calm.total)
    assert pipeline.training
    assert bvm.training


def test_a_unet_cannot_be_sampled() -> None:
    with pytest.raises(ValueError, match="a unet model cannot draw samples"):
        Pipeline(UNet(TINY), SMALL).sample(torch.rand(1, 3, 64, 64), 2)


def test_exports_whole_for_any_batch_and_size(bvm: SmokeBVM) -> None:  # tests/export do so with ASPECT
    pipeline = Pipeline(bvm, SMALL, temperature=1.5).eval()
    auto = torch.export.Dim.AUTO
    example = torch.randint(256, (2, 3, 70, 90), dtype=torch.uint8)
    shapes = {"pictures": {0: auto, 2: auto, 3: auto}}
    exported = torch.export.export(pipeline, (example,), dynamic_shapes=shapes).module()
    for size in ((1, 3, 50, 200), (3, 3, 480, 320), (1, 3, 70, 71)):
        picture = torch.randint(256, size, dtype=torch.uint8)
        for ours, theirs in zip(exported(picture), pipeline(picture), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_settings_travel_as_plain_values_and_are_checked() -> None:
    assert from_plain(InputSettings, asdict(ASPECT)) == ASPECT
    assert asdict(ASPECT) == {"height": 64, "width": 96, "fit": "aspect"}
    with pytest.raises(ValueError, match="fit must be squash or aspect, not 'crop'"):
        from_plain(InputSettings, {"fit": "crop"})
    for bad in (0, 31, 480.0):
        with pytest.raises(ValueError, match="width must be a whole number of 32 or more"):
            InputSettings(width=bad)  # type: ignore[arg-type]
    for temperature, threshold in ((0.0, 0.5), (-1.0, 0.5), (math.nan, 0.5), (math.inf, 0.5), (1.0, 1.2)):
        with pytest.raises(ValueError, match=r"temperature|threshold"):
            Pipeline(UNet(TINY), SMALL, temperature, threshold)
