"""A video with what was found in it drawn over each frame, and a line of JSON for each frame looked at."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from smokescope.data.files import make_folder, remove_empty, waiting_name, write_together
from smokescope.data.inputs import PictureFile
from smokescope.data.pairs import Progress
from smokescope.data.pictures import encode_jpeg
from smokescope.data.videos import Frame, open_video, write_video
from smokescope.errors import SmokescopeError
from smokescope.inference import Prediction, Region, Segmenter
from smokescope.report.overlay import draw_regions
from smokescope.report.results import encode_results

RANK = {"smoke": 2, "unsure": 1, "nothing": 0}


def annotate_video(
    file: PictureFile,
    out: Path,
    segmenter: Segmenter,
    every: int,
    about: Mapping[str, object],
    progress: Progress,
) -> None:
    """Write NAME.mp4, NAME.jsonl, and the results of the frame that tells most, as of a picture.

    Args:
        file: The video.
        out: The folder for the results.
        segmenter: The model.
        every: Look at each such frame; those between keep what was found in the last.
        about: What the JSON says besides.
        progress: Told how many frames are done, and of how many as far as is known.

    Raises:
        SmokescopeError: The video cannot be read or the results cannot be written; none is left then.
    """
    final = file.result(out, ".mp4")
    if final.is_dir():
        raise SmokescopeError(f"{final} cannot be written: a folder has that name")
    made, waiting = make_folder(final.parent), waiting_name(final)
    try:
        files = _look(file, waiting, segmenter, every, about, progress)
        write_together({final: waiting, **{file.result(out, ending): data for ending, data in files.items()}})
    except BaseException:  # Ctrl-C leaves nothing behind either
        with suppress(OSError):
            waiting.unlink(missing_ok=True)
        remove_empty(made)
        raise


def _look(
    file: PictureFile,
    waiting: Path,
    segmenter: Segmenter,
    every: int,
    about: Mapping[str, object],
    progress: Progress,
) -> dict[str, bytes]:
    """Write the video under a waiting name; the other files by their ending."""
    lines, verdicts, regions = list[str](), Counter[str](), list[Region]()
    telling: tuple[Frame, Prediction] | None = None
    with open_video(file.path) as video, write_video(waiting, video.rate) as writer:
        for frame in video:
            if frame.number % every == 0:
                prediction = segmenter(frame.pixels)
                regions = prediction.regions
                verdicts[prediction.verdict] += 1
                lines.append(_line(frame, prediction))
                if telling is None or _weight(prediction) > _weight(telling[1]):
                    telling = frame, prediction
            writer.add(draw_regions(frame.pixels, regions), frame.seconds)
            progress(frame.number + 1, max(video.count, frame.number + 1))
    if telling is None:
        raise SmokescopeError(f"{file.path} holds no frames")
    frame, prediction = telling
    told = {
        "frame": frame.number,
        "seconds": frame.seconds,
        "looked_at": verdicts.total(),
        **{verdict: verdicts[verdict] for verdict in RANK},
    }
    return {
        ".jsonl": "".join(lines).encode(),
        ".frame.jpg": encode_jpeg(frame.pixels),
        **encode_results(frame.pixels, prediction, {**about, "video": told}),
    }


def _line(frame: Frame, prediction: Prediction) -> str:
    told = {"frame": frame.number, "seconds": round(frame.seconds, 3), **prediction.to_dict()}
    return json.dumps(told, separators=(",", ":")) + "\n"


def _weight(prediction: Prediction) -> tuple[int, float]:
    """How much a frame tells: its verdict, then the pixels of smoke to expect, or how near it comes."""
    evidence = sum(region.area * region.probability for region in prediction.regions)
    return RANK[prediction.verdict], evidence or float(prediction.probability.max())
