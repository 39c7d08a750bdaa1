"""Duplicate pictures: copies are found however they were saved; frames of one camera are no copies."""

import io
import random

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from tests.data.test_plumes import blob, paste, scaled

from smokescope.data.duplicates import CORRELATION, Glance, compare, glance, near_duplicate
from smokescope.data.groups import Entry, Sieve
from smokescope.data.plumes import plume

Pixels = NDArray[np.uint8]
Mask = NDArray[np.float32]
SIZE = (200, 240)


def background(seed: int) -> Pixels:
    """Something like a view: noise, the coarser the stronger, as in nature."""
    rng = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(rng.normal(size=SIZE), (0, 0), sigma) * sigma**1.6 for sigma in (2, 6, 18)]
    grey = sum(layers)
    pixels = 120 + 40 * (grey / np.std(grey)).clip(-2.4, 2.4)[..., None] + rng.normal(scale=12, size=3)
    return pixels.clip(0, 255).astype(np.uint8)


def with_smoke(picture: Pixels, mask: Mask) -> Pixels:
    alpha = 0.7 * cv2.GaussianBlur(mask, (0, 0), 2)[..., None]
    return ((1 - alpha) * picture + alpha * 190).astype(np.uint8)


def jpeg(picture: Pixels, quality: int) -> Pixels:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return np.array(Image.open(buffer))


def resized(
    values: NDArray[np.integer | np.floating], factor: float, how: int
) -> NDArray[np.integer | np.floating]:
    return cv2.resize(values, None, fx=factor, fy=factor, interpolation=how)


def smoky(seed: int, *, top: int = 50, left: int = 60) -> tuple[Pixels, Mask]:
    mask = paste(blob(seed), top, left)
    return with_smoke(background(seed), mask), mask


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 40),
    quality=st.integers(60, 95),
    factor=st.sampled_from([0.6, 0.75, 1.0, 1.5]),
    gain=st.floats(0.9, 1.0),
)
def test_a_picture_saved_anew_is_a_near_duplicate(
    seed: int, quality: int, factor: float, gain: float
) -> None:
    picture, mask = smoky(seed)
    smaller = np.asarray(resized(picture * gain, factor, cv2.INTER_AREA)).clip(0, 255).astype(np.uint8)
    copy = jpeg(smaller, quality)
    copied_mask = np.asarray(resized(mask, factor, cv2.INTER_AREA)).astype(np.float32)
    assert near_duplicate(glance(picture, mask), glance(copy, copied_mask))
    assert near_duplicate(glance(copy, None), glance(picture, None))


@pytest.mark.parametrize("seed", range(6))
def test_a_trimmed_copy_is_a_near_duplicate(seed: int) -> None:
    picture, mask = smoky(seed)
    trimmed = glance(jpeg(picture[3:-3, 2:-5], 80), mask[3:-3, 2:-5])
    assert near_duplicate(glance(picture, mask), trimmed)


def test_moved_smoke_in_the_same_view_is_no_duplicate() -> None:
    view = background(1)
    for seed in range(5):
        masks = [paste(scaled(blob(seed), 0.3), 80, left) for left in (90, 130)]
        here, there = (with_smoke(view, mask) for mask in masks)
        assert near_duplicate(glance(here, masks[0]), glance(there, masks[1])) is None
        assert near_duplicate(glance(here, None), glance(there, None)) is None  # seen without masks as well


def test_smoke_too_small_to_change_the_whole_still_tells_frames_apart() -> None:
    view = background(3)
    puff = paste(scaled(blob(3), 0.12), 80, 90)
    here, there = glance(view, None), glance(jpeg(with_smoke(view, puff), 90), None)
    assert compare(here, there)[0].picture > CORRELATION
    assert near_duplicate(here, there) is None


def test_another_shape_or_light_is_another_picture() -> None:
    picture = background(4)
    squashed = np.asarray(cv2.resize(picture, (120, 200), interpolation=cv2.INTER_AREA), np.uint8)
    dark = (0.5 * picture).astype(np.uint8)
    for other in (squashed, dark):
        assert near_duplicate(glance(picture, None), glance(other, None)) is None


def test_copies_without_smoke_have_the_same_mask() -> None:
    picture, nothing = background(5), np.zeros(SIZE, np.float32)
    alike = near_duplicate(glance(picture, nothing), glance(jpeg(picture, 90), nothing))
    assert alike is not None
    assert alike.mask == 1


def test_the_same_pixels_under_another_mask_are_not_near() -> None:
    picture, mask = smoky(2)
    shrunk = cv2.erode(mask, np.ones((5, 5)))
    assert near_duplicate(glance(picture, mask), glance(jpeg(picture, 90), mask))
    assert near_duplicate(glance(picture, mask), glance(jpeg(picture, 90), shrunk.astype(np.float32))) is None


def test_different_pictures_are_different() -> None:
    looks = [glance(background(seed), None) for seed in range(12)]
    assert not any(near_duplicate(a, b) for i, a in enumerate(looks) for b in looks[:i])


def test_flat_pictures_are_no_evidence() -> None:
    grey, lighter = (glance(np.full((40, 40, 3), value, np.uint8), None) for value in (100, 102))
    assert near_duplicate(grey, lighter) is None


def entry(name: str, picture: Pixels, mask: Mask | None) -> Entry:
    return Entry(name, glance(picture, mask), None if mask is None else plume(mask))


def collection() -> list[Entry]:
    """Each kind of duplicate, and what only looks like one."""
    picture, mask = smoky(7)
    larger = np.asarray(resized(picture, 1.2, cv2.INTER_CUBIC)).astype(np.uint8)
    larger_mask = np.asarray(resized(mask, 1.2, cv2.INTER_AREA)).astype(np.float32)
    elsewhere = paste(scaled(blob(7)[:, ::-1], 0.9), 10, 130)
    return [
        entry("a/original", picture, mask),
        entry("b/copy", picture.copy(), mask),
        entry("b/larger", larger, larger_mask),
        entry("c/pasted", with_smoke(background(8), elsewhere), elsewhere),
        entry("d/other", *smoky(9)),
        entry("d/other-again", *smoky(9)),
        entry("e/same-view", with_smoke(background(9), paste(blob(11), 90, 20)), paste(blob(11), 90, 20)),
    ]


def sift(entries: list[Entry]) -> Sieve:
    sieve = Sieve()
    for one in sorted(entries, key=lambda e: e.rank):
        sieve.add(one)
    return sieve


def test_what_is_kept_and_what_is_dropped_for_it() -> None:
    sieve = sift(collection())
    assert sorted(sieve.kept) == ["b/larger", "d/other", "e/same-view"]
    found = {(g.kind, g.kept): sorted(d.name for d in g.dropped) for g in sieve.groups()}
    assert found == {
        ("exact", "d/other"): ["d/other-again"],
        ("near", "b/larger"): ["a/original", "b/copy"],
        ("smoke", "b/larger"): ["c/pasted"],
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_files_makes_no_difference(seed: int) -> None:
    shuffled = collection()
    random.Random(seed).shuffle(shuffled)
    assert sift(shuffled).groups() == sift(collection()).groups()


def test_a_chain_is_not_taken_for_one_picture() -> None:
    """Smoke that grows bit by bit: neighbours are alike, the ends are not, and both are kept."""
    entries = []
    for i in range(12):
        piece = blob(12)
        piece[: 1 + i] = 0
        entries.append(entry(f"{i:02}", background(20 + i), paste(piece, 50, 60)))
    sieve = sift(entries)
    assert 1 < len(sieve.kept) < 12
    for group in sieve.groups():
        assert group.kind == "smoke"
        assert group.kept in sieve.kept
        assert all(int(d.name) - int(group.kept) <= 4 for d in group.dropped)


def test_exact_copies_say_whether_their_masks_agree() -> None:
    picture, mask = smoky(5)
    sieve = sift([entry("a", picture, mask), entry("b", picture, np.zeros_like(mask))])
    assert [(g.kind, g.dropped[0].mask) for g in sieve.groups()] == [("exact", 0.0)]


def test_a_glance_depends_on_pixels_and_shape_only() -> None:
    flat = np.arange(6 * 8 * 3, dtype=np.uint8)
    looks: list[Glance] = [glance(flat.reshape(h, w, 3), None) for h, w in ((6, 8), (8, 6))]
    assert looks[0].digest != looks[1].digest
    assert looks[0].digest == glance(np.asfortranarray(flat.reshape(6, 8, 3)), None).digest


def test_the_first_of_many_is_still_remembered() -> None:
    pictures = [background(100 + i) for i in range(70)]  # more than the first array of signatures holds
    entries = [entry(f"{i:02}", picture, None) for i, picture in enumerate(pictures)]
    sieve = sift([*entries, entry("99", jpeg(pictures[0], 80), None)])
    assert len(sieve.kept) == 70
    assert [(g.kind, g.kept, g.dropped[0].name) for g in sieve.groups()] == [("near", "00", "99")]
