"""What an evaluation is told by: names that tell models apart, and what the speed is of."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from smokescope.report.evaluation_words import names_of, told_speed


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ((None, "best.safetensors"), ["embedded model", "best"]),
        (("runs/a/model.safetensors",), ["a/model"]),
        (("x/m.safetensors", "x/m.xml"), ["x/m.safetensors", "x/m.xml"]),
        (("runs/a/model.safetensors", "runs/b/model.safetensors"), ["a/model", "b/model"]),
    ],
)
def test_models_are_called_by_what_tells_them_apart(models: Sequence[str | None], names: list[str]) -> None:
    assert names_of(*(Path(model) if model else None for model in models)) == names


def test_the_speed_says_what_it_includes() -> None:
    alone = told_speed(12.34, "PyTorch on cpu", peer=False, samples=0, intervals=False)
    assert alone == "12.3 pictures a second by PyTorch on cpu; that includes reading and measuring"
    all_of_it = told_speed(0.2, "PyTorch on cpu", peer=True, samples=8, intervals=True)
    assert all_of_it.endswith("that includes reading, the other model, 8 samples, intervals and measuring")
