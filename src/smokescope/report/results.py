"""What is kept of a picture's prediction: maps, mask and overlay as files, and a JSON that says the rest.

Maps are 8-bit grey PNG of the picture's size on fixed scales: 255 is a probability of 1, or ln 2 nats.
"""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.data.inputs import PictureFile
from smokescope.data.pictures import encode_jpeg, read_picture
from smokescope.data.records import Record, encode_record, read_record
from smokescope.errors import SmokescopeError
from smokescope.inference import Prediction
from smokescope.report.colours import ALEATORIC, EPISTEMIC, PROBABILITY, TOTAL, ColourMap
from smokescope.report.overlay import draw_overlay

LN2 = math.log(2)  # `uncertainty` has it too, and would load torch, which exported models do without

FORMAT = "smokescope prediction"
VIDEO_ENDINGS = (".mp4", ".jsonl", ".frame.jpg")  # of what a video gets besides


class Quantity(NamedTuple):
    """A kind of map."""

    title: str
    meaning: str
    colours: ColourMap
    top: float
    """What 255 stands for, and all above it."""

    def shares(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of such a map as shares of the top, in [0, 1]."""
        return np.clip(values / np.float32(self.top), 0, 1)


QUANTITIES = {
    "probability": Quantity("Probability", "probability of smoke", PROBABILITY, 1.0),
    "total": Quantity("Total", "nats of doubt in all; there cannot be more", TOTAL, LN2),
    "aleatoric": Quantity(
        "Aleatoric", "nats of doubt that lies in the picture: thin smoke, soft borders, blur", ALEATORIC, LN2
    ),
    "epistemic": Quantity(  # seldom more: on the others' scale nobody would see it
        "Epistemic",
        "nats or more of doubt that lies in the model: its samples would differ",
        EPISTEMIC,
        0.1,
    ),
}


ENDINGS = (*(f".{name}.png" for name in (*QUANTITIES, "mask")), ".overlay.jpg", ".json")


def possible_results(file: PictureFile, out: Path) -> list[Path]:
    """All that may be written of a picture or video."""
    return [file.result(out, ending) for ending in (*ENDINGS, *VIDEO_ENDINGS)]


def refuse_replacing(inputs: Sequence[PictureFile], out: Path) -> None:
    """Stop where results would take the place of what is still to be read.

    Raises:
        SmokescopeError: A result would have the name of an input.
    """
    taken = {file.path.resolve() for file in inputs}
    for file in inputs:
        for result in possible_results(file, out):
            if result.resolve() in taken:
                raise SmokescopeError(
                    f"{result} is an input, and a result of {file.path} would overwrite it: "
                    "name another output folder"
                )


def is_result(path: Path) -> bool:
    """Whether a file is what an earlier run wrote of a picture or video, as the JSON beside it says."""
    for ending in (*ENDINGS, *VIDEO_ENDINGS):
        if path.name.endswith(ending) and path.name != ending:
            beside = path.with_name(path.name.removesuffix(ending) + ".json")
            with suppress(SmokescopeError):  # a photograph and a video may have one name
                if "video" in read_record(beside, FORMAT).parts() or ending not in VIDEO_ENDINGS:
                    return True
    return False


def about_file(path: Path) -> dict[str, object]:
    """What is written of a picture or video: its name, by what it is known again, and when this was asked.

    Ask before it is read: if it is replaced meanwhile, its results are known to be of another.

    Raises:
        SmokescopeError: It cannot be read.
    """
    with open_input(path) as stream:
        version = _version(os.fstat(stream.fileno()))
    return {"file": str(path), **version, "made": datetime.now(UTC).isoformat(timespec="seconds")}


def is_unchanged(path: Path, record: Record) -> bool:
    """Whether a picture or video still is what a result was made of."""
    try:
        return all(record.take(key).value == value for key, value in _version(path.stat()).items())
    except (SmokescopeError, OSError):
        return False


def _version(status: os.stat_result) -> dict[str, object]:
    """A file's size, and when it was changed last: a camera's picture is replaced under its name."""
    changed = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=status.st_mtime_ns // 1000)
    return {"bytes": status.st_size, "changed": changed.isoformat(timespec="microseconds")}


def encode_results(
    picture: NDArray[np.uint8], prediction: Prediction, about: Mapping[str, object]
) -> dict[str, bytes]:
    """The files of one prediction, by the ending of their name; the JSON comes last.

    Args:
        picture: H x W x 3.
        prediction: What was found in it.
        about: What the JSON says besides: the file, the model.
    """
    files = {
        f".{name}.png": encode_grey(kind.shares(getattr(prediction, name)))
        for name, kind in QUANTITIES.items()
    }
    return {
        **files,
        ".mask.png": encode_grey(prediction.mask.astype(np.float32)),
        ".overlay.jpg": encode_jpeg(draw_overlay(picture, prediction)),
        ".json": encode_record(FORMAT, {**about, **prediction.to_dict()}),
    }


class Result(NamedTuple):
    """A prediction as its files tell it."""

    file: PictureFile
    record: Record
    """The JSON."""


def read_result(file: PictureFile, out: Path) -> Result:
    """Read what was written of a picture or video.

    Raises:
        SmokescopeError: The JSON is missing or damaged.
    """
    return Result(file, read_record(file.result(out, ".json"), FORMAT))


def is_done(
    file: PictureFile, out: Path, about: Mapping[str, object], endings: Sequence[str] = ENDINGS
) -> bool:
    """Whether results are there, all of these, of this very file as it is now, and made in the same way."""
    try:
        _, record = read_result(file, out)
        same = all(record.take(key).value == value for key, value in about.items())
        same &= Path(record.take("file").read(str)).resolve() == file.path.resolve()  # however it was named
    except (SmokescopeError, OSError):
        return False
    return (
        same
        and is_unchanged(file.path, record)
        and all(file.result(out, ending).is_file() for ending in endings)
    )


def read_map(file: PictureFile, out: Path, name: str) -> NDArray[np.uint8]:
    """A map as it was written, H x W.

    Raises:
        SmokescopeError: It cannot be read.
    """
    return read_picture(file.result(out, f".{name}.png"))[..., 0]


def encode_grey(values: NDArray[np.float32]) -> bytes:
    """Values H x W in [0, 1] as a PNG. OpenCV's is several times as fast as Pillow's, at nearly the size."""
    pixels = np.rint(values * 255).astype(np.uint8)
    _, data = cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    return data.tobytes()
