"""From lines of a mix to pictures: chosen by name, by kind and by scene."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.off import OFF
from tests.training.small import make_data, small_settings
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.data.augment import Batch, crop_batch
from smokescope.data.folds import Folds
from smokescope.data.sets import PictureName
from smokescope.errors import SmokescopeError
from smokescope.physics.rendering.lookalikes import render_lookalikes
from smokescope.physics.rendering.smoke import render_smoke
from smokescope.physics.rendering.transplant import transplant
from smokescope.physics.transmission import transmission
from smokescope.training.feed import Examples, Feed, Raw, prepare
from smokescope.training.settings import Kind, TrainingSettings, read_settings
from smokescope.training.sources import Data, Split, load_data


def load(tmp_path: Path, *overrides: str, split: Split | None = None) -> Data:
    return load_data(small_settings(tmp_path, *overrides), tmp_path / "data", split)


def names(data: Data, source: int = 0) -> list[str]:
    pictures = data.training[source]
    return [pictures.cache.pairs[number].name for number in pictures.numbers]


def validated(data: Data) -> list[tuple[Kind, list[str]]]:
    return [(v.kind, [v.cache.pairs[n].name for n in v.numbers]) for v in data.validation]


def test_names_are_chosen_by_a_regular_expression(tmp_path: Path) -> None:
    make_data(tmp_path / "data")
    data = load(
        tmp_path, "data=[{kind: pairs, folder: pairs, names: '[0-3]'}, {kind: rendered, folder: pairs}]"
    )
    assert names(data) == ["0", "1", "2", "3"]
    assert len(names(data, 1)) == 8
    assert data.training[0].cache is data.training[1].cache  # a folder is decoded once
    with pytest.raises(SmokescopeError, match="no picture of pairs is left to train on as pairs"):
        load(tmp_path, "data=[{kind: pairs, folder: pairs, names: 'x'}]")
    with pytest.raises(SmokescopeError, match="no picture of negatives is left"):  # 10 and 11 only begin so
        load(tmp_path, "data=[{kind: negatives, folder: negatives, names: '1'}]")
    with pytest.raises(SmokescopeError, match="is not a regular expression"):
        load(tmp_path, "data=[{kind: pairs, folder: pairs, names: '('}]")


def test_a_fold_is_kept_from_training_and_validated_on(tmp_path: Path) -> None:
    make_data(tmp_path / "data")
    folds = Folds(
        0.2,
        0,
        {"pairs": "pairs", "negatives": "negatives"},
        [
            [PictureName("pairs", "0"), PictureName("pairs", "7"), PictureName("negatives", "9")],
            [
                *(PictureName("pairs", str(n)) for n in range(1, 7)),
                *(PictureName("negatives", str(n)) for n in (8, 10, 11)),
            ],
        ],
    )
    data = load(tmp_path, split=Split(folds, 1))
    assert names(data) == ["1", "2", "3", "4", "5", "6"]
    assert names(data, 1) == ["10", "11", "8"]
    assert validated(data) == [("pairs", ["0", "7"]), ("negatives", ["9"])]
    turned = "data=[{kind: negatives, folder: negatives}, {kind: pairs, folder: pairs}]"
    smoke_first = load(tmp_path, turned, split=Split(folds, 1)).validation  # of it, samples are shown
    assert [v.kind for v in smoke_first] == ["pairs", "negatives"]
    lines = "{kind: pairs, folder: pairs}, {kind: negatives, folder: negatives, whole: true}"
    data = load(tmp_path, f"data=[{lines}]", split=Split(replace(folds, sets={"pairs": "pairs"}), 1))
    assert [len(names(data, source)) for source in (0, 1)] == [6, 4]
    assert [v.kind for v in data.validation] == ["pairs"]
    with pytest.raises(SmokescopeError, match="is none of the known sets: "):
        load(tmp_path, split=Split(replace(folds, sets={"pairs": "pairs"}), 1))
    with pytest.raises(SmokescopeError, match="fold 1 has no picture to validate on"):
        load(tmp_path, "data=[{kind: pairs, folder: pairs, names: '[1-6]'}]", split=Split(folds, 1))
    fewer = replace(folds, folds=[folds.folds[0], folds.folds[1][1:]])
    with pytest.raises(SmokescopeError, match=r"do not cover 1 pictures of .*pairs, such as 1: make"):
        load(tmp_path, split=Split(fewer, 1))


def keep(kept: Sequence[str], of: Sequence[str] = "01234567", named: str = "pairs") -> Split:
    """Keep some pictures of a folder apart."""
    rest = [name for name in of if name not in kept]
    folds = [[PictureName(named, name) for name in part] for part in (kept, rest)]
    return Split(Folds(0.2, 0, {named: "pairs"}, folds), 1)


def rename(data: Path, names: Sequence[str]) -> Path:
    """Give the pairs other names."""
    for number, name in enumerate(names):
        for folder in ("img", "gt"):
            (data / f"pairs/{folder}/{number}.png").rename(data / f"pairs/{folder}/{name}.png")
    return data


SMOKE5K = ("1_2", "12_345", "1528757456_+00900", "fire_7", "a", "3_4", "b", "c")


@pytest.mark.parametrize("config", ["default", "unet", "scribble"])
def test_the_shipped_mixes_are_validated_on_real_frames_only(tmp_path: Path, config: str) -> None:
    """Synthetic pictures of SMOKE5K are named N_N."""
    data, real = rename(make_data(tmp_path / "data"), SMOKE5K), ["1528757456_+00900", "a", "fire_7"]
    (data / "scribbles").mkdir()
    for name in ("3_4", "b", "c"):  # of those that are trained on
        Image.fromarray(np.ones((36, 54), np.uint8)).save(data / f"scribbles/{name}.png")
    mix = [source for source in read_settings(config).data if source.folder == "smoke5k/train"]
    own = tuple(replace(source, folder="pairs") for source in mix)
    split = keep([*real, "1_2", "12_345"], SMOKE5K)
    loaded = load_data(replace(small_settings(tmp_path), data=own), data, split)
    assert validated(loaded) == [("pairs", real)]
    assert {name for number in range(len(own)) for name in names(loaded, number)} == {"3_4", "b", "c"}


def test_own_pictures_are_validated_on_whatever_they_are_called(tmp_path: Path) -> None:
    """A camera's times of day look like the names of SMOKE5K's synthetic pictures."""
    times = [f"20240101_12000{number}" for number in range(8)]
    data = rename(make_data(tmp_path / "data"), times)
    settings = read_settings("default", ["data=[{kind: pairs, folder: pairs}]"])
    assert validated(load_data(settings, data, keep(times[:3], times))) == [("pairs", times[:3])]


def test_only_what_lines_take_is_validated_on_and_only_where_they_ask_for_it(tmp_path: Path) -> None:
    make_data(tmp_path / "data")
    lines = "{kind: pairs, folder: pairs, names: '[0124]'}, "
    lines += "{kind: pairs, folder: pairs, names: '[267]', validated: false}"
    data = load(tmp_path, f"data=[{lines}]", split=keep("0123"))
    assert validated(data) == [("pairs", ["0", "1", "2"])]
    assert [names(data, number) for number in (0, 1)] == [["4"], ["6", "7"]]
    never = "data=[{kind: pairs, folder: pairs, validated: false}]"
    with pytest.raises(SmokescopeError, match="fold 1 has no picture to validate on"):
        load(tmp_path, never, split=keep("0123"))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("{kind: negatives, folder: pairs}", "pairs has masks"),
        ("{kind: lookalikes, folder: pairs}", "pairs has masks"),
        ("{kind: pairs, folder: negatives}", "negatives has no masks"),
        ("{kind: transplanted, folder: negatives}", "negatives has no masks"),
        ("{kind: cleared, folder: negatives}", "negatives has no masks"),
        ("{kind: pairs, folder: nowhere}", "nowhere is not a folder"),
    ],
)
def test_folders_of_the_wrong_kind_are_refused(tmp_path: Path, source: str, complaint: str) -> None:
    make_data(tmp_path / "data")
    with pytest.raises(SmokescopeError, match=complaint):
        load(tmp_path, f"data=[{source}]")


SCRIBBLES = "data=[{kind: scribbles, folder: pairs, strokes: strokes}]"


def add_strokes(data: Path) -> Path:
    (data / "strokes").mkdir()
    for number in range(8):
        scribble = np.zeros((36, 54), np.uint8)
        scribble[4:8, 10:40], scribble[20:24, 10:40] = 1, 2
        Image.fromarray(scribble).save(data / f"strokes/{number}.png")
    return data


def test_strokes_come_as_two_channels(tmp_path: Path) -> None:
    data = add_strokes(make_data(tmp_path / "data"))
    settings = small_settings(tmp_path, SCRIBBLES, "augment.geometry.scale=[1.0, 1.0]")
    feed = Feed(load_data(settings, data).training, settings, torch.device("cpu"))
    examples = prepare(feed.collate(0), settings, torch.device("cpu"))
    assert examples.masks.shape == (4, 2, 32, 48)
    shares = (examples.masks > 0.5).float().mean((2, 3))
    assert (shares[:, 0] > 0).all()  # crops keep some of the smoke that was drawn
    assert (shares < 0.2).all()
    (data / "strokes/3.png").unlink()
    with pytest.raises(SmokescopeError, match=r"3\.png has no strokes"):
        load_data(settings, data)


def test_who_trains_on_strokes_is_validated_on_whole_masks(tmp_path: Path) -> None:
    data = add_strokes(make_data(tmp_path / "data"))
    (found,) = load(tmp_path, SCRIBBLES, split=keep("01")).validation
    masks = [found.cache[number][1] for number in found.numbers]
    assert [tuple(mask.shape) for mask in masks] == 2 * [(1, 36, 54)]
    for mask, number in zip(masks, "01", strict=True):
        expected = np.asarray(Image.open(data / f"pairs/gt/{number}.png"))
        np.testing.assert_array_equal(mask[0] > 127, expected)


@pytest.mark.parametrize("folder", ["pairs", "pairs/img"])
def test_who_trains_on_strokes_needs_no_masks(tmp_path: Path, folder: str) -> None:
    data = add_strokes(make_data(tmp_path / "data"))
    shutil.rmtree(data / "pairs/gt")
    line = f"{{kind: scribbles, folder: {folder}, strokes: strokes"
    assert names(load(tmp_path, f"data=[{line}}}]")) == [*"01234567"]
    split = keep("01", named=Path(folder).name)
    with pytest.raises(SmokescopeError, match="has no masks to validate on: draw those of the fold, or set"):
        load(tmp_path, f"data=[{line}}}]", split=split)


def test_strokes_are_needed_to_train_on_and_masks_to_validate_on(tmp_path: Path) -> None:
    data = add_strokes(make_data(tmp_path / "data"))
    for name in "017":  # two that are kept apart, and one that no line takes
        (data / f"strokes/{name}.png").unlink()
    for name in "234567":
        (data / f"pairs/gt/{name}.png").unlink()
    lines = "data=[{kind: scribbles, folder: pairs, strokes: strokes, names: '[0-4]'}, "
    lines += "{kind: scribbles, folder: pairs, strokes: strokes, names: '[56]', weight: 2}]"
    loaded = load(tmp_path, lines, split=keep("01"))
    assert [names(loaded, number) for number in (0, 1)] == [["2", "3", "4"], ["5", "6"]]
    assert validated(loaded) == [("pairs", ["0", "1"])]
    (data / "pairs/gt/1.png").unlink()
    with pytest.raises(SmokescopeError, match="pairs has no mask for 1, which is held out for validation"):
        load(tmp_path, lines, split=keep("01"))
    with pytest.raises(SmokescopeError, match="no picture of pairs is left to train on as scribbles"):
        load(tmp_path, lines.replace("[0-4]", "x").replace("[56]", "y"), split=keep("01"))


def test_decoded_pictures_are_kept_for_the_next_run(tmp_path: Path) -> None:
    data, settings, folder = make_data(tmp_path / "data"), small_settings(tmp_path), tmp_path / "deep/cache"
    decoded: list[int] = []

    def load(settings: TrainingSettings) -> Data:
        decoded.clear()
        return load_data(settings, data, kept_in=folder, progress=lambda *_: decoded.append(1))

    first = load(settings)
    assert len(decoded) == 12
    second = load(settings)
    assert not decoded
    assert len(list(folder.iterdir())) == 2  # pairs and negatives
    assert first.fingerprint() == second.fingerprint() == load_data(settings, data).fingerprint()
    load(replace(settings, side=32))  # of another size: beside them, not in their place
    load(settings)
    assert not decoded


def test_other_uses_of_a_folder_and_others_of_its_name_have_files_of_their_own(tmp_path: Path) -> None:
    data, other = add_strokes(make_data(tmp_path / "data")), make_data(tmp_path / "other")
    decoded: list[int] = []
    for turn in range(2):
        for root, line, split in (
            (data, "data=[{kind: pairs, folder: pairs}]", None),
            (other, "data=[{kind: pairs, folder: pairs}]", None),
            (data, SCRIBBLES, keep("01")),
        ):
            decoded.clear()
            settings = small_settings(tmp_path, line)
            load_data(settings, root, split, kept_in=tmp_path / "c", progress=lambda *_: decoded.append(1))
            assert bool(decoded) == (turn == 0)


def test_batches_are_the_same_alone_together_and_from_any_step(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    line = "data=[{kind: rendered, folder: pairs}, {kind: lookalikes, folder: negatives}]"
    settings, device = small_settings(tmp_path, line), torch.device("cpu")
    pictures = load_data(settings, data).training
    feed = Feed(pictures, settings, device)
    assert feed.steps == 3
    stream = feed.batches(0)
    batches = [next(stream) for _ in range(4)]
    stream.close()
    later = Feed(pictures, settings, device).batches(3)
    torch.testing.assert_close(next(later)[0], batches[3][0], rtol=0, atol=0)
    later.close()
    halves = [prepare(Feed(pictures, settings, device, r, 2).collate(1), settings, device) for r in (0, 1)]
    for whole, first, second in zip(batches[1], *halves, strict=True):
        torch.testing.assert_close(whole, torch.cat((first, second)), rtol=1e-3, atol=0.02)
    joined = prepare(feed.collate(0, 3), settings, device)
    torch.testing.assert_close(joined.masks, torch.cat([b.masks for b in batches[:3]]), rtol=1e-3, atol=1e-3)
    assert joined.keys.tolist() == [key for b in batches[:3] for key in b.keys.tolist()]
    assert len(joined.keys.unique()) == 12  # no picture's chance is another's
    smoky = (torch.cat([b.masks for b in batches[:3]]).flatten(1).amax(1) > 0.5).sum()
    assert smoky == 8  # smoke was rendered into all that ask for it, none into lookalikes


def test_another_seed_is_another_order_and_other_chance(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    pictures = load_data(settings, data).training
    one, other = (
        Feed(pictures, replace(settings, seed=seed), torch.device("cpu")).collate(0, 3) for seed in (0, 1)
    )
    assert not set(one.keys.tolist()) & set(other.keys.tolist())
    assert (one.batch.pictures != other.batch.pictures).any()


def test_transplanted_smoke_is_put_over_others_of_its_line_and_negatives(tmp_path: Path) -> None:
    data, device = make_data(tmp_path / "data"), torch.device("cpu")
    line = "data=[{kind: transplanted, folder: pairs, weight: 4}, {kind: negatives, folder: negatives}]"
    settings = small_settings(tmp_path, line, "augment.geometry.scale=[1.0, 1.0]")
    pictures = load_data(settings, data).training
    feed = Feed(pictures, settings, device)
    raw = feed.collate(0, feed.steps)
    assert raw.others is not None
    assert len(raw.others.pictures) == raw.kinds.count("transplanted") == 32
    smoky = raw.others.masks.flatten(1).any(1)
    assert 10 < smoky.sum() < 32  # two thirds, on average: 8 pictures of the line and 4 negatives
    whole = prepare(feed.collate(0), settings, device)
    halves = [prepare(Feed(pictures, settings, device, r, 2).collate(0), settings, device) for r in (0, 1)]
    for together, first, second in zip(whole, *halves, strict=True):
        torch.testing.assert_close(together, torch.cat((first, second)), rtol=1e-3, atol=0.02)
    plain = replace(settings, data=(replace(settings.data[0], kind="pairs"), settings.data[1]))
    unmoved = prepare(Feed(load_data(plain, data).training, plain, device).collate(0), plain, device)
    moved = [kind == "transplanted" for kind in raw.kinds[:4]]
    assert (unmoved.pictures - whole.pictures).flatten(1).any(1).tolist() == moved


HEIGHT, WIDTH = 64, 96
KEYS = make_keys(0, torch.arange(3))


def landscapes(seed: int, smoke: tuple[int, int] | None) -> Batch:
    """Three pictures, light above and dark below, with a bright square of smoke from this row and column."""
    torch.manual_seed(seed)
    pictures = torch.linspace(0.7, 0.2, HEIGHT).view(-1, 1) + 0.02 * torch.randn(3, 3, HEIGHT, WIDTH)
    masks = torch.zeros(3, 1, HEIGHT, WIDTH)
    if smoke:
        y, x = smoke
        masks[..., y : y + 12, x : x + 12] = 1
        pictures += 0.25 * masks
    return Batch(pictures.clamp(0, 1), masks, torch.tensor([[HEIGHT, WIDTH]] * 3))


def prepare_as_they_are(tmp_path: Path, kind: Kind, batch: Batch, others: Batch | None = None) -> Examples:
    """All of one kind but for the last, one of pairs; nothing is augmented."""
    settings = replace(small_settings(tmp_path), augment=OFF, size=(HEIGHT, WIDTH))
    return prepare(Raw(batch, (kind, kind, "pairs"), KEYS, others), settings, torch.device("cpu"))


def check(found: Tensor, expected: Tensor, kept: Tensor) -> None:
    """The first two as expected, the last as it was."""
    torch.testing.assert_close(found, torch.cat((expected, kept[2:])), rtol=0, atol=1e-3)


def test_lookalikes_are_rendered_and_called_no_smoke(tmp_path: Path) -> None:
    batch = landscapes(0, None)
    examples = prepare_as_they_are(tmp_path, "lookalikes", batch)
    check(examples.pictures, render_lookalikes(batch.pictures[:2], KEYS[:2]), batch.pictures)
    assert not examples.masks.any()


def test_rendered_smoke_is_masked_together_with_what_was_there(tmp_path: Path) -> None:
    batch = landscapes(0, (2, 4))
    examples = prepare_as_they_are(tmp_path, "rendered", batch)
    rendered = render_smoke(batch.pictures[:2], KEYS[:2])
    check(examples.pictures, rendered.picture, batch.pictures)
    check(examples.masks, torch.maximum(rendered.mask, batch.masks[:2]), batch.masks)
    assert (rendered.mask > batch.masks[:2]).flatten(1).any(1).all()


def test_transplanted_smoke_is_masked_together_with_that_behind_it(tmp_path: Path) -> None:
    batch, others = landscapes(0, (30, 10)), landscapes(1, (20, 60))
    behind = Batch(*(tensor[:2] for tensor in others))
    examples = prepare_as_they_are(tmp_path, "transplanted", batch, behind)
    moved = transplant(batch.pictures[:2], batch.masks[:2], behind.pictures, KEYS[:2])
    check(examples.pictures, moved.picture, batch.pictures)
    check(examples.masks, torch.maximum(moved.mask, behind.masks), batch.masks)
    assert (moved.mask > behind.masks).flatten(1).any(1).all()


def test_cleared_pictures_have_lost_their_smoke(tmp_path: Path) -> None:
    smoky, bare = landscapes(0, (30, 10)), landscapes(0, None)
    examples = prepare_as_they_are(tmp_path, "cleared", smoky)
    assert not examples.masks[:2].any()
    smoke = 0.25  # that much brighter than the landscape, which has a noise of 0.02
    assert (smoky.pictures - bare.pictures).max() == pytest.approx(smoke)
    assert (examples.pictures[:2] - bare.pictures[:2]).abs().max() < smoke / 2
    torch.testing.assert_close(examples.pictures[2], smoky.pictures[2])  # a pair beside them
    assert (examples.masks[2] == smoky.masks[2]).all()


def test_a_picture_that_is_mostly_smoke_is_not_cleared(tmp_path: Path) -> None:
    smoky = landscapes(0, (30, 10))
    smoky.masks[0] = 1
    examples = prepare_as_they_are(tmp_path, "cleared", smoky)
    torch.testing.assert_close(examples.pictures[0], smoky.pictures[0])
    assert (examples.masks[0] == 1).all()
    assert not examples.masks[1].any()


def test_transplanted_smoke_is_put_over_cleared_pictures_without_their_own(tmp_path: Path) -> None:
    batch, others = landscapes(0, (30, 10)), landscapes(1, (20, 60))
    settings = replace(small_settings(tmp_path), augment=OFF, size=(HEIGHT, WIDTH))
    raw = Raw(batch, ["transplanted"] * 3, KEYS, others, ["cleared", "transplanted", "cleared"])
    examples = prepare(raw, settings, torch.device("cpu"))
    theirs = (examples.masks * others.masks).flatten(1).sum(1) / others.masks.flatten(1).sum(1)
    assert theirs[1] == 1
    assert (theirs[[0, 2]] < 0.5).all()
    assert examples.masks.flatten(1).any(1).all()


def test_what_lies_behind_transplanted_smoke_is_cropped_by_a_chance_of_its_own(tmp_path: Path) -> None:
    batch, settings = landscapes(0, None), small_settings(tmp_path)
    settings = replace(settings, augment=replace(OFF, geometry=settings.augment.geometry))
    kinds: list[Kind] = ["transplanted"] * 3
    examples = prepare(Raw(batch, kinds, KEYS, batch), settings, torch.device("cpu"))
    own, _ = crop_batch(batch, settings.size, KEYS, settings.augment.geometry)
    assert ((examples.pictures - own).abs().flatten(1).mean(1) > 0.01).all()


def test_transmission_is_of_the_picture_before_its_colours_change(tmp_path: Path) -> None:
    data, device = make_data(tmp_path / "data"), torch.device("cpu")
    settings = small_settings(tmp_path, "augment.colour.haze=1.0", "augment.colour.brightness=2.0")
    raw = Feed(load_data(settings, data).training, settings, device).collate(0)
    examples = prepare(raw, settings, device)
    plain, _ = crop_batch(raw.batch, settings.size, raw.keys, settings.augment.geometry)
    torch.testing.assert_close(examples.transmission, transmission(plain))
    assert (transmission(examples.pictures) - examples.transmission).abs().max() > 0.05


def test_what_fails_while_collating_reaches_who_waits(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    settings = small_settings(tmp_path)
    feed = Feed(load_data(settings, data).training, settings, torch.device("cpu"))
    feed.collate = lambda step, steps=1: (_ for _ in ()).throw(MemoryError("no room"))  # type: ignore[method-assign]
    with pytest.raises(MemoryError, match="no room"):
        next(feed.batches(0))
