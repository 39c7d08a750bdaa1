"""What is said of one picture."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smokescope.inference.regions import Region, Verdict, find_regions
from smokescope.settings.verdicts import VerdictSettings


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is said of one picture: maps H x W, of its own size, and what they come to.

    Attributes:
        probability: Of smoke, float32 in [0, 1].
        mask: Where the probability is above the model's threshold, bool.
        total: All uncertainty, float32 in nats, up to ln 2.
        aleatoric: The part that lies in the picture: thin smoke, soft borders, blur.
        epistemic: The part that lies in the model: what it has not seen the like of.
        verdicts: By which regions are judged.
    """

    probability: NDArray[np.float32]
    mask: NDArray[np.bool_]
    total: NDArray[np.float32]
    aleatoric: NDArray[np.float32]
    epistemic: NDArray[np.float32]
    verdicts: VerdictSettings = field(default_factory=VerdictSettings)

    @cached_property
    def regions(self) -> list[Region]:
        """Connected areas that may be smoke, the plainest first; found when first asked for."""
        return find_regions(self.probability, self.total, self.aleatoric, self.epistemic, self.verdicts)

    @property
    def verdict(self) -> Verdict:
        """The picture's: "smoke" if a region is, "unsure" if a person should look, or "nothing"."""
        return self.regions[0].verdict if self.regions else "nothing"  # smoke comes first

    @property
    def share(self) -> float:
        """How much of the picture the mask covers, in [0, 1]."""
        return float(self.mask.mean())

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON: all but the maps, of which there are means over the picture."""
        height, width = self.probability.shape
        maps = {name: getattr(self, name) for name in ("probability", "total", "aleatoric", "epistemic")}
        return {
            "width": width,
            "height": height,
            "verdict": self.verdict,
            "share": round(self.share, 6),
            "mean": {name: round(float(values.mean(dtype=np.float64)), 6) for name, values in maps.items()},
            "regions": [region.to_dict() for region in self.regions],
        }
