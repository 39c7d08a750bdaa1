"""Small smoke in a large picture: overlapping tiles see the detail, a pass over all of it the context.

Each pixel is seen by the whole pass and by up to four tiles, with weights that sum to 1 and fade to nothing
at a tile's edge, so there are no seams. These views are taken as an ensemble, as Monte Carlo samples are:

    probability  p = sum of w p_v: a mean, which one overconfident view cannot veto as it could with logits
    aleatoric    sum of w U_a,v
    epistemic    sum of w U_e,v + H(p) - sum of w H(p_v): views that disagree are doubt of the model

The last term is at or above 0 by Jensen's inequality, and 0 where all views agree.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from smokescope.inference.tiles import BATCH, WHOLE, place, tile_size
from smokescope.settings.input import InputSettings
from smokescope.uncertainty import LN2, Decomposition, entropy_of_probability

Predict = Callable[[Tensor], Decomposition]


def predict_tiled(
    predict: Predict, picture: Tensor, settings: InputSettings, whole: float = WHOLE
) -> Decomposition:
    """Predict a picture whole and in tiles.

    Memory is that of the whole pass, of one batch of tiles, and of four maps.

    Args:
        predict: The plain pass: pictures [N, 3, h, w] to maps [N, 1, h, w].
        picture: [3, H, W].
        settings: Of the model, which say how large a tile is.
        whole: Weight of the whole pass, in [0, 1].

    Returns:
        Maps [1, 1, H, W]; those of the plain pass if one tile covers all.
    """
    height, width = picture.shape[-2:]
    rows, columns = map(place, (height, width), tile_size(settings))
    context = predict(picture[None])
    places = [(row, column) for row in range(len(rows.starts)) for column in range(len(columns.starts))]
    if len(places) == 1:
        return context
    sums = whole * _as_view(context)[0]
    down, across = (torch.from_numpy(side.weights).to(sums) for side in (rows, columns))
    for first in range(0, len(places), BATCH):
        batch = places[first : first + BATCH]
        corners = [(rows.starts[row], columns.starts[column]) for row, column in batch]
        cuts = [picture[:, y : y + rows.length, x : x + columns.length] for y, x in corners]
        views = _as_view(predict(torch.stack(cuts)))
        for view, (row, column), (y, x) in zip(views, batch, corners, strict=True):
            window = (1 - whole) * torch.outer(down[row], across[column])
            sums[:, y : y + rows.length, x : x + columns.length] += window * view
    return _decomposed(sums)


def _as_view(maps: Decomposition) -> Tensor:
    """What is averaged over views: [N, 4, h, w]."""
    probability = maps.probability.float()
    return torch.cat([probability, entropy_of_probability(probability), maps.aleatoric, maps.epistemic], 1)


def _decomposed(sums: Tensor) -> Decomposition:
    probability, entropy, aleatoric, epistemic = sums.unsqueeze(1).unsqueeze(1).unbind(0)
    probability = probability.clamp(0, 1)  # weights sum to 1 but for rounding
    disagreement = (entropy_of_probability(probability) - entropy).clamp(min=0)
    total = (aleatoric + epistemic + disagreement).clamp(max=LN2)
    return Decomposition(probability, total, aleatoric, (total - aleatoric).clamp(min=0))
