"""One device, many devices, many nodes: what differs between them, and nothing but."""

import logging
import os
import warnings

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn

from smokescope.training.settings import Precision


def launch(device: torch.device, precision: Precision) -> Fabric:
    """Start on one device; or, under `torchrun`, on as many as it started processes for.

    Args:
        device: The kind of device, and which where there is one process.
        precision: Of a GPU's passes; a CPU computes in 32 bits, at which it is quickest.
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
    return fabric


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
