"""Sheets of samples: every map in its column, in its own colours, whatever the size of the pictures."""

from pathlib import Path

import numpy as np
import pytest

from smokescope.data.pictures import read_picture
from smokescope.report.colours import ALEATORIC, EPISTEMIC, PROBABILITY, TOTAL
from smokescope.report.run_samples import COLUMN, GAP, TALLEST, draw_samples, last_samples, write_samples
from smokescope.report.thumbnails import OUTLINE
from smokescope.training.observers import Sample
from smokescope.training.run_folder import RunFolder
from smokescope.uncertainty import LN2

GREY = (90, 91, 92)


def sample(height: int, width: int, *, smoke: bool = True) -> Sample:
    mask = np.zeros((height, width), np.float32)
    mask[height // 3 : height // 2 + 1, width // 3 : width // 2 + 1] = float(smoke)
    values = (0.75, LN2, 0.5 * LN2, 0.025)
    maps = [np.full((height, width), value, np.float32) for value in values]
    return Sample("scene_1", np.full((height, width, 3), GREY, np.uint8), mask, *maps)


@pytest.mark.parametrize("size", [(480, 640), (30, 40), (640, 480), (1, 3), (4000, 10), (7, 2000)])
def test_each_map_fills_its_column(size: tuple[int, int]) -> None:
    sheet = draw_samples([sample(*size, smoke=False)])
    factor = min(COLUMN / size[1], TALLEST / size[0])
    area = max(1, round(size[0] * factor)) * max(1, round(size[1] * factor))
    wanted = [GREY, PROBABILITY.table[191], TOTAL.table[255], ALEATORIC.table[128], EPISTEMIC.table[64]]
    for column, colour in enumerate(wanted):
        left = GAP + column * (COLUMN + GAP)
        off = np.abs(sheet[:, left : left + COLUMN].astype(int) - np.array(colour)).max(-1)
        assert area <= (off <= 1).sum() <= area + 200  # the bar above shows that colour too


def test_smoke_is_outlined_in_the_first_column_only() -> None:
    for size in ((900, 1200), (30, 40)):
        sheet = draw_samples([sample(*size), sample(*size, smoke=False)])
        rows, columns = np.nonzero((sheet == OUTLINE).all(-1))
        assert len(rows) > 50
        assert columns.max() < GAP + COLUMN
        assert rows.max() < sheet.shape[0] // 2 + 40  # nothing in the second row


def test_sheets_are_found_again_and_the_newest_is_the_last(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    assert last_samples(run) is None
    write_samples(run, 100, [])
    assert last_samples(run) is None
    for step in (20, 100_000_000, 3):
        write_samples(run, step, [sample(30, 40)])
    assert (run.path / "samples" / "00000020.png").exists()
    step, path = last_samples(run) or pytest.fail("no sheet")
    assert step == 100_000_000
    np.testing.assert_array_equal(read_picture(path), draw_samples([sample(30, 40)]))
    assert not list(path.parent.glob(".*"))
