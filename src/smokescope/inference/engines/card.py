"""What an exported model says of itself: the metadata in an ONNX or OpenVINO file, written and read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from smokescope import __version__
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.draws import SampleSettings
from smokescope.settings.input import InputSettings
from smokescope.settings.plain import from_plain
from smokescope.settings.verdicts import VerdictSettings

LAYOUT = 1
"""Version of the layout of inputs, outputs and metadata; another number is another kind of file."""

INPUT = "pictures"
OUTPUTS = ("probability", "total", "aleatoric", "epistemic")


@dataclass(frozen=True)
class Card:
    """What is needed to use a model, besides its graph.

    Attributes:
        input: How the graph resizes pictures.
        temperature: That is inside the graph.
        threshold: Above which a probability is called smoke.
        verdicts: By which regions are judged.
        sha256: Checksum of the weights that were exported.
        samples: What a graph that samples is fed with; None for one that predicts.
        metadata: All that the file says, these and others.
    """

    input: InputSettings
    temperature: float
    threshold: float
    verdicts: VerdictSettings
    sha256: str
    samples: SampleSettings | None
    metadata: Mapping[str, str]


def read_card(metadata: Mapping[str, str], path: Path) -> Card:
    """Understand a file's metadata.

    Raises:
        SmokescopeError: The file is not of smokescope's making, or of another version of it.
    """
    layout = metadata.get("layout")
    if metadata.get("class") != "smoke" or layout is None:
        raise SmokescopeError(f"{path} is not a model exported by smokescope: its metadata does not say so")
    writer = metadata.get("smokescope", "of unknown version")
    if layout != str(LAYOUT):
        raise SmokescopeError(
            f"{path} was exported by smokescope {writer} in a layout that {__version__} does not know: "
            "export the model again, or use that version"
        )
    try:
        return Card(
            from_plain(InputSettings, json.loads(metadata["input"])),
            float(metadata["temperature"]),
            float(metadata["threshold"]),
            from_plain(VerdictSettings, json.loads(metadata["verdicts"])),
            metadata["sha256"],
            from_plain(SampleSettings, json.loads(told)) if (told := metadata.get("samples")) else None,
            dict(metadata),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SmokescopeError(
            f"{path} does not fit smokescope {__version__}: smokescope {writer} exported it, or it is damaged"
        ) from error
