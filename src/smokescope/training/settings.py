"""All that decides a training run, as data: one dataclass, read from YAML, overridden by name.

A configuration file may begin with `extends: NAME`, another file beside it, and say only what differs. The
names of the files that come with smokescope (`default`, `paper`, ...) stand for them.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Literal

from smokescope.data.augment import AugmentSettings
from smokescope.errors import SmokescopeError
from smokescope.losses.objective import ObjectiveSettings
from smokescope.models.settings import ModelSettings
from smokescope.settings.input import InputSettings
from smokescope.settings.plain import from_plain
from smokescope.settings.ranges import refuse_other_choices, refuse_outside, refuse_up_to_zero
from smokescope.training.yaml import naming, parse_yaml, read_yaml

Kind = Literal["pairs", "negatives", "cleared", "rendered", "transplanted", "lookalikes", "scribbles"]
Precision = Literal["32-true", "bf16-mixed"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A part of the data mix, one line of the configuration.

    Attributes:
        kind: pairs (pictures and masks), negatives (a folder of pictures without smoke), cleared (pairs whose
            smoke is painted over, as if there were none), rendered (smoke rendered over the pictures of a
            folder, masks united), transplanted (the smoke of pairs, put over others of them or over the
            mix's negatives and cleared pictures, masks united), lookalikes (fog, cloud, dust and glare
            rendered over pictures without smoke), or scribbles (pictures and strokes).
        folder: Folder of the source, below the data folder.
        weight: How often each of its pictures is seen in an epoch.
        names: Regular expression; only pictures whose whole name matches are taken.
        strokes: Folder of the scribble files (kind scribbles only), as `smokescope data scribble` writes it.
        whole: Whether to train on all of the folder, held-out pictures included: it shares no scene with the
            others.
        validated: Whether to validate on its held-out pictures; one in two lines counts if either does.
    """

    kind: Kind
    folder: str
    weight: float = 1.0
    names: str = ".*"
    strokes: str | None = None
    whole: bool = False
    validated: bool = True

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        refuse_outside(self, 0, math.inf, "weight")
        if (self.kind == "scribbles") != (self.strokes is not None):
            raise ValueError(
                "strokes (the folder of scribbles) is needed for kind scribbles, and for no other"
            )


@dataclass(frozen=True, kw_only=True)
class OptimiserSettings:
    """AdamW for the generative model, another for the uncertainty net; the defaults are the paper's.

    Attributes:
        learning_rate: Learning rate of the encoder, the inference net and the decoder.
        encoder_factor: Factor of the encoder's learning rate; 0 leaves the encoder as it is, its batch norm
            statistics too, and makes steps quicker.
        uncertainty_learning_rate: Learning rate of the uncertainty net.
        weight_decay: Weight decay; 0 makes AdamW Adam.
        schedule: Course of the learning rates: "step" multiplies them by `step_factor` after epoch
            `step_epoch`; "cosine" lets them fall to 0; "constant" leaves it to the average of weights (`ema`)
            to come to rest.
        step_epoch: Epoch after which "step" changes the rates.
        step_factor: Factor by which "step" changes the rates.
        warmup: Share of a stage over which the rates rise from 0.
        clip: Norm at which gradients are clipped; 0 for no clipping.
    """

    learning_rate: float = 2.5e-5
    encoder_factor: float = 1.0
    uncertainty_learning_rate: float = 1.5e-5
    weight_decay: float = 0.0
    schedule: Literal["step", "cosine", "constant"] = "step"
    step_epoch: int = 40
    step_factor: float = 0.8
    warmup: float = 0.0
    clip: float = 0.0

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        rates = ("learning_rate", "encoder_factor", "uncertainty_learning_rate", "weight_decay")
        refuse_outside(self, 0, math.inf, *rates, "step_epoch", "step_factor", "clip")
        refuse_outside(self, 0, 1, "warmup")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """A training run; the defaults are the paper's but for `augment` and `temperature`, which it has not.

    Attributes:
        data: Sources of the data mix.
        model: Settings of the network.
        input: How a picture is resized for the network, in training and after it.
        objective: Settings of the loss that is minimised.
        augment: Settings of the augmentation.
        optimiser: Settings of the optimiser.
        epochs: Passes over the mix; 0 leaves a trained model as it is, except for `uncertainty_steps`.
        batch: Pictures per step, over all devices together.
        size: Height and width of training pictures.
        side: Longest side at which pictures are kept in memory.
        samples: Number B of decoder predictions that make the uncertainty net's targets.
        uncertainty_steps: Steps of the second stage, which fits the uncertainty net to the averaged model.
        offset: Constant added to the logits after the first stage; below 0 masks are tighter.
        temperature: Temperature of the model; none to fit it on the held-out pictures. If none of these has
            smoke, it is that of the model that the run starts from, else 1.
        kl_warmup: Share of the first stage over which the weight of the KL divergence rises from 0.
        ema: Decay of the average of weights that is validated and shipped; 0 takes the last weights.
        freeze_batch_norm: Batch norm statistics that stay fixed: "none", those of the "encoder", or "all".
        precision: Number format of the network's passes.
        compile: Whether to compile the networks; pays on a GPU, in runs of more than a few minutes.
        seed: Random seed of everything.
        validate_every: Epochs between validations.
        validation_samples: Monte Carlo samples that the last validation compares the uncertainty maps with.
        save_every: Epochs between checkpoints.
    """

    data: tuple[Source, ...]
    model: ModelSettings = field(default_factory=ModelSettings)
    input: InputSettings = field(default_factory=InputSettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    augment: AugmentSettings = field(default_factory=AugmentSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    epochs: int = 50
    batch: int = 6
    size: tuple[int, int] = (480, 480)
    side: int = 640
    samples: int = 8
    uncertainty_steps: int = 0
    offset: float = 0.0
    temperature: float | None = None
    kl_warmup: float = 0.0
    ema: float = 0.0
    freeze_batch_norm: Literal["none", "encoder", "all"] = "none"
    precision: Precision = "32-true"
    compile: bool = False
    seed: int = 0
    validate_every: int = 1
    validation_samples: int = 50
    save_every: int = 1

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        refuse_outside(self, 1, math.inf, "batch", "side", "samples", "validate_every", "save_every")
        refuse_outside(self, 32, math.inf, "size")  # the encoder's largest stride
        refuse_outside(self, 0, math.inf, "epochs", "uncertainty_steps", "validation_samples", "ema")
        refuse_outside(self, 0, 2**63 - 1, "seed")
        refuse_outside(self, 0, 1, "kl_warmup")
        if self.temperature is not None:
            refuse_up_to_zero(self, "temperature")
        if self.ema >= 1:
            raise ValueError(f"ema must be a decay below 1, not {self.ema}")
        if not self.data:
            raise ValueError("data must name at least one source")
        kinds = {source.kind for source in self.data}
        if "scribbles" in kinds and len(kinds) > 1:
            raise ValueError("scribbles have their own loss and cannot be mixed with other kinds")
        whole, split = ({s.folder for s in self.data if s.whole is each} for each in (True, False))
        if both := sorted(whole & split):
            raise ValueError(
                f"{both[0]} has `whole: true` in one line only: held-out pictures would be trained on"
            )

    def fingerprint(self) -> str:
        """Checksum of all settings that affect the result: not of when it is validated and saved."""
        plain = asdict(replace(self, validate_every=1, save_every=1))
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def read_settings(config: str, overrides: Sequence[str] = ()) -> TrainingSettings:
    """Read a configuration: a file, or the name of one that comes with smokescope.

    Args:
        config: Path of a file, or name of a shipped configuration.
        overrides: Overrides "name.of.field=value", the value as in YAML.

    Raises:
        SmokescopeError: The file or a setting in it is wrong.
    """
    path = _find(config, Path())
    values = _read_file(path, [])
    for override in overrides:
        name, equals, text = override.partition("=")
        if not name or not equals:
            raise SmokescopeError(f"{override} is not NAME=VALUE")
        _put(values, name.split("."), parse_yaml(text, override))
    try:
        return from_plain(TrainingSettings, values)
    except ValueError as error:
        with naming(path):  # if that is wrong by itself; else what it was overridden with is
            from_plain(TrainingSettings, _read_file(path, []))
        raise SmokescopeError(str(error)) from None


def shipped_configurations() -> list[str]:
    """Names of the configurations that come with smokescope."""
    folder = resources.files("smokescope") / "configs"
    return sorted(
        entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")
    )


def _find(config: str, beside: Path, above: Sequence[Path] = ()) -> Path:
    """The file of a name: one in a folder, else one that comes with smokescope.

    Args:
        config: The name.
        beside: The folder.
        above: Files that extend each other, the last of which extends this one; it must be none of them.
    """
    found = [path for path in (beside / config, beside / f"{config}.yaml") if path.is_file()]
    for path in found:
        if path.resolve() not in above:
            return path
    if config in shipped_configurations():
        return Path(str(resources.files("smokescope") / "configs" / f"{config}.yaml"))
    if found:
        raise SmokescopeError(
            f"{above[-1]} extends {found[0]}, which extends it in turn: remove one `extends`"
        )
    if above:
        raise SmokescopeError(f"{above[-1]} extends {config}, which does not exist")
    known = ", ".join(shipped_configurations())
    raise SmokescopeError(f"there is no configuration {config}: name a file, or one of {known}")


def _read_file(path: Path, above: Sequence[Path]) -> dict[str, object]:
    """Names and values of a file, over those of the one that it extends; `above` are those that extend it."""
    values, chain = read_yaml(path), [*above, path.resolve()]
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise SmokescopeError(f"{path} extends {base!r}: it must be the name of a configuration")
    return _merge(_read_file(_find(base, path.parent, chain), chain), values)


def _merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Overlay names and values, deeply; lists are replaced whole."""
    merged = dict(base)
    for name, value in over.items():
        below = merged.get(name)
        merged[name] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _put(values: dict[str, object], names: Sequence[str], value: object) -> None:
    for name in names[:-1]:
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            raise SmokescopeError(f"{'.'.join(names)} cannot be set: {name} is not a group of settings")
        values = inner
    values[names[-1]] = value
