"""A model file again with other thresholds, another input size, or smaller: its network stays what it is."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import load_model, save_model
from smokescope.data.json_files import read_json
from smokescope.errors import SmokescopeError
from smokescope.models.pipeline import Pipeline
from smokescope.settings.input import InputSettings
from smokescope.settings.plain import from_plain
from smokescope.settings.verdicts import VerdictSettings

VERDICTS = tuple(f"verdicts.{each.name}" for each in fields(VerdictSettings))
FIGURES = {"images", "negatives", "alarm"}  # some of what evaluate writes, whatever it measured on
Group = TypeVar("Group", InputSettings, VerdictSettings)
CHANGEABLE = ("input.height", "input.width", "temperature", "threshold", *VERDICTS)


def rewrite_model(
    source: Path,
    target: Path,
    changes: Mapping[str, float],
    *,
    int8: bool = False,
    figures: Path | None = None,
) -> None:
    """Write a model to another file; what the file says of its making stays with it.

    Args:
        source: A model of smokescope's.
        target: The safetensors file to write.
        changes: New values by name, of those in `CHANGEABLE`.
        int8: Store weights in 8 bits; those that are already stay so.
        figures: A JSON file of what was measured, for the model to say of itself instead of what it said.

    Raises:
        SmokescopeError: The source is no model, a name or value is wrong, or the target cannot be written.
    """
    if unknown := sorted(set(changes) - set(CHANGEABLE)):
        raise SmokescopeError(f"{unknown[0]} cannot be set: choose from {', '.join(CHANGEABLE)}")
    notes = summarise(source).metadata
    if figures is not None:
        notes["figures"] = json.dumps(_read_figures(figures))
    eight = int8 or notes.get("weights", "").startswith("int8")
    try:
        save_model(_changed(load_model(source), changes), target, notes, int8=eight)
    except ValueError as error:
        raise SmokescopeError(f"{source} cannot be rewritten with these values: {error}") from error


def _read_figures(path: Path) -> dict[str, object]:
    try:
        found = read_json(path)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= FIGURES:
        raise SmokescopeError(f"{path} holds no figures: make such a file with `smokescope evaluate --json`")
    return found


def _changed(pipeline: Pipeline, changes: Mapping[str, float]) -> Pipeline:
    return Pipeline(
        pipeline.network,
        _with(pipeline.input, "input", changes),
        changes.get("temperature", pipeline.temperature),
        changes.get("threshold", pipeline.threshold),
        _with(pipeline.verdicts, "verdicts", changes),
    )


def _with(settings: Group, group: str, changes: Mapping[str, float]) -> Group:
    """Settings of a group, with those of the changes that are its own."""
    own = {
        name.removeprefix(f"{group}."): int(value) if float(value).is_integer() else value
        for name, value in changes.items()
        if name.startswith(f"{group}.")
    }
    return from_plain(type(settings), asdict(settings) | own, group)
