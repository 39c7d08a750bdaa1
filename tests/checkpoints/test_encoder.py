"""Encoder weights: every one is loaded, and nothing that does not belong."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from smokescope.checkpoints.encoder import convert_encoder, load_encoder
from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.errors import SmokescopeError
from smokescope.models.resnet import ResNet
from smokescope.settings.choices import Stride

State = dict[str, Tensor]


def small(seed: int) -> ResNet:
    torch.manual_seed(seed)
    encoder = ResNet(stride="v1", layers=(1, 1, 1, 1), width=8)
    with torch.no_grad():
        for tensor in encoder.state_dict().values():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor))
    return encoder


def weights(encoder: ResNet) -> State:
    return {n: t.clone() for n, t in encoder.state_dict().items() if not n.endswith("num_batches_tracked")}


@pytest.fixture(scope="module")
def resnet50() -> State:
    torch.manual_seed(0)
    state = ResNet(stride="v1.5").state_dict()
    return {**state, "fc.weight": torch.zeros(1000, 2048), "fc.bias": torch.zeros(1000)}


def test_loading_changes_every_weight_and_the_output(tmp_path: Path) -> None:
    source, target = small(1), small(2)
    write_tensors(tmp_path / "w", weights(source), {"stride": "v1"})
    load_encoder(target, tmp_path / "w")
    for name, tensor in weights(source).items():
        torch.testing.assert_close(target.state_dict()[name], tensor, rtol=0, atol=0)
    picture = torch.rand(1, 3, 64, 64)
    torch.testing.assert_close(target.eval()(picture), source.eval()(picture))


def test_classifier_counters_precision_and_silent_metadata_are_no_obstacle(tmp_path: Path) -> None:
    source, target = small(1), small(2)
    state = {name: tensor.half() for name, tensor in weights(source).items()}
    state |= {"fc.weight": torch.zeros(10, 256), "bn1.num_batches_tracked": torch.tensor(5)}
    write_tensors(tmp_path / "w", state, {})
    load_encoder(target, tmp_path / "w")
    assert target.conv1.weight.dtype == torch.float32
    torch.testing.assert_close(target.conv1.weight, source.conv1.weight, rtol=1e-3, atol=1e-3)


def lacking_some(state: State) -> None:
    for name in [n for n in state if n.startswith("layer3")]:
        del state[name]


def with_extra(state: State) -> None:
    state["layer9.weight"] = torch.zeros(1)


def misshapen(state: State) -> None:
    state["conv1.weight"] = torch.zeros(8, 3, 3, 3)


def with_nan(state: State) -> None:
    state["bn1.weight"][0] = float("nan")


def too_large_for_float32(state: State) -> None:
    state["bn1.weight"] = state["bn1.weight"].double() * 1e300


def of_integers(state: State) -> None:
    state["bn1.weight"] = state["bn1.weight"].to(torch.int8)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lacking_some, r"lacks layer3.0.conv1.weight, layer3.0.bn1.weight, layer3.0.bn1.bias, .* and 8 more"),
        (with_extra, r"has no layer9.weight"),
        (misshapen, r"conv1.weight is 8 x 3 x 3 x 3 and should be 8 x 3 x 7 x 7"),
        (with_nan, r"bn1.weight holds infinite or undefined"),
        (too_large_for_float32, r"bn1.weight holds infinite or undefined"),
        (of_integers, r"bn1.weight as something other than plain floating-point"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    tmp_path: Path, spoil: Callable[[State], None], sentence: str
) -> None:
    target, state = small(2), weights(small(1))
    before = weights(target)
    spoil(state)
    write_tensors(tmp_path / "w", state, {})
    with pytest.raises(SmokescopeError, match=sentence) as caught:
        load_encoder(target, tmp_path / "w")
    assert str(tmp_path / "w") in str(caught.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(target).items())


def test_strides_must_agree(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w", weights(small(1)), {"stride": "v1.5"})
    with pytest.raises(
        SmokescopeError, match=r'v1.5 strides and the encoder has v1: build it with stride="v1.5"'
    ):
        load_encoder(small(2), tmp_path / "w")


@pytest.mark.parametrize(("zipped", "stride"), [(True, "v1.5"), (False, "v1")], ids=["zip", "legacy"])
def test_converts_torchvisions_file(tmp_path: Path, resnet50: State, zipped: bool, stride: Stride) -> None:
    torch.save(resnet50, tmp_path / "r.pth", _use_new_zipfile_serialization=zipped)
    convert_encoder(tmp_path / "r.pth", tmp_path / "r.safetensors", stride)
    tensors, metadata = read_tensors(tmp_path / "r.safetensors")
    assert metadata == {"arch": "resnet50", "stride": stride, "input": "imagenet-rgb"}
    assert len(tensors) == 265  # 53 convolutions, and four values for each of their batch norms
    assert all(torch.equal(tensor, resnet50[name]) for name, tensor in tensors.items())
    load_encoder(ResNet(stride=stride), tmp_path / "r.safetensors")


class Bomb:
    """A pickle of it, opened carelessly, creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return exec, (f"open({str(self.path)!r}, 'w').close()",)


@pytest.mark.parametrize("how", ["pickle", "torch zip", "torch legacy"])
def test_code_in_a_pickle_is_not_run(tmp_path: Path, how: str) -> None:
    trace, path = tmp_path / "trace", tmp_path / "bomb.pth"
    if how == "pickle":
        path.write_bytes(pickle.dumps(Bomb(trace)))
    else:
        torch.save({"conv1.weight": Bomb(trace)}, path, _use_new_zipfile_serialization=how == "torch zip")
    with pytest.raises(SmokescopeError, match="none of which was run"):
        convert_encoder(path, tmp_path / "out.safetensors", "v1.5")
    assert sorted(tmp_path.iterdir()) == [path]
    torch.load(path, weights_only=False) if how != "pickle" else pickle.loads(path.read_bytes())
    assert trace.exists()  # the bomb was live


def refused(tmp_path: Path, content: object, sentence: str) -> None:
    torch.save(content, tmp_path / "r.pth")
    with pytest.raises(SmokescopeError, match=sentence):
        convert_encoder(tmp_path / "r.pth", tmp_path / "out.safetensors", "v1.5")
    assert not (tmp_path / "out.safetensors").exists()


def test_anything_else_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, {"state_dict": {"conv1.weight": torch.zeros(1)}}, "holds a dict under 'state_dict'")
    refused(tmp_path, [torch.zeros(1)], "holds a list, not parameter names")
    refused(tmp_path, {1: torch.zeros(1)}, "not parameter names")
    refused(tmp_path, {}, "lacks conv1.weight, bn1.weight, bn1.bias, .* and 253 more")


def test_other_networks_are_refused(tmp_path: Path, resnet50: State) -> None:
    deeper = {**resnet50, "layer3.6.conv1.weight": torch.zeros(1)}
    refused(tmp_path, deeper, "has no layer3.6.conv1.weight")
    wider = {**resnet50, "layer1.0.conv2.weight": torch.zeros(128, 128, 3, 3)}
    refused(tmp_path, wider, "layer1.0.conv2.weight is 128 x 128 x 3 x 3 and should be 64 x 64 x 3 x 3")


def test_tensors_without_plain_values_are_refused(tmp_path: Path, resnet50: State) -> None:
    sparse = {**resnet50, "bn1.weight": torch.zeros(64).to_sparse()}
    refused(tmp_path, sparse, "bn1.weight as something other than plain")
    empty = {**resnet50, "bn1.weight": torch.zeros(64, device="meta")}
    refused(tmp_path, empty, "bn1.weight as something other than plain")


@pytest.mark.parametrize("content", [b"\x80", b"\x80\x02", b"PK\x03\x04", b"hello", b"\x80\x02}q\x00."])
def test_bytes_that_are_no_weights(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.pth").write_bytes(content)
    with pytest.raises(SmokescopeError, match=r"r\.pth"):
        convert_encoder(tmp_path / "r.pth", tmp_path / "out", "v1.5")
    with pytest.raises(SmokescopeError, match="does not exist"):
        convert_encoder(tmp_path / "missing.pth", tmp_path / "out", "v1.5")
    assert not (tmp_path / "out").exists()
