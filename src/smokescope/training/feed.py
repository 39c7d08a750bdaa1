"""Batches: collated by a thread while the device works, then augmented and rendered on the device.

All chance about a sample comes from its number in the run, so that a batch is the same whoever makes it.
"""

from collections.abc import Generator, Sequence
from itertools import count
from queue import Queue
from threading import Event, Thread
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smokescope.chance import TRANSPLANT, fold_in, make_keys, uniform
from smokescope.data.augment import Batch, collate, crop_batch
from smokescope.data.augment_colour import recolour
from smokescope.physics.rendering.lookalikes import render_lookalikes
from smokescope.physics.rendering.smoke import render_smoke
from smokescope.physics.rendering.transplant import fill, transplant
from smokescope.physics.transmission import transmission
from smokescope.training.mix import Mix
from smokescope.training.settings import Kind, TrainingSettings
from smokescope.training.sources import Pictures

_AHEAD = 2  # batches that wait to be used, besides those in the making
_COVERED = 0.5  # share of a picture under smoke above which nobody can tell what is behind
_TOGETHER = 96  # pictures that a GPU augments at once: many small kernels, which cost by their number


class Raw(NamedTuple):
    """A device's part of a batch, as it comes from memory."""

    batch: Batch
    kinds: Sequence[Kind]
    keys: Tensor
    """Random keys of the samples, int64 [N]."""
    others: Batch | None
    """What transplanted smoke is put over, as many as there are of that kind."""
    behind: Sequence[Kind] = ()
    """Their kinds."""


class Examples(NamedTuple):
    """A batch ready for a step, on the device."""

    pictures: Tensor
    """RGB in [0, 1], [N, 3, h, w]."""
    masks: Tensor
    """Masks of smoke in [0, 1], [N, 1, h, w]; with strokes, those of the background are a second channel."""
    transmission: Tensor
    """Transmission of the pictures before their colours were changed, [N, 1, h, w]."""
    keys: Tensor
    """Random keys for what the model itself draws, int64 [N]."""


class Feed:
    """The batches of a run, from any step on.

    Args:
        pictures: The mix.
        settings: Batch, size, seed, augmentation.
        device: Where batches are wanted.
        rank: This process's number.
        world: Processes that share each batch, evenly.
    """

    def __init__(
        self,
        pictures: Sequence[Pictures],
        settings: TrainingSettings,
        device: torch.device,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self._pictures, self._settings, self._device = pictures, settings, device
        self._mix = Mix([len(p.numbers) for p in pictures], [p.weight for p in pictures], settings.seed)
        share = settings.batch // world
        self._mine = slice(rank * share, (rank + 1) * share)
        self.steps = len(self._mix) // settings.batch
        """Steps of an epoch; what does not fill a batch is left for another epoch's shuffle."""
        self._others = [
            (each, place)
            for each in pictures
            if each.kind in ("transplanted", "negatives", "cleared")
            for place in range(len(each.numbers))
        ]
        """What transplanted smoke may be put over."""
        self._order: tuple[int, NDArray[np.int64]] | None = None  # of the epoch that is being collated

    def __len__(self) -> int:
        """Pictures an epoch."""
        return len(self._mix)

    def batches(self, start: int) -> Generator[Examples, None, None]:
        """Batches without end from step `start` on, some ahead of their use.

        A thread makes them, on a GPU in a stream of its own: between the large kernels of a training step
        there is room for augmentation's many small ones.
        """
        queue: Queue[_Made | BaseException] = Queue(_AHEAD)
        over = Event()
        on_gpu, share = self._device.type == "cuda", self._mine.stop - self._mine.start
        together = max(1, _TOGETHER // share) if on_gpu else 1

        def work() -> None:
            try:
                stream = torch.cuda.Stream(self._device) if on_gpu else None  # type: ignore[no-untyped-call]
                with torch.cuda.stream(stream):
                    for step in count(start, together):
                        examples = prepare(self.collate(step, together), self._settings, self._device)
                        ready = stream.record_event() if stream else None
                        for batch in zip(*(torch.split(tensor, share) for tensor in examples), strict=True):
                            queue.put(_Made(Examples(*batch), ready))
                            if over.is_set():
                                return
            except BaseException as error:  # handed to who waits for a batch
                queue.put(error)

        thread = Thread(target=work, daemon=True)
        thread.start()
        try:
            while True:
                made = queue.get()
                if isinstance(made, BaseException):
                    raise made
                yield made.take()
        finally:
            over.set()
            while thread.is_alive():  # it may wait for room in the queue
                if not queue.empty():
                    queue.get()
                thread.join(0.01)

    def collate(self, step: int, steps: int = 1) -> Raw:
        """This process's part of the batches of one or more steps, as they come from memory."""
        size = self._settings.batch
        numbers = torch.cat(
            [torch.arange(n * size, (n + 1) * size)[self._mine] for n in range(step, step + steps)]
        )
        keys = make_keys(self._settings.seed, numbers)
        rows = [row for number in range(step, step + steps) for row in self._rows(number)]
        sources = [self._pictures[source] for source, _ in rows]
        kinds = [source.kind for source in sources]
        batch = self._collate([(source, number) for source, (_, number) in zip(sources, rows, strict=True)])
        chosen = _which(kinds, "transplanted")
        places = uniform(fold_in(keys[chosen], TRANSPLANT)).double() * len(self._others)
        others = [self._others[int(place)] for place in places]
        behind = [source.kind for source, _ in others]
        return Raw(batch, kinds, keys, self._collate(others) if others else None, behind)

    def _collate(self, items: Sequence[tuple[Pictures, int]]) -> Batch:
        """Pictures of the mix, each by its place among its source's."""
        batch = collate([source.cache[source.numbers[place]] for source, place in items])
        if self._device.type == "cuda":  # page-locked memory is copied while the device works
            batch = Batch(*(tensor.pin_memory() for tensor in batch))
        return batch

    def _rows(self, step: int) -> list[tuple[int, int]]:
        """Source and picture of each sample of this process."""
        epoch, place = divmod(step, self.steps)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self._mix.epoch(epoch)
        first = place * self._settings.batch
        rows = self._order[1][first : first + self._settings.batch][self._mine]
        return [(int(source), int(number)) for source, number in rows]


class _Made(NamedTuple):
    """A batch that a GPU may still be working on."""

    examples: Examples
    ready: torch.cuda.Event | None

    def take(self) -> Examples:
        """The batch; the current stream waits for it, and its memory for that stream."""
        if self.ready is not None:
            stream = torch.cuda.current_stream()
            stream.wait_event(self.ready)
            for tensor in self.examples:
                tensor.record_stream(stream)
        return self.examples


@torch.no_grad()
def prepare(raw: Raw, settings: TrainingSettings, device: torch.device) -> Examples:
    """Augment a batch and render what is to be rendered, on the device."""
    keys, augment = raw.keys, settings.augment
    plain, masks = crop_batch(raw.batch.to(device), settings.size, keys, augment.geometry)
    _clear(plain, masks, raw.kinds)
    on_device = keys.to(device, non_blocking=True)
    if chosen := _which(raw.kinds, "rendered"):
        where = torch.tensor(chosen).to(device, non_blocking=True)
        rendered = render_smoke(plain[where], on_device[where], masks[where, :1])
        plain[where], masks[where, :1] = rendered.picture, rendered.mask
    if raw.others is not None:
        chosen = _which(raw.kinds, "transplanted")
        where = torch.tensor(chosen).to(device, non_blocking=True)
        behind, theirs = crop_batch(
            raw.others.to(device), settings.size, fold_in(keys[chosen], TRANSPLANT), augment.geometry
        )
        _clear(behind, theirs, raw.behind)
        moved = transplant(plain[where], masks[where, :1], behind, on_device[where])
        plain[where], masks[where, :1] = moved.picture, torch.maximum(moved.mask, theirs[:, :1])
    if chosen := _which(raw.kinds, "lookalikes"):
        where = torch.tensor(chosen).to(device, non_blocking=True)
        plain[where] = render_lookalikes(plain[where], on_device[where])
    pictures = recolour(plain, augment.colour, keys)
    through = transmission(plain) if settings.objective.transmission else plain[:, :1]
    layout = torch.channels_last
    return Examples(pictures.contiguous(memory_format=layout), masks, through, on_device)


def _clear(pictures: Tensor, masks: Tensor, kinds: Sequence[Kind]) -> None:
    """Paint over the smoke of those whose kind asks for it, in place; what is mostly smoke stays as it is."""
    if chosen := _which(kinds, "cleared"):
        where = torch.tensor(chosen).to(pictures.device, non_blocking=True)
        smoky, smoke = pictures[where], masks[where]
        covered = smoke.mean((1, 2, 3), keepdim=True) > _COVERED
        pictures[where] = torch.where(covered, smoky, fill(smoky, smoke))
        masks[where] = smoke * covered


def _which(kinds: Sequence[Kind], kind: Kind) -> list[int]:
    return [number for number, each in enumerate(kinds) if each == kind]
