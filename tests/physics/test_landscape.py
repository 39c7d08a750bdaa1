"""Made-up land: by its key alone, and land enough for smoke to stand on."""

import torch

from smokescope.chance import make_keys
from smokescope.physics.rendering.backdrop import survey
from smokescope.physics.rendering.landscape import draw_landscapes
from smokescope.physics.rendering.smoke import render_smoke

KEYS = make_keys(0, torch.arange(12))


def test_a_landscape_depends_on_its_key_alone() -> None:
    together = draw_landscapes(KEYS[:3], (60, 80))
    assert together.shape == (3, 3, 60, 80)
    assert together.min() >= 0
    assert together.max() <= 1
    torch.testing.assert_close(draw_landscapes(KEYS[1:2], (60, 80))[0], together[1])
    assert not torch.equal(together[0], together[1])


def test_it_has_a_skyline_and_texture_and_takes_smoke() -> None:
    pictures = draw_landscapes(KEYS, (120, 160))
    assert survey(pictures).visible.float().mean() > 0.5
    assert (pictures[..., 60:, :].std((-2, -1)) > 0.02).all()
    assert (render_smoke(pictures, KEYS).mask.sum((1, 2, 3)) > 0).sum() > 8
