"""Small smoke in a large picture: overlapping tiles see the detail, a pass over all of it the context.

Each pixel is seen by the whole pass and by up to four tiles, with weights that sum to 1 and fade to nothing
at a tile's edge, so there are no seams. These views are taken as an ensemble, as Monte Carlo samples are:

    probability  p = sum of w p_v: a mean, which one overconfident view cannot veto as it could with logits
    aleatoric    sum of w U_a,v
    epistemic    sum of w U_e,v + H(p) - sum of w H(p_v): views that disagree are doubt of the model

The last term is at or above 0 by Jensen's inequality, and 0 where all views agree.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.inference.tiles import BATCH, WHOLE, place, tile_size
from smokescope.settings.input import InputSettings

Floats = NDArray[np.float32]


def predict_tiled(
    plain: Callable[[Sequence[Pixels]], Maps], picture: Pixels, settings: InputSettings, whole: float = WHOLE
) -> Maps:
    """Predict a picture whole and in tiles.

    Memory is that of the whole pass, of one batch of tiles, and of four maps.

    Args:
        plain: The plain pass over pictures of one size.
        picture: [H, W, 3].
        settings: How the model resizes pictures, which says how large a tile is.
        whole: Weight of the whole pass, in [0, 1].

    Returns:
        Maps [1, H, W]; those of the plain pass if one tile covers all.
    """
    rows, columns = map(place, picture.shape[:2], tile_size(settings))
    context = plain([picture])
    places = [(row, column) for row in range(len(rows.starts)) for column in range(len(columns.starts))]
    if len(places) == 1:
        return context
    sums = np.float32(whole) * _as_view(context)[0]
    for first in range(0, len(places), BATCH):
        batch = places[first : first + BATCH]
        windows = [
            (slice(y, y + rows.length), slice(x, x + columns.length))
            for y, x in ((rows.starts[row], columns.starts[column]) for row, column in batch)
        ]
        views = _as_view(plain([picture[window] for window in windows]))
        for view, (row, column), (y, x) in zip(views, batch, windows, strict=True):
            weights = np.float32(1 - whole) * np.outer(rows.weights[row], columns.weights[column])
            sums[:, y, x] += weights * view
    return _decomposed(sums)


def _as_view(maps: Maps) -> Floats:
    """What is averaged over views: [N, 4, h, w]."""
    return np.stack([maps.probability, _entropy(maps.probability), maps.aleatoric, maps.epistemic], 1)


def _decomposed(sums: Floats) -> Maps:
    probability, entropy, aleatoric, epistemic = sums[:, None]
    probability = probability.clip(0, 1)  # weights sum to 1 but for rounding
    disagreement = (_entropy(probability) - entropy).clip(0)
    total = (aleatoric + epistemic + disagreement).clip(max=math.log(2))
    return Maps(probability, total, aleatoric, (total - aleatoric).clip(0))


def _entropy(probability: Floats) -> Floats:
    """In nats, 0 at both ends."""
    rest = 1 - probability
    tiny = np.finfo(np.float32).tiny  # so that 0 has a logarithm, which is then multiplied by 0
    result: Floats = -(probability * np.log(probability.clip(tiny)) + rest * np.log(rest.clip(tiny)))
    return result
