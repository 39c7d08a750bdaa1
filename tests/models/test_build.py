"""What is done to a network as a whole, whichever it is."""

import pytest
import torch

from smokescope.models.build import build_model, shift_logits
from smokescope.models.bvm import SmokeBVM
from smokescope.models.settings import DEFAULT, ModelSettings
from tests.models.small import TINY, shrunk


@pytest.mark.parametrize("settings", [shrunk(DEFAULT), TINY], ids=["bvm", "unet"])
def test_an_offset_is_added_to_every_logit_and_to_those_of_samples(settings: ModelSettings) -> None:
    torch.manual_seed(0)
    model = build_model(settings).eval()
    pictures, keys = torch.rand(2, 3, 64, 64), torch.arange(2)

    def answers() -> list[torch.Tensor]:
        drawn = [model.draw(model.encode(pictures), keys)] if isinstance(model, SmokeBVM) else []
        return [model(pictures).logits, *drawn]

    with torch.no_grad():
        before = answers()
        shift_logits(model, 1.5)
        shift_logits(model, -0.25)
        for old, new in zip(before, answers(), strict=True):
            torch.testing.assert_close(new, old + 1.25)
