"""How a run went: its log as lines over steps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from smokescope.report.axes import Axis, Scale, covering
from smokescope.report.charts import Series, line_chart, thin
from smokescope.report.colours import EPISTEMIC, PROBABILITY, TOTAL, TRANSMISSION, ColourMap
from smokescope.report.run_figures import figure

Points = list[tuple[float, float]]

_STEEP = 20.0  # a positive term whose values differ by more than this factor is shown logarithmically
_FEW = 40  # points up to which each is marked

_TERMS = {
    "structure": ("Structure loss", PROBABILITY),
    "kl": ("KL term, nats", EPISTEMIC),
    "transmission": ("Transmission loss", TRANSMISSION),
    "entropy": ("Entropy loss", TOTAL),
    "calibrated_entropy": ("Calibrated entropy loss", TOTAL),
    "consistency": ("Uncertainty net: off from sampling", TOTAL),
}


class Curves(NamedTuple):
    """Charts of a run, SVG."""

    training: list[str]
    validation: list[str]


def draw_curves(history: Iterable[Mapping[str, object]], least_kl: float = 0.0) -> Curves:
    """Draw all that a run's log holds; what it does not hold is not drawn.

    Args:
        history: The log.
        least_kl: Nats below which the KL term does not fall, however little z holds.
    """
    entries = list(history)
    # a finished run that was gone on with may have measured a step twice: the later one stands
    validations = {figure(entry, "step"): entry for entry in entries if "validation" in entry}
    training = _training([entry for entry in entries if "losses" in entry], least_kl)
    return Curves(training, _validation(list(validations.values())))


def _training(entries: Sequence[Mapping[str, object]], least_kl: float) -> list[str]:
    # the last stage's loss is the uncertainty net's alone, another quantity under the same name
    first = [e for e in entries if figure(e, "losses/structure") is not None] or entries
    loss = _points(first, "losses/loss")
    charts = [_chart("Loss", [Series("", loss)], "loss", steep=True)]
    names = dict.fromkeys(name for e in entries for name in _names(e) if name != "loss")
    for name in names:
        points = _points(entries, f"losses/{name}")
        if any(y for _, y in points) and points != loss:
            title, quantity = _TERMS.get(name, (name.replace("_", " ").capitalize(), PROBABILITY))
            if name == "kl" and least_kl:
                title += f" (at least {least_kl:g})"
            charts.append(_chart(title, [Series("", points, quantity)], "loss, unweighted", steep=True))
    rate = [(step, 1e6 * value) for step, value in _points(first, "rate")]
    charts.append(_chart("Learning rate", [Series("", rate)], "millionths"))
    speed = [Series("", _points(entries, "pictures_per_second"))]
    charts.append(_chart("Speed", speed, "pictures a second"))
    return [chart for chart in charts if chart]


def _validation(entries: Sequence[Mapping[str, object]]) -> list[str]:
    def line(name: str, path: str, quantity: ColourMap = PROBABILITY, dashed: bool = False) -> Series:
        return Series(name, _points(entries, f"validation/{path}"), quantity, dashed)

    charts = [
        _chart(
            "F-measure", [line("mean", "f_beta/mean"), line("max", "f_beta/max", TOTAL, True)], "F-measure"
        ),
        _chart("Mean squared error", [line("", "mse")], "error, a pixel"),
        _chart("Calibration error", [line("", "ece/image")], "error, a picture"),
        _chart(
            "Alarms at 0.5",
            [
                line("smoke found", "alarm/detection_rate"),
                line("false alarms", "alarm/false_alarm_rate", TOTAL, True),
            ],
            "share of pictures",
            Scale(0, 1),
        ),
    ]
    return [chart for chart in charts if chart]


def _chart(
    title: str, series: Sequence[Series], label: str, scale: Scale | None = None, *, steep: bool = False
) -> str:
    """Lines over steps; "" where there are none."""
    steps = [x for one in series for x, _ in one.points]
    if not steps:
        return ""
    shown = [
        one._replace(points=thin(one.points), marked=len(one.points) <= _FEW) for one in series if one.points
    ]
    values = [y for one in shown for _, y in one.points]
    log = steep and min(values) > 0 and max(values) > _STEEP * min(values)
    scale = scale or covering(values, log=log, zero=not log)
    return line_chart(title, shown, Axis("step", Scale(0, max(*steps, 1), whole=True)), Axis(label, scale))


def _points(entries: Iterable[Mapping[str, object]], path: str) -> Points:
    pairs = ((figure(entry, "step"), figure(entry, path)) for entry in entries)
    return [(step, value) for step, value in pairs if step is not None and value is not None]


def _names(entry: Mapping[str, object]) -> list[str]:
    losses = entry.get("losses")
    return [str(name) for name in losses] if isinstance(losses, Mapping) else []
