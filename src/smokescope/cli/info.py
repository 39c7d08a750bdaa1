"""`smokescope info`: versions, devices, what is embedded, and what a weights file says of itself."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope import __version__
from smokescope.cli.console import printable

if TYPE_CHECKING:
    from smokescope.settings.choices import Format

PACKAGES = ("torch", "numpy", "pillow", "safetensors", "torchmetrics", "opencv-python-headless")

Section = dict[str, str | int | list[str] | dict[str, str]]


def info(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Also describe this model file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show versions, devices and model weights."""
    sections: dict[str, Section] = {
        "versions": _versions(),
        "devices": _devices(),
        "embedded": _embedded(),
    }
    if file is not None:
        sections["file"] = _describe(file)
    typer.echo(json.dumps(sections, indent=2) if as_json else _as_table(sections))


def _versions() -> Section:
    versions: Section = {"smokescope": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # another distribution of the same library
            versions[package] = "unknown"
    return versions


def _devices() -> Section:
    import torch

    from smokescope.inference.devices import devices

    found: Section = {}
    for name in devices():
        if name.startswith("cuda"):
            found[name] = torch.cuda.get_device_name(name)
        elif name == "mps":
            found[name] = "Apple GPU"
        else:
            found[name] = f"{platform.machine()}, {torch.get_num_threads()} threads"
    return found


def _embedded() -> Section:
    from smokescope.checkpoints.embedded import embedded_weights, model_file

    if embedded_weights() is None:
        return {"weights": "none in this build"}
    with model_file(None) as path:
        return _describe(path)


def _describe(file: Path) -> Section:
    from smokescope.checkpoints.files import summarise
    from smokescope.inference.engines.formats import format_of

    if format := format_of(file):
        return _describe_exported(file, format)
    summary = summarise(file)
    return {
        "path": str(file),
        "bytes": summary.bytes,
        "tensors": summary.tensors,
        "parameters": summary.parameters,
        "dtypes": summary.dtypes,
        "metadata": summary.metadata,
    }


def _describe_exported(file: Path, format: "Format") -> Section:
    from smokescope.inference.engines.exported import ExportedEngine
    from smokescope.inference.engines.formats import files_of
    from smokescope.inference.segmenter import load_engine

    engine = load_engine(file, "cpu")
    metadata = dict(engine.card.metadata) if isinstance(engine, ExportedEngine) else {}
    size = sum(each.stat().st_size for each in files_of(file))
    return {"path": str(file), "bytes": size, "metadata": metadata}


def _as_table(sections: dict[str, Section]) -> str:
    width = max(len(key) for section in sections.values() for key in section)
    blocks = []
    for title, section in sections.items():
        lines = [title]
        for key, value in section.items():
            first, *rest = _as_lines(value) or ["none"]
            lines += [f"  {key:<{width}}  {first}", *(f"  {'':<{width}}  {line}" for line in rest)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _as_lines(value: str | int | list[str] | dict[str, str]) -> list[str]:
    match value:
        case int():
            return [f"{value:,}"]
        case list():
            return [", ".join(value)]
        case dict():
            return [printable(f"{key}: {text}") for key, text in value.items()]
        case str():
            return [printable(value)]
