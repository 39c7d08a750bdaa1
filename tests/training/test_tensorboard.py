"""TensorBoard shows every figure of a run, and once, however often it was resumed."""

from pathlib import Path
from typing import cast

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from smokescope.metrics.suite import Report
from smokescope.training.observers import Progress
from smokescope.training.tensorboard import TensorBoard

REPORT = cast(Report, {"mse": 0.25, "f_beta": {"mean": 0.75, "max": None}})


def tell(folder: Path, *steps: int, loss: float = 0.5, validated: int | None = None) -> None:
    board = TensorBoard(folder)
    for step in steps:
        board.progressed(Progress(step, 10, {"loss": loss, "kl": 2 * loss}, 0.125, 7.0))
    if validated is not None:
        board.validated(validated, REPORT, [])
    board.close()


def shown(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder)).Reload()
    return {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}


def test_every_figure_has_its_line_but_those_that_are_undefined(tmp_path: Path) -> None:
    tell(tmp_path, 1, 2, validated=2)
    assert shown(tmp_path) == {
        "loss/loss": [(1, 0.5), (2, 0.5)],
        "loss/kl": [(1, 1.0), (2, 1.0)],
        "rate": [(1, 0.125), (2, 0.125)],
        "pictures_per_second": [(1, 7.0), (2, 7.0)],
        "validation/mse": [(2, 0.25)],
        "validation/f_beta/mean": [(2, 0.75)],
    }


def test_steps_that_a_resumed_run_makes_again_are_shown_once(tmp_path: Path) -> None:
    tell(tmp_path, 1, 2, 3, loss=0.25, validated=3)
    tell(tmp_path, 2, 3, 4)  # the state after step 1 was the last that could be read
    assert shown(tmp_path)["loss/loss"] == [(1, 0.25), (2, 0.5), (3, 0.5), (4, 0.5)]
    assert shown(tmp_path)["validation/mse"] == []
    tell(tmp_path, validated=4)  # a run that is done is measured again, and nothing else
    assert shown(tmp_path)["loss/loss"][-1] == (4, 0.5)
