"""The size that the network sees, in the numbers that exported graphs compute with."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smokescope.settings import input as module
from smokescope.settings.input import InputSettings, network_size

sides = st.integers(1, 100_000)


@given(sides, sides, st.integers(32, 1600))
@example(100_000, 1, 1600)
@example(1, 100_000, 1600)
def test_no_number_on_the_way_exceeds_31_bits(height: int, width: int, square: int) -> None:
    """NumPy warns of it, and a warning is an error here."""
    found = module._side(np.int32(height), np.int32(width), np.int32(square))  # type: ignore[arg-type]
    assert found.dtype == np.int32  # type: ignore[attr-defined]
    assert found == module._side(height, width, square)


def test_the_warning_would_come() -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        module._side(np.int32(100_000), np.int32(1), np.int32(1800))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [(1, 1), (1, 9000), (9000, 1), (37, 5000)])
def test_no_side_is_below_two_blocks(size: tuple[int, int]) -> None:
    for side in (32, 64, 480):
        assert min(network_size(*size, InputSettings(height=side, width=side, fit="aspect"))) >= 64
