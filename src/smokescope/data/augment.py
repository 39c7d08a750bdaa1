"""Augmentation of whole batches on the device: geometry for picture and mask alike, colours for the picture.

Smoke is rendered between the two, into pictures that have their size and still have their colours.

>>> batch, keys = collate([cache[i] for i in range(32)]), make_keys(epoch, torch.arange(32))
>>> plain, masks = crop_batch(batch, (480, 480), keys, settings.geometry)
>>> pictures = recolour(plain, settings.colour, keys)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from smokescope.data.augment_colour import ColourSettings
from smokescope.data.augment_geometry import Draws, GeometrySettings, crop, draw
from smokescope.precision import at_least_float32


@dataclass(frozen=True)
class AugmentSettings:
    """Settings of the augmentation, of shapes and of colours."""

    geometry: GeometrySettings = field(default_factory=GeometrySettings)
    colour: ColourSettings = field(default_factory=ColourSettings)


class Batch(NamedTuple):
    """Pictures of any sizes, each in the top left corner of its place."""

    pictures: Tensor
    """RGB [N, 3, H, W]: 8-bit values, or floats in [0, 1]."""
    masks: Tensor
    """[N, 1, H, W], likewise; of scribbles [N, 2, H, W], strokes of smoke and of background."""
    sizes: Tensor
    """Height and width of each, integers [N, 2]."""

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in self))


def collate(items: Sequence[tuple[Tensor, Tensor]]) -> Batch:
    """Bring pictures, H x W x 3, and masks, C x H x W, of a cache together, black where they do not reach."""
    sizes = torch.tensor([mask.shape[-2:] for _, mask in items])
    height, width = sizes.amax(0).tolist()
    pictures = torch.zeros(len(items), 3, height, width, dtype=torch.uint8)
    masks = torch.zeros(len(items), len(items[0][1]), height, width, dtype=torch.uint8)
    for number, (picture, mask) in enumerate(items):
        rows, columns = mask.shape[-2:]
        pictures[number, :, :rows, :columns] = picture.permute(2, 0, 1)
        masks[number, :, :rows, :columns] = mask
    return Batch(pictures, masks, sizes)


def crop_batch(
    batch: Batch, size: tuple[int, int], keys: Tensor, settings: GeometrySettings
) -> tuple[Tensor, Tensor]:
    """Flip, scale and crop each picture of a batch in its own way, on the device it is on.

    All chance comes from the keys: a picture's result depends on its own key, not on the pictures beside it,
    and is the same on every device but for rounding. No gradient flows.

    Args:
        batch: pictures and masks.
        size: height and width of the output.
        keys: random keys of the pictures, int64 [N], on the CPU.
        settings: what may happen.

    Returns:
        Pictures [N, 3, h, w] and masks [N, C, h, w], soft at their edges, floats in [0, 1].
    """
    device = batch.pictures.device
    # mixed precision is for networks: with 8 bits of a half, resampling would go wrong
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        # nothing here waits for a GPU, which may still be busy with the step before
        draws = Draws(*(t.to(device, non_blocking=True) for t in draw(keys, settings)))
        pictures, masks = _as_floats(batch.pictures), _as_floats(batch.masks)
        return crop(pictures, masks, batch.sizes.to(device, non_blocking=True), size, draws, settings)


def _as_floats(values: Tensor) -> Tensor:
    return values / 255 if values.dtype == torch.uint8 else at_least_float32(values)
