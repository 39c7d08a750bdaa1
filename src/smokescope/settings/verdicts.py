"""When to say "smoke", when to hand a picture to a person, and when to stay silent."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """Thresholds of the verdict on a region; `benchmarks/verdicts.py` measures what they do.

    Attributes:
        unsure_above: Probability above which connected pixels are a region, and worth a person's look.
        smoke_above: Probability that `least_area` of a region must exceed for the region to be smoke.
        epistemic_above: Epistemic uncertainty of just that part, in nats, above which the region is still
            unsure: the model has not seen the like.
        least_area: Share of the picture below which a region is ignored; 0.02 % as for an alarm.
    """

    unsure_above: float = 0.25
    smoke_above: float = 0.5
    epistemic_above: float = 0.2
    least_area: float = 0.0002

    def __post_init__(self) -> None:
        if not 0 <= self.unsure_above <= self.smoke_above <= 1:
            raise ValueError(
                "unsure_above and smoke_above must be in [0, 1], the first not above the second, "
                f"not {self.unsure_above} and {self.smoke_above}"
            )
        if not self.epistemic_above >= 0:
            raise ValueError(f"epistemic_above must be 0 or more, not {self.epistemic_above}")
        if not 0 <= self.least_area <= 1:
            raise ValueError(f"least_area must be a share of the picture, in [0, 1], not {self.least_area}")
