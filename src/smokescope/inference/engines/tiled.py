"""Tiles for engines that speak NumPy: `smokescope.inference.tiling`, word for word, without torch."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from smokescope.inference.engines.base import Maps
from smokescope.inference.tiles import BATCH, WHOLE, place, tile_size
from smokescope.settings.input import InputSettings

Floats = NDArray[np.float32]


def predict_tiled(
    predict: Callable[[NDArray[np.uint8]], Maps], picture: NDArray[np.uint8], settings: InputSettings
) -> Maps:
    """Predict a picture [3, H, W] whole and in tiles, by a plain pass over pictures [N, 3, h, w]."""
    rows, columns = map(place, picture.shape[1:], tile_size(settings))
    context = predict(picture[None])
    places = [(row, column) for row in range(len(rows.starts)) for column in range(len(columns.starts))]
    if len(places) == 1:
        return context
    sums = np.float32(WHOLE) * _as_view(context)[0]
    for first in range(0, len(places), BATCH):
        batch = places[first : first + BATCH]
        windows = [
            (slice(y, y + rows.length), slice(x, x + columns.length))
            for y, x in ((rows.starts[row], columns.starts[column]) for row, column in batch)
        ]
        views = _as_view(predict(np.stack([picture[:, y, x] for y, x in windows])))
        for view, (row, column), (y, x) in zip(views, batch, windows, strict=True):
            weights = np.float32(1 - WHOLE) * rows.weights[row][:, None] * columns.weights[column]
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
