"""Reading for training: pictures a second decoded, cached and augmented, on pictures made here."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.timing import compare, synchronise, table
from smokescope.chance import make_keys
from smokescope.data.augment import AugmentSettings, collate, crop_batch
from smokescope.data.augment_colour import recolour
from smokescope.data.cache import PictureCache
from smokescope.data.layouts import Listing, list_pairs
from smokescope.data.pairs import check_pairs, read_pair
from smokescope.physics.camera import gaussian_blur, jpeg, sensor_noise

COUNT, HEIGHT, WIDTH = 400, 480, 640
BATCH, SIZE = 32, (480, 480)


def make_data(folder: Path) -> Listing:
    """JPEG pictures with the grain of photographs, 1-bit PNG masks."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for kind in ("img", "gt"):
        (folder / kind).mkdir()
    grain = rng.normal(0, 10, (HEIGHT, WIDTH, 3))
    for number in range(COUNT):
        waves = 60 * np.sin(x / rng.uniform(20, 90)) * np.cos(y / rng.uniform(20, 90))
        picture = (waves[..., None] + rng.uniform(80, 170, 3) + np.roll(grain, number, (0, 1))).clip(0, 255)
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"img/{number:03}.jpg", quality=85)
        smoke = (x - rng.uniform(0, WIDTH)) ** 2 + (y - rng.uniform(0, HEIGHT)) ** 2 < 20**2
        Image.fromarray(smoke).save(folder / f"gt/{number:03}.png")
    return list_pairs(folder)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read(cache: PictureCache) -> int:
    """Touch every byte, as copying into a batch does."""
    return sum(len(collate([cache[i]]).sizes) for i in range(len(cache)))


def reading(listing: Listing, file: Path) -> PictureCache:
    plain = seconds(lambda: [read_pair(pair) for pair in listing.pairs])
    checked = seconds(lambda: check_pairs(listing.pairs))
    cold = seconds(lambda: PictureCache(listing, WIDTH, file))
    opening = seconds(lambda: PictureCache(listing, WIDTH, file))
    on_disk = PictureCache(listing, WIDTH, file)
    start = time.perf_counter()
    in_memory = PictureCache(listing, WIDTH)
    cold_memory = time.perf_counter() - start
    warm = compare({"file": lambda: read(on_disk), "memory": lambda: read(in_memory)}, rounds=3, warm_up=1)
    table(
        f"Reading {COUNT} pairs of {WIDTH} x {HEIGHT}, JPEG and PNG",
        ("", "pictures a second"),
        [
            ("decoded, one thread", f"{COUNT / plain:,.0f}"),
            ("decoded by all cores: checking a data set", f"{COUNT / checked:,.0f}"),
            ("cache, cold: decoded by all cores into memory", f"{COUNT / cold_memory:,.0f}"),
            ("cache, cold: decoded by all cores into its file", f"{COUNT / cold:,.0f}"),
            ("cache, warm: from its file", f"{COUNT / warm['file']:,.0f}"),
            ("cache, warm: from memory", f"{COUNT / warm['memory']:,.0f}"),
            ("opening a warm cache of all", f"{1e3 * opening:.0f} ms"),
        ],
    )
    return in_memory


def augmenting(cache: PictureCache) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    batch = collate([cache[i] for i in range(BATCH)]).to(device)
    keys = make_keys(0, torch.arange(BATCH))
    square = torch.rand(BATCH, 3, *SIZE, device=device)
    some, settings = torch.linspace(0.1, 1, BATCH), AugmentSettings()

    def augment() -> None:
        plain, _ = crop_batch(batch, SIZE, keys, settings.geometry)
        recolour(plain, settings.colour, keys)

    synchronise()
    took = compare(
        {
            "augmentation, all of it": augment,
            "blur of every picture": lambda: gaussian_blur(square, 1.5 * some),
            "noise of every picture": lambda: sensor_noise(square, 1e-3 * some, 1e-2 * some, keys),
            "JPEG of every picture": lambda: jpeg(square, 95 * some),
        },
        rounds=20 if device.type == "cuda" else 5,
    )
    table(
        f"Augmenting batches of {BATCH} to {SIZE[0]} x {SIZE[1]}",
        ("", "ms a batch", "pictures a second"),
        [(name, f"{1e3 * s:,.1f}", f"{BATCH / s:,.0f}") for name, s in took.items()],
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        listing = make_data(Path(folder))
        augmenting(reading(listing, Path(folder) / "reading.cache"))


if __name__ == "__main__":
    main()
