"""The composed model: sampling, sampling-free prediction, the paper's and the default setting."""

from collections.abc import Callable
from dataclasses import asdict

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from smokescope.chance import make_keys
from smokescope.models.bvm import SmokeBVM, evaluating
from smokescope.models.settings import DEFAULT, PAPER, ModelSettings
from smokescope.settings.plain import from_plain
from smokescope.uncertainty import decompose
from tests.models.base import ModelTester, open_paths, unreached
from tests.models.small import shrunk


class BVMTester(ModelTester):
    settings: ModelSettings

    def build(self) -> nn.Module:
        return SmokeBVM(shrunk(self.settings))

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.rand(batch, 3, height, width),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == 3 * [(batch, 1, height, width)]

    def test_forward_and_backward_reach_every_parameter(self, model: nn.Module) -> None:
        """Training draws z and dropout; the log-variance is reached by the noise alone."""
        assert isinstance(model, SmokeBVM)
        open_paths(model)
        pictures = torch.rand(2, 3, 64, 64)
        encoding = model.encode(pictures)
        logits = model.draw(encoding, torch.arange(2))
        total, aleatoric = model.estimate_uncertainty(pictures, logits)
        (logits.square().sum() + total.sum() + aleatoric.sum()).backward()
        assert not unreached(model)

    def test_keys_alone_decide_what_mc_draws(self, model: nn.Module) -> None:
        assert isinstance(model, SmokeBVM)
        model.eval()
        x = torch.rand(1, 3, 48, 48)
        first, again = model.sample(x, 3), model.sample(x, 3)
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert not torch.equal(model.sample(x, 3, torch.tensor([9])).probability, first.probability)

    def test_draws_compile_in_one_graph(self, model: nn.Module) -> None:
        assert isinstance(model, SmokeBVM)
        model.eval()
        pictures, keys = torch.rand(2, 3, 64, 96), torch.arange(2)

        def draw(pictures: Tensor, keys: Tensor) -> Tensor:
            return model.draw(model.encode(pictures), keys)

        compiled = torch.compile(draw, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(pictures, keys), draw(pictures, keys), atol=1e-5, rtol=1e-4)


class TestPaper(BVMTester):
    settings = PAPER


class TestDefault(BVMTester):
    settings = DEFAULT


@pytest.fixture
def model() -> SmokeBVM:
    torch.manual_seed(0)
    model = SmokeBVM(shrunk(PAPER))
    for _ in range(3):  # statistics of batch norm differ from those of any one batch
        model.encode(torch.rand(4, 3, 64, 64))
    return model


def count_calls(module: nn.Module) -> Callable[[], int]:
    calls: list[None] = []
    module.register_forward_hook(lambda *_: calls.append(None))
    return lambda: len(calls)


def test_sampling_runs_the_encoder_once_and_the_decoder_in_blocks(model: SmokeBVM) -> None:
    parts = (model.get_submodule(name) for name in ("encoder", "inference", "decoder"))
    encoder, inference, decoder = map(count_calls, parts)
    result = model.sample(torch.rand(2, 3, 40, 56), 20, block=8)
    assert (encoder(), inference(), decoder()) == (1, 1, 3)
    assert all(map_.shape == (2, 1, 40, 56) for map_ in result)


def test_what_a_sample_repeats_is_small() -> None:
    """B samples cost one encoder and B stochastic decoders; the paper's z injection is not repeated."""
    model = SmokeBVM(PAPER).eval()
    x = torch.rand(1, 3, 96, 96)

    def cost(count: int) -> int:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model.sample(x, count)
        return counter.get_total_flops()

    one, two = cost(1), cost(2)
    assert two - one < 0.15 * one


def test_sampling_keeps_no_graph(model: SmokeBVM) -> None:
    """Else fifty samples of a training step would hold fifty decoders' activations."""
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        result = model.sample(torch.rand(1, 3, 32, 32), 3)
    assert not kept
    assert not any(map_.requires_grad for map_ in result)


def test_batched_samples_are_those_of_one_at_a_time(model: SmokeBVM) -> None:
    """Sample b of picture n stands at [b, n]: decoded alone, it is the same."""
    model.eval()
    encoding = model.encode(torch.rand(2, 3, 40, 40))
    z = torch.randn(3, 2, 8)
    keys = torch.arange(6)
    together = model.decode(encoding, z.flatten(0, 1), keys).reshape(3, 2, 1, 40, 40)
    for b in range(3):
        alone = model.decode(encoding, z[b], keys[2 * b : 2 * b + 2])
        torch.testing.assert_close(together[b], alone, atol=1e-5, rtol=1e-4)


def test_sampling_is_the_decomposition_of_its_blocks(model: SmokeBVM) -> None:
    model.eval()
    x = torch.rand(2, 3, 32, 32)
    keys = torch.tensor([3, 7])
    whole = decompose(torch.cat(list(model.sample_blocks(model.encode(x), keys, 10, block=4))))
    for ours, expected in zip(model.sample(x, 10, keys, block=4), whole, strict=True):
        torch.testing.assert_close(ours, expected)


def test_samples_depend_neither_on_the_block_nor_on_the_batch(model: SmokeBVM) -> None:
    model.eval()
    x, keys = torch.rand(3, 3, 32, 32), make_keys(1, torch.arange(3))
    with torch.no_grad():
        encoding, middle = model.encode(x), model.encode(x[1:2])
        samples = torch.cat(list(model.sample_blocks(encoding, keys, 5, block=5)))
        others = torch.cat(list(model.sample_blocks(encoding, keys, 5, block=2)))
        alone = torch.cat(list(model.sample_blocks(middle, keys[1:2], 5, block=3)))
    assert samples.std(0).min() > 0
    torch.testing.assert_close(others, samples, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(alone, samples[:, 1:2], atol=1e-5, rtol=1e-4)


def test_mc_mode_is_eval_mode_with_dropout_and_z(model: SmokeBVM) -> None:
    """In training mode too: running statistics, never the batch's, and the mode is given back."""
    x = torch.rand(2, 3, 40, 40)
    model.train()
    frozen = model.inference.eval()  # a part that somebody froze stays frozen
    before = {name: value.clone() for name, value in model.named_buffers()}
    in_training = model.sample(x, 4)
    assert all(torch.equal(before[name], value) for name, value in model.named_buffers())
    assert model.training
    assert not frozen.training
    for a, b in zip(in_training, model.eval().sample(x, 4), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("source", ["z", "dropout"])
def test_either_source_of_doubt_alone_moves_the_samples(model: SmokeBVM, source: str) -> None:
    model.eval()
    encoding = model.encode(torch.rand(1, 3, 40, 40))
    if source == "z":
        model.decoder.dropout = 0.0
    else:
        encoding.posterior.log_variance.fill_(-200)
    with torch.no_grad():
        samples = torch.cat(list(model.sample_blocks(encoding, torch.arange(1), 6)))
    assert samples.std(0).mean() > 1e-4


def test_sampling_free_prediction_uses_the_mean_and_no_dropout(model: SmokeBVM) -> None:
    model.eval()
    x = torch.rand(1, 3, 40, 40)
    encoding = model.encode(x)
    logits = model.decode(encoding, encoding.posterior.mean, keys=None)
    prediction = model(x)
    assert torch.equal(prediction.logits, logits)
    small = model.decoder(encoding.shared, encoding.posterior.mean, None)
    torch.testing.assert_close(
        logits, functional.interpolate(small, (40, 40), mode="bilinear", align_corners=False)
    )
    torch.testing.assert_close(prediction.probability, torch.sigmoid(logits))
    torch.testing.assert_close(prediction.epistemic, prediction.total - prediction.aleatoric)
    assert prediction.epistemic.min() >= 0


def test_normalises_inside(model: SmokeBVM) -> None:
    """For each of the three that see the picture."""
    seen: list[Tensor] = []
    for part in ("encoder", "inference", "uncertainty"):
        model.get_submodule(part).register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    x = torch.rand(1, 3, 33, 34)
    model.eval()(x)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    assert len(seen) == 3
    for each in seen:
        torch.testing.assert_close(each, (x - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1))


def test_paper_to_the_letter_and_default_within_its_limit() -> None:
    with torch.device("meta"):
        paper, default = SmokeBVM(PAPER), SmokeBVM(DEFAULT)
    assert (PAPER.latent, PAPER.dropout, PAPER.decoder_width, PAPER.injection) == (8, 0.3, 32, "full")
    assert paper.decoder.reduce_latent.inject.weight.shape == (2048, 2048 + 8, 3, 3)
    assert default.decoder.reduce_latent.inject.weight.shape == (32, 2048 + 8, 1, 1)
    assert sum(p.numel() for p in default.parameters()) <= 31_000_000


def test_every_setting_reaches_its_part() -> None:
    given = {
        "dropout": 0.1,
        "dropout_unit": "channel",
        "uncertainty_base": "entropy",
        "decoder_width": 6,
        "latent": 5,
        "aspp_growth": 3,
        "aspp_bottleneck": 7,
    }
    with torch.device("meta"):
        model = SmokeBVM(from_plain(ModelSettings, {**asdict(shrunk(PAPER)), **given}))
    decoder = model.decoder
    assert (decoder.dropout, decoder.dropout_unit, model.uncertainty.base) == (0.1, "channel", "entropy")
    assert model.inference.mean.out_features == 5
    assert decoder.reduce_latent.inject.in_channels == model.encoder.channels[-1] + 5
    assert decoder.context.outputs == 4 * 6 + 5 * 3
    assert decoder.context.get_submodule("layers.0.0").weight.shape == (7, 24, 1, 1)


def test_another_encoder_plugs_in() -> None:
    class Pyramid(nn.Module):
        channels = (4, 5, 6, 7)
        strides = (2, 4, 8, 16)

        def __init__(self) -> None:
            super().__init__()
            steps = zip((3, *self.channels), self.channels, strict=False)
            self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in steps)

        def forward(self, x: Tensor) -> list[Tensor]:
            features = []
            for stage in self.stages:
                x = stage(x)
                features.append(x)
            return features

    model = SmokeBVM(shrunk(DEFAULT), Pyramid()).eval()
    assert model.sample(torch.rand(1, 3, 50, 70), 2).total.shape == (1, 1, 50, 70)
    assert any(name.startswith("encoder.stages") for name in model.state_dict())


def test_settings_travel_as_plain_values() -> None:
    settings = shrunk(DEFAULT)
    assert from_plain(ModelSettings, asdict(settings)) == settings
    with pytest.raises(ValueError, match="dropuot"):
        from_plain(ModelSettings, {"dropuot": 0.5})


@pytest.mark.parametrize(
    ("name", "value"), [("injection", "ful"), ("encoder_stride", "v2"), ("dropout_unit", "chanel")]
)
def test_a_misspelt_choice_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .* not '{value}'"):
        from_plain(ModelSettings, {name: value})


@pytest.mark.parametrize(("count", "block"), [(0, 8), (4, 0)])
def test_no_samples_is_an_error(model: SmokeBVM, count: int, block: int) -> None:
    with pytest.raises(ValueError, match="count and block must be 1 or more"):
        model.sample(torch.rand(1, 3, 32, 32), count, block=block)


def test_evaluating_gives_modes_back_also_after_an_error(model: SmokeBVM) -> None:
    model.train()

    def fail() -> None:
        with evaluating(model):
            assert not model.decoder.training
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert all(m.training for m in model.modules())
