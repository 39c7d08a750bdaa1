"""The endings by which exported models' files are known."""

from pathlib import Path

from smokescope.settings.choices import Format

ENDINGS: dict[Format, str] = {"onnx": ".onnx", "openvino": ".xml"}


def format_of(model: Path | None) -> Format | None:
    """The format of an exported model's file; None if it is no such file, or None, the embedded model."""
    ending = None if model is None else model.suffix.lower()
    return next((format for format, known in ENDINGS.items() if known == ending), None)


def files_of(model: Path | None) -> list[Path]:
    """A model's file, and an OpenVINO graph's weights beside it; none for None, the embedded model."""
    if model is None:
        return []
    return [model, model.with_suffix(".bin")] if format_of(model) == "openvino" else [model]
