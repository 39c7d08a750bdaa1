"""The page of `smokescope train`: what a model was trained on, how it went, and what came of it."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from smokescope.data.files import write_atomically
from smokescope.data.json_files import read_json
from smokescope.data.pictures import encode_jpeg, read_picture
from smokescope.errors import SmokescopeError
from smokescope.report.page import charts, encode_page, page, picture_address, section, table
from smokescope.report.results import QUANTITIES
from smokescope.report.run_curves import draw_curves
from smokescope.report.run_figures import (
    MISSING,
    chance_table,
    empty_epistemic,
    figure,
    figures_table,
    idle_chance,
    reliability_charts,
)
from smokescope.report.run_samples import last_samples
from smokescope.training.run_folder import RunFolder
from smokescope.training.settings import TrainingSettings
from smokescope.training.yaml import to_yaml

_DASHED = (
    "On the dashed line a model is perfectly calibrated: of all pixels that it gives 80 %, 80 in 100 "
    "come true. Below it, less comes true than it says. Bars show how the pixels are spread over the "
    "probabilities."
)
_UNMEASURED = (
    "Not measured: no pictures were kept from training (--folds). smokescope evaluate measures it on others."
)
_MEASURED = (
    "On pictures kept apart from training, at the size that they are kept at for it, at most {side} pixels "
    "long, and without tiles. smokescope evaluate measures as a model is used, at the size of the masks and "
    "with tiles, and so finds other figures."
)
_VALIDATION = (
    "On pictures kept apart from training. The last point of a finished run is the model that is shipped, "
    "its temperature fitted to these same pictures, if they have smoke and the settings give none."
)
_CHANCE = (
    "Epistemic uncertainty is how far predictions differ when z and dropout are drawn anew. A latent_share "
    "or dropout_share near 0 means that the network has learned to pass over that source of chance; with "
    "both near 0 the epistemic map is empty, whatever it looks like."
)
_MAPS = (
    "Total and aleatoric uncertainty are shown up to ln 2 = 0.69 nats, that of a tossed coin; epistemic only "
    f"up to {QUANTITIES['epistemic'].top:g}, being seldom more. Aleatoric uncertainty is the picture's, as "
    "at soft borders; epistemic is the model's, of what it has not learned."
)
_SHEET = (
    "Pictures, the smoke as people marked it outlined, each beside its maps of the probability of smoke and "
    "of total, aleatoric and epistemic uncertainty"
)
_READABLE = "80rem"  # of a sheet; its words are then 11 pixels high, and a phone shows one map at a time
_UNET = "A plain U-Net has neither latent variable nor dropout, and so no epistemic uncertainty."
_WARNING = "border-left: .3rem solid #d03010; padding: .3rem .8rem; color: inherit; font-weight: 600"


def write_run_page(run: RunFolder) -> Path:
    """Write `report.html` into a run's folder: one file that asks for nothing from outside.

    What a run does not have, or not yet, is said to be not measured.

    Raises:
        SmokescopeError: The folder holds no run, a file in it is damaged, or the page cannot be written.
    """
    name = run.path.resolve().name
    settings, figures, history = run.settings(), _read_figures(run), list(run.history())
    curves = draw_curves(history, settings.objective.free_nats * settings.model.latent)
    last = max((figure(entry, "step") or 0 for entry in history), default=0)
    finished = run.figures_file.exists()
    state = "finished after" if finished else "not finished: running still, or stopped, at"
    measured = _MEASURED.format(side=settings.side)
    validations = [entry for entry in history if "validation" in entry]
    if validations and not finished:
        figures = validations[-1]
        measured += f" Of step {figure(figures, 'step') or 0:.0f}, not of a finished model."
    result = [
        figures_table(figures, measured),
        _epistemic(figures, settings),
        _charts("Calibration", reliability_charts(figures, name), _DASHED),
        _samples(run),
        _charts("Validation", curves.validation, _VALIDATION),
    ]
    if finished and "validation" not in figures:
        result = [section("Result", _UNMEASURED), _epistemic(figures, settings)]
    training = _charts("Training", curves.training, _training_words(settings))
    sections = [_sources(settings), *result, training, _settings(settings)]
    target = run.path / "report.html"
    words = f"A training run, {state} step {last:.0f}."
    whole = page(name, "train", words, sections)
    write_atomically(target, encode_page(whole))
    return target


def _read_figures(run: RunFolder) -> Mapping[str, object]:
    if not run.figures_file.exists():
        return {}
    try:
        figures = read_json(run.figures_file)
    except ValueError as error:
        raise SmokescopeError(f"{run.figures_file} is damaged: {error}") from None
    return figures if isinstance(figures, dict) else {}


def _sources(settings: TrainingSettings) -> str:
    head = ("kind", _left("folder"), "weight", _left("names"))
    rows = [
        (
            source.kind,
            _left(escape(source.folder)),
            f"{source.weight:g}",
            _left(f"<code>{escape(source.names)}</code>"),
        )
        for source in settings.data
    ]
    words = (
        "Weight is how often each picture of a source is seen in an epoch; names is which of them are taken."
    )
    return table("Trained on", head, rows, words)


def _epistemic(figures: Mapping[str, object], settings: TrainingSettings) -> str:
    title = "Is the epistemic uncertainty more than empty?"
    if settings.model.architecture == "unet":
        return section(title, _UNET)
    if figure(figures, "latent/kl") is None:
        return section(title, f"{MISSING.capitalize()}. {_CHANCE}")
    reasons = empty_epistemic(figures)
    said = f"No, do not trust it: {' '.join(reasons)}"
    if not reasons:
        said = " ".join(["Yes: chance moves the predictions.", *idle_chance(figures)])
    style = f' role="alert" style="{_WARNING}"' if reasons else ""
    shown = "kept apart from training" if "validation" in figures else "trained on, as none were kept apart"
    words = f"{_CHANCE} Measured on up to four pictures {shown}."
    return chance_table(title, figures, words) + f"<p{style}>{escape(said)}</p>"


def _samples(run: RunFolder) -> str:
    last = last_samples(run)
    if last is None:
        return section("Samples", f"{MISSING.capitalize()}.")
    step, path = last
    address = picture_address("jpeg", encode_jpeg(read_picture(path)))
    image = f'<img alt="{_SHEET}" style="min-width: {_READABLE}" src="{address}">'
    words = f"At step {step}, pictures kept apart from training. {_MAPS}"
    return section("Samples", words, f'<div class="scroll">{image}</div>')


def _training_words(settings: TrainingSettings) -> str:
    words = (
        "A point is one batch's loss, or a mean of neighbours in a long run. The terms are not weighted yet."
    )
    free, latent = settings.objective.free_nats, settings.model.latent
    if free and settings.model.architecture == "smoke-bvm":
        words += (
            f" Up to {free:g} nats in each of z's {latent} dimensions cost nothing, and count as that much: "
            f"the KL term does not fall below {free * latent:g}, however little z holds."
        )
    alone = settings.uncertainty_steps if settings.model.architecture == "smoke-bvm" else 0
    if alone:
        words += f" The last {alone} steps fit the uncertainty net alone, and show in its own loss only."
    return words


def _settings(settings: TrainingSettings) -> str:
    s, o, w = settings, settings.optimiser, settings.objective
    rows = {
        "Network": f"{s.model.architecture}, sees {s.input.height} × {s.input.width} pixels ({s.input.fit})",
        "Length": f"{s.epochs} epochs, in batches of {s.batch} pictures of {s.size[0]} × {s.size[1]}",
        "Learning rate": f"{o.learning_rate:g}, {o.schedule}; of the encoder × {o.encoder_factor:g}",
        "Weights of the terms": f"KL {w.kl:g} (above {w.free_nats:g} nats), transmission {w.transmission:g}, "
        f"entropy {w.entropy:g}, calibrated entropy {w.calibrated_entropy:g}",
        "Average of weights": f"decay {s.ema:g}" if s.ema else "none",
        "Precision": s.precision,
        "Seed": f"{s.seed}",
    }
    key = table("Settings", ("", ""), [(name, _left(escape(value))) for name, value in rows.items()])
    return f"{key}<details><summary>All settings</summary><pre>{escape(to_yaml(s).decode())}</pre></details>"


def _charts(title: str, drawings: Sequence[str], words: str) -> str:
    return charts(title, drawings, words) if drawings else section(title, f"{MISSING.capitalize()}.")


def _left(cell: str) -> str:
    """Words in a table read from the left; numbers, its rule, from the right."""
    return f'<div style="text-align: left">{cell}</div>'
