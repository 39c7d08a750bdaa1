"""What is said of one picture."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smokescope.inference.regions import Region, Verdict, find_regions
from smokescope.settings.verdicts import VerdictSettings


@dataclass(frozen=True, eq=False)
class Prediction:
    """Prediction for one picture: maps H x W of its own size, and regions and a verdict derived from them.

    Attributes:
        probability: Probability of smoke, float32 in [0, 1].
        mask: Pixels whose probability is above the model's threshold, bool.
        total: Total uncertainty, float32 in nats, up to ln 2.
        aleatoric: The part due to the picture: thin smoke, soft borders, blur.
        epistemic: The part due to the model: it has not seen the like.
        verdicts: Thresholds by which regions are judged.
    """

    probability: NDArray[np.float32]
    mask: NDArray[np.bool_]
    total: NDArray[np.float32]
    aleatoric: NDArray[np.float32]
    epistemic: NDArray[np.float32]
    verdicts: VerdictSettings = field(default_factory=VerdictSettings)

    @cached_property
    def regions(self) -> list[Region]:
        """Connected areas that may be smoke, the clearest first; computed at first access."""
        return find_regions(self.probability, self.total, self.aleatoric, self.epistemic, self.verdicts)

    @property
    def verdict(self) -> Verdict:
        """Verdict: "smoke" if a region is smoke, "unsure" if a person should look, or "nothing"."""
        return self.regions[0].verdict if self.regions else "nothing"  # smoke comes first

    @property
    def share(self) -> float:
        """Share of the picture that the mask covers, in [0, 1]."""
        return float(self.mask.mean())

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON: everything but the maps, of which only the means over the picture."""
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
