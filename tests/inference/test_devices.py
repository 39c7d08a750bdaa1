"""Where to compute: the best there is, or what was asked for, or a sentence."""

from importlib import import_module
from pathlib import Path

import pytest
import torch

from smokescope.errors import SmokescopeError
from smokescope.inference.devices import choose_device, devices, has_gpu

MODULE = import_module("smokescope.inference.devices")  # the package has a function of that name


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("two_gpus")
def test_the_best_is_taken_unless_another_is_asked_for() -> None:
    assert devices() == ["cuda:0", "cuda:1", "cpu"]
    for name, taken in (("auto", "cuda:0"), ("cuda", "cuda"), ("cuda:1", "cuda:1"), ("cpu", "cpu")):
        assert choose_device(name) == torch.device(taken)
    with pytest.raises(SmokescopeError, match="'cuda:2' here: choose auto or one of cuda:0, cuda:1, cpu"):
        choose_device("cuda:2")


@pytest.mark.usefixtures("two_gpus")
def test_torch_is_asked_for_a_gpu_where_the_system_shows_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(MODULE, "GPU_FILES", (str(tmp_path / "none"), str(tmp_path / "gpu")))
    assert not has_gpu()
    (tmp_path / "gpu").touch()
    assert has_gpu()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert not has_gpu()


def test_without_a_gpu_the_cpu_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "devices", lambda: ["cpu"])
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(SmokescopeError, match="there is no device 'cuda' here"):
        choose_device("cuda")
