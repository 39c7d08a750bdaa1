"""Encoder weights: loading them into a network, and converting foreign ones."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.models.resnet import ResNet
from smokescope.settings.choices import Stride


def load_encoder(encoder: ResNet, path: Path) -> None:
    """Load a safetensors file with torchvision's names into an encoder, every weight of it.

    A classifier (`fc.*`) and batch norm's counters in the file are passed over; other precisions are cast.

    Args:
        encoder: The network; it is unchanged if the file is refused.
        path: The file. Where its metadata has a "stride", the encoder's must be the same.

    Raises:
        SmokescopeError: The file cannot be read or does not fit the encoder.
    """
    tensors, metadata = read_tensors(path)
    stride = metadata.get("stride", encoder.stride)
    if stride != encoder.stride:
        raise SmokescopeError(
            f"{path} holds weights for {stride} strides and the encoder has {encoder.stride}: "
            f'build it with stride="{stride}"'
        )
    encoder.load_state_dict(_fitting(tensors, encoder, path), strict=False)  # the counters may be missing


def convert_encoder(source: Path, target: Path, stride: Stride) -> None:
    """Convert a `.pth` file of torchvision's ResNet-50 to safetensors.

    It is read with `weights_only`, which builds tensors and refuses to call anything else.

    Args:
        source: A state dict: parameter names to tensors, and nothing around them.
        target: The safetensors file to write.
        stride: Where the network that the weights were trained in strides; torchvision's is "v1.5".

    Raises:
        SmokescopeError: The source is not that, or the target cannot be written.
    """
    state = _read_state_dict(source)
    with torch.device("meta"):  # names and shapes without the work of filling them
        network = ResNet(stride=stride)
    metadata = {"arch": "resnet50", "stride": stride, "input": "imagenet-rgb"}
    write_tensors(target, _fitting(state, network, source), metadata)


def _read_state_dict(path: Path) -> dict[str, Tensor]:
    with open_input(path) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old formats; they load or they do not
        try:
            state: object = torch.load(stream, map_location="cpu", weights_only=True)
        except Exception as error:  # hostile bytes fail in many ways
            raise SmokescopeError(
                f"{path} is not a PyTorch file of weights alone: it is damaged, something else, "
                "or holds code, none of which was run"
            ) from error
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise SmokescopeError(
            f"{path} holds a {type(state).__name__}, not parameter names with their tensors"
        )
    for name, value in state.items():
        if not isinstance(value, Tensor):
            raise SmokescopeError(
                f"{path} holds a {type(value).__name__} under {name!r} where a tensor is needed: "
                "save the network's bare state_dict()"
            )
    return cast(dict[str, Tensor], state)


def _fitting(tensors: Mapping[str, Tensor], network: ResNet, path: Path) -> dict[str, Tensor]:
    """The tensors that the network needs, in its precision, after refusing whatever does not fit it."""
    needed = {name: own for name, own in network.state_dict().items() if not _is_counter(name)}
    extra = [n for n in tensors if n not in needed and not n.startswith("fc.") and not _is_counter(n)]
    if missing := [name for name in needed if name not in tensors]:
        raise SmokescopeError(f"{path} does not fit the encoder: it lacks {_some(missing)}")
    if extra:
        raise SmokescopeError(f"{path} does not fit the encoder, which has no {_some(extra)}")
    return {name: _checked(name, tensors[name], own, path) for name, own in needed.items()}


def _checked(name: str, tensor: Tensor, own: Tensor, path: Path) -> Tensor:
    if tensor.shape != own.shape:
        raise SmokescopeError(
            f"{path} does not fit the encoder: {name} is {_size(tensor)} and should be {_size(own)}"
        )
    # A pickle can also hold sparse, quantised and empty ("meta") tensors.
    dense = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
    if not (dense and tensor.is_floating_point()):
        raise SmokescopeError(f"{path} holds {name} as something other than plain floating-point values")
    cast_to_own = tensor.detach().to(own.dtype)
    if not cast_to_own.isfinite().all():
        raise SmokescopeError(f"{path} is unusable: {name} holds infinite or undefined (NaN) values")
    return cast_to_own


def _is_counter(name: str) -> bool:
    return name.endswith(".num_batches_tracked")  # of batches seen; unused with a fixed momentum


def _size(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape)) or "a single number"


def _some(names: list[str]) -> str:
    """The first few names, and how many more."""
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
