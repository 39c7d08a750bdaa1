"""One device, many devices, many nodes: what differs between them, and nothing but."""

import logging
import os
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch
from lightning.fabric import Fabric
from torch import Tensor, distributed, nn

from smokescope.errors import SmokescopeError
from smokescope.training.settings import Precision

Result = TypeVar("Result")


def launch(device: torch.device, precision: Precision) -> Fabric:
    """Start on one device; or, under `torchrun`, on as many as it started processes for.

    Args:
        device: The kind of device, and which where there is one process.
        precision: Number format of a GPU's passes; a CPU computes in 32 bits, at which it is quickest.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.set_float32_matmul_precision("high")
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)  # it tells what settings say already
    with warnings.catch_warnings():  # and advises on `srun`
        warnings.simplefilter("ignore")
        fabric = Fabric(
            accelerator=device.type,
            devices=local if world > 1 else [device.index or 0] if on_gpu else 1,
            num_nodes=world // local,
            strategy="ddp" if world > 1 else "auto",
            precision=precision if on_gpu else "32-true",
        )
        fabric.launch()
    if world > 1:  # of kernels of 1 x 1, whose two layouts are one: it costs a copy, and nobody can mend it
        warnings.filterwarnings("ignore", "Grad strides do not match bucket view strides", UserWarning)
    return fabric


def in_turn(fabric: Fabric, work: Callable[[], Result]) -> Result:
    """Let one process of each machine do something, and the others after it, who find it done.

    Raises:
        SmokescopeError: The first of a machine raised one; the others then do not even begin.
    """
    if fabric.world_size == 1:
        return work()
    # a group of its own: the usual one's patience is minutes
    group = distributed.new_group(backend="gloo", timeout=timedelta(days=7))
    result, error = None, None
    if fabric.local_rank == 0:
        try:
            result = work()
        except SmokescopeError as caught:
            error = caught
    failed = torch.tensor(float(error is not None))
    distributed.all_reduce(failed, group=group)
    if error is not None:
        raise error
    if failed:
        raise SmokescopeError("another process failed: see its message")
    return work() if result is None else result


def share_batch_norm(model: nn.Module, fabric: Fabric) -> None:
    """Let batch norm see the whole batch where several GPUs share it, in place."""
    if fabric.world_size > 1 and fabric.device.type == "cuda":
        nn.SyncBatchNorm.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]


def mean_over_processes(fabric: Fabric, value: Tensor) -> Tensor:
    """The mean of a tensor over all processes."""
    if fabric.world_size == 1:
        return value
    reduced = fabric.all_reduce(value, reduce_op="mean")
    assert isinstance(reduced, Tensor)  # noqa: S101 (Fabric also takes collections)
    return reduced
