"""Every network through the base tester, and what is particular to each."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from smokescope.chance import make_keys
from smokescope.models.attention import RCAB, ChannelAttention
from smokescope.models.decoder import BayesianDecoder, Injection, LatentReduction, Reduction
from smokescope.models.dense_aspp import DenseASPP
from smokescope.models.inference_net import LOG_VARIANCE_BOUND, InferenceNet, Posterior
from smokescope.models.resnet import Encoder, ResNet
from smokescope.models.uncertainty_net import UncertaintyNet
from smokescope.settings.choices import Stride
from smokescope.uncertainty import LN2, binary_entropy
from tests.models.base import ModelTester, open_paths, unreached


def half(n: int, times: int = 1) -> int:
    return -(-n // 2**times)


class TestResNet(ModelTester):
    def build(self) -> nn.Module:
        return ResNet("v1", (1, 2, 1, 1), width=4)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.rand(batch, 3, height, width),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        expected = [(batch, 4 * 2**i * 4, half(height, i + 2), half(width, i + 2)) for i in range(4)]
        assert [tuple(x.shape) for x in outputs] == expected

    def test_is_an_encoder(self, model: nn.Module) -> None:
        assert isinstance(model, Encoder)

    def test_resnet_50_has_torchvisions_names_and_size(self) -> None:
        with torch.device("meta"):
            encoder = ResNet()
        names = dict(encoder.named_parameters())
        assert sum(p.numel() for p in names.values()) == 25_557_032 - 2_049_000  # torchvision's, less its fc
        assert encoder.channels == (256, 512, 1024, 2048)
        assert names["layer2.0.downsample.0.weight"].shape == (512, 256, 1, 1)
        assert names["layer4.2.bn3.bias"].shape == (2048,)

    @pytest.mark.parametrize(("stride", "steps"), [("v1", (2, 1)), ("v1.5", (1, 2))])
    def test_strides_where_its_version_does(self, stride: str, steps: tuple[int, int]) -> None:
        block = ResNet("v1" if stride == "v1" else "v1.5", (1, 1, 1, 1), width=4).layer3[0]
        assert isinstance(block.conv1, nn.Conv2d)
        assert isinstance(block.conv2, nn.Conv2d)
        assert (block.conv1.stride[0], block.conv2.stride[0]) == steps

    def test_v1_and_v15_differ_with_the_same_weights(self) -> None:
        v1, v15 = ResNet("v1", (1, 1, 1, 1), width=4).eval(), ResNet("v1.5", (1, 1, 1, 1), width=4).eval()
        v15.load_state_dict(v1.state_dict())
        x = torch.rand(1, 3, 64, 64)
        first, second = v1(x), v15(x)
        torch.testing.assert_close(first[0], second[0])
        assert not torch.allclose(first[1], second[1])


@pytest.mark.parametrize(("stride", "steps"), [("v1", (2, 1)), ("v1.5", (1, 2))])
def test_resnet_is_the_published_network_written_out(stride: Stride, steps: tuple[int, int]) -> None:
    torch.manual_seed(0)
    model = ResNet(stride, (1, 1, 1, 1), width=4)
    model(torch.rand(4, 3, 64, 64))  # moves the batch norms' statistics away from their start
    weights = model.eval().state_dict()

    def layer(x: Tensor, convolution: str, norm: str, step: int) -> Tensor:
        kernel = weights[f"{convolution}.weight"]
        y = functional.conv2d(x, kernel, stride=step, padding=kernel.shape[-1] // 2)
        mean, variance, scale, shift = (
            weights[f"{norm}.{name}"].view(-1, 1, 1)
            for name in ("running_mean", "running_var", "weight", "bias")
        )
        return (y - mean) / (variance + 1e-5).sqrt() * scale + shift

    x = torch.rand(2, 3, 70, 96)
    found = model(x)
    x = functional.max_pool2d(torch.relu(layer(x, "conv1", "bn1", 2)), 3, stride=2, padding=1)
    for number, feature in enumerate(found, start=1):
        name, (first, second) = f"layer{number}.0", (1, 1) if number == 1 else steps
        y = torch.relu(layer(x, f"{name}.conv1", f"{name}.bn1", first))
        y = torch.relu(layer(y, f"{name}.conv2", f"{name}.bn2", second))
        shortcut = layer(x, f"{name}.downsample.0", f"{name}.downsample.1", first * second)
        x = torch.relu(layer(y, f"{name}.conv3", f"{name}.bn3", 1) + shortcut)
        torch.testing.assert_close(feature, x, atol=1e-4, rtol=1e-4)


class TestInferenceNet(ModelTester):
    def build(self) -> nn.Module:
        return InferenceNet(latent=8, width=4)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.rand(batch, 3, height, width),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == [(batch, 8), (batch, 8)]

    def test_has_five_4x4_convolutions_of_stride_2(self, model: nn.Module) -> None:
        convolutions = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
        assert [(c.kernel_size, c.stride) for c in convolutions] == 5 * [((4, 4), (2, 2))]
        assert sum(isinstance(m, nn.BatchNorm2d) for m in model.modules()) == 5

    def test_log_variance_stays_bounded(self, model: nn.Module) -> None:
        posterior = model.eval()(1e6 * torch.randn(2, 3, 64, 64))
        assert posterior.log_variance.abs().max() <= LOG_VARIANCE_BOUND

    def test_reparameterises(self) -> None:
        mean, log_variance = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.0, math.log(9.0)]])
        posterior = Posterior(mean, log_variance)
        z = posterior.sample(torch.randn(200_000, 1, 2, generator=torch.Generator().manual_seed(0)))
        torch.testing.assert_close(z.mean(0), mean, atol=0.03, rtol=0)
        torch.testing.assert_close(z.std(0), torch.tensor([[1.0, 3.0]]), atol=0.03, rtol=0)
        assert torch.equal(posterior.sample(torch.zeros(1, 2)), mean)


class TestUncertaintyNet(ModelTester):
    def build(self) -> nn.Module:
        return UncertaintyNet(width=4)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return torch.randn(batch, 3, height, width), torch.rand(batch, 1, height, width)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == 2 * [(batch, 1, height, width)]

    @pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_is_bounded_and_epistemic_never_negative(
        self, model: nn.Module, scale: float, dtype: torch.dtype
    ) -> None:
        x, p = self.inputs(2, 40, 40)
        assert isinstance(x, Tensor)
        assert isinstance(p, Tensor)
        total, aleatoric = model.to(dtype)((scale * x).to(dtype), p.to(dtype))
        assert total.dtype == torch.float32
        assert 0 <= total.min() <= total.max() <= LN2
        assert aleatoric.min() >= 0
        assert (total - aleatoric).min() >= 0

    def test_observes_without_bending(self, model: nn.Module) -> None:
        probability = torch.rand(1, 1, 32, 32, requires_grad=True)
        total, aleatoric = model(torch.rand(1, 3, 32, 32), probability)
        (total + aleatoric).sum().backward()
        assert probability.grad is None

    def test_has_five_and_two_times_three_convolutions_within_a_gmac(self) -> None:
        model = UncertaintyNet().eval()
        convolutions = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
        assert len(convolutions) == 5 + 2 * 3
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(torch.rand(1, 3, 480, 480), torch.rand(1, 1, 480, 480))
        assert counter.get_total_flops() / 2 <= 1e9

    def test_each_head_has_a_plain_last_layer(self, model: nn.Module) -> None:
        assert isinstance(model, UncertaintyNet)
        for decoder in (model.total, model.aleatoric):
            assert isinstance(list(decoder.children())[-1], nn.Conv2d)


class TestUncertaintyNetFromEntropy(TestUncertaintyNet):
    def build(self) -> nn.Module:
        return UncertaintyNet(width=4, base="entropy")

    def test_untrained_it_gives_the_entropy_of_the_prediction(self, model: nn.Module) -> None:
        logits = torch.linspace(-7, 7, 32 * 32).view(1, 1, 32, 32)
        total, aleatoric = model.eval()(torch.randn(1, 3, 32, 32), torch.sigmoid(logits))
        torch.testing.assert_close(total, binary_entropy(logits), atol=1e-4, rtol=1e-3)
        assert (aleatoric > 0.5 * total).all()


class TestRCAB(ModelTester):
    def build(self) -> nn.Module:
        return RCAB(32)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.randn(batch, 32, half(height, 2), half(width, 2)),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == [(batch, 32, half(height, 2), half(width, 2))]

    def test_is_the_published_formula(self, model: nn.Module) -> None:
        """x + s * F(x), with s = sigmoid(W_U relu(W_D mean(F(x)))) for each channel."""
        assert isinstance(model, RCAB)
        x = torch.randn(1, 32, 9, 7)
        first, _, second, attention = model.body
        assert isinstance(attention, ChannelAttention)
        f = second(torch.relu(first(x)))
        down, up = attention.gate[1], attention.gate[3]
        assert isinstance(down, nn.Conv2d)
        assert down.bias is not None
        nn.init.ones_(down.bias)  # or its two units may both be silent, whatever is averaged
        gate = torch.sigmoid(up(torch.relu(down(f.mean((2, 3), keepdim=True)))))
        torch.testing.assert_close(model(x), x + gate * f)


class TestDenseASPP(ModelTester):
    def build(self) -> nn.Module:
        return DenseASPP(8, bottleneck=6, growth=4)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        return (torch.randn(batch, 8, half(height, 2), half(width, 2)),)

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == [(batch, 8 + 5 * 4, half(height, 2), half(width, 2))]

    def test_keeps_its_input_and_sees_far(self, model: nn.Module) -> None:
        """Dense connections: the input passes through; dilations 3 + 6 + 12 + 18 + 24 reach 63 pixels."""
        model.eval()
        for parameter in model.parameters():
            parameter.data.abs_()  # nothing is negative, so that no ReLU hides a path
        x = torch.rand(1, 8, 1, 160).requires_grad_()
        out = model(x)
        assert torch.equal(out[:, :8], x)
        out[..., 80].sum().backward()
        assert x.grad is not None
        reached = x.grad.abs().sum((0, 1, 2)).nonzero().flatten()
        assert (reached.min().item(), reached.max().item()) == (80 - 63, 80 + 63)


class TestDecoder(ModelTester):
    channels = (8, 16, 24, 32)

    def build(self) -> nn.Module:
        return BayesianDecoder(self.channels, width=8, bottleneck=8, growth=4)

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        shared = [torch.randn(batch, 8, half(height, i), half(width, i)) for i in range(2, 6)]
        return shared, torch.randn(batch, 8), None

    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        assert [tuple(x.shape) for x in outputs] == [(batch, 1, half(height, 2), half(width, 2))]

    def test_forward_and_backward_reach_every_parameter(self, model: nn.Module) -> None:
        assert isinstance(model, BayesianDecoder)
        open_paths(model)
        features = [torch.randn(2, c, 16 // 2**i, 16 // 2**i) for i, c in enumerate(self.channels)]
        model(model.prepare(features), torch.randn(2, 8), torch.arange(2)).square().sum().backward()
        assert not unreached(model)


class TestStochasticDecoder(TestDecoder):
    """With dropout, too, one graph compiles and exports, and a picture does not depend on its batch."""

    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        shared, z, _ = super().inputs(batch, height, width)
        return shared, z, make_keys(0, torch.arange(batch))

    @pytest.mark.parametrize("unit", ["element", "channel"])
    def test_each_map_loses_its_own_elements_or_channels(self, unit: str) -> None:
        model = BayesianDecoder(self.channels, dropout_unit="element" if unit == "element" else "channel")
        seen: list[Tensor] = []
        for attend in model.attention:
            attend.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
        shared = [torch.ones(2, 32, 20, 20) for _ in range(4)]
        model.eval()(shared, torch.zeros(2, 8), torch.arange(2))
        zeros = torch.stack(seen) == 0
        assert zeros.float().mean() == pytest.approx(0.3, abs=0.1 if unit == "channel" else 0.01)
        whole_channels = zeros.all((-2, -1)) | (~zeros).all((-2, -1))
        assert whole_channels.all() == (unit == "channel")
        patterns = zeros.flatten(2).flatten(0, 1).float()
        assert len(patterns.unique(dim=0)) == 8  # four maps of two samples


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("injection", ["full", "light"])
def test_the_two_terms_of_the_latent_reduction_are_the_papers_concatenation(
    injection: Injection, kernel: Reduction
) -> None:
    torch.manual_seed(0)
    module = LatentReduction(12, 8, 6, injection, kernel).double()
    f4, z = torch.randn(3, 12, 5, 7).double(), torch.randn(3, 8).double()
    tiled = torch.cat((f4, z[:, :, None, None].expand(-1, -1, 5, 7)), 1)
    expected = module.inject(tiled)
    if module.reduce is not None:
        expected = module.reduce(expected)
    torch.testing.assert_close(module.features(f4) + module.latent(z, (5, 7)), expected)


def test_features_may_be_reduced_pixel_by_pixel() -> None:
    channels = (8, 12, 16, 20)
    wide, narrow = (BayesianDecoder(channels, injection="light", reduction=k) for k in (3, 1))
    features = [torch.rand(2, c, 24 // s, 32 // s) for c, s in zip(channels, (1, 2, 4, 8), strict=True)]
    weights = [sum(p.numel() for p in each.reduce.parameters() if p.dim() == 4) for each in (wide, narrow)]
    assert weights[0] == 9 * weights[1]
    shared = narrow.eval().prepare(features)
    assert narrow(shared, torch.zeros(2, 8), None).shape == (2, 1, 24, 32)


def test_features_are_fused_at_the_finest_size_by_bilinear_enlarging() -> None:
    torch.manual_seed(0)
    model = BayesianDecoder((8, 12, 16, 20), width=8).eval()
    seen: list[Tensor] = []
    for attend in model.attention:
        attend.register_forward_hook(lambda _, args, output: seen.append(output))
    model.context.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    model([torch.randn(1, 8, 24 // s, 32 // s) for s in (1, 2, 4, 8)], torch.zeros(1, 8), None)
    *maps, fused = seen
    enlarged = [functional.interpolate(m, (24, 32), mode="bilinear", align_corners=False) for m in maps]
    torch.testing.assert_close(fused, torch.cat(enlarged, 1))


def test_the_finest_feature_gives_detail_to_what_was_fused_coarsely() -> None:
    torch.manual_seed(0)
    channels = (8, 12, 16, 20)
    model = BayesianDecoder(channels, injection="light", fusion="coarse", reduction=1).eval()
    features = [torch.randn(1, c, 24 // s, 32 // s) for c, s in zip(channels, (1, 2, 4, 8), strict=True)]
    board = (-1.0) ** (torch.arange(24)[:, None] + torch.arange(32))  # a pixel of the next feature sees none
    others = [features[0] + board, *features[1:]]
    before, after = (model(model.prepare(f), torch.zeros(1, 8), None) for f in (features, others))
    assert ((after - before) * board).mean().abs() > 0.03 * before.std()
