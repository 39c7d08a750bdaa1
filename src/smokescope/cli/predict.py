"""`smokescope predict`: masks, uncertainty maps, overlays and a page, of pictures and videos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope import __version__
from smokescope.cli.console import Outcome, complain, progress_bar, work_through
from smokescope.cli.devices import DEVICE_HELP, enough_memory
from smokescope.cli.engines import EngineOption, load_segmenter, shown
from smokescope.errors import SmokescopeError
from smokescope.settings.choices import Tiles

if TYPE_CHECKING:
    from smokescope.data.inputs import PictureFile
    from smokescope.data.pairs import Progress
    from smokescope.inference import Segmenter

    Annotate = Callable[[PictureFile, Path, Segmenter, int, Mapping[str, object], Progress], None]


def predict(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="PICTURE", help="Pictures, videos, folders of them, or glob patterns."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results; created if missing.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file; default: the embedded model.")
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
    engine: EngineOption = None,
    tiles: Annotated[
        Tiles, typer.Option(help="Also analyse large pictures in tiles, to find small smoke.")
    ] = "auto",
    every: Annotated[int, typer.Option(min=1, help="In videos, analyse every N-th frame only.")] = 1,
    coco: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all regions to this file in COCO format.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip inputs that an earlier run has finished.")
    ] = False,
) -> None:
    """Find smoke in pictures and videos.

    Each input NAME gets NAME.probability.png, NAME.mask.png, NAME.total.png, NAME.aleatoric.png and
    NAME.epistemic.png (8-bit grey; 255 is 1 in the first two, ln 2 nats in the next two, and 0.1 nats or more
    in the last), NAME.overlay.jpg and NAME.json; a video also gets NAME.mp4 and NAME.jsonl. report.html shows
    all of them. See docs/predict.md.
    """
    from smokescope.data.files import try_file, try_folder, write_together
    from smokescope.data.inputs import VIDEO_SUFFIXES, collect_pictures
    from smokescope.data.pictures import SUFFIXES, read_picture
    from smokescope.inference.engines.formats import files_of
    from smokescope.report.results import (
        ENDINGS,
        VIDEO_ENDINGS,
        about_file,
        encode_results,
        is_done,
        is_result,
        possible_results,
        refuse_replacing,
    )

    found = collect_pictures(inputs, out, SUFFIXES | VIDEO_SUFFIXES, is_result)
    refuse_replacing(found.pictures, out)
    segmenter = load_segmenter(model, device, engine, tiles)
    identity = _identity(model, segmenter)
    thresholds = {"mask": segmenter.threshold, **asdict(segmenter.verdicts)}
    about = {"smokescope": __version__, "model": identity, "thresholds": thresholds, "tiles": tiles}
    try_folder(out)
    if coco:
        results = (result for file in found.pictures for result in (file.path, *possible_results(file, out)))
        try_file(coco, [*files_of(model), out / "report.html", *results])
    done: list[PictureFile] = []

    def predict_picture(file: PictureFile) -> None:
        if not (resume and is_done(file, out, about)):
            own = {**about, **about_file(file.path)}
            with enough_memory(file.path):
                picture = read_picture(file.path)
                results = encode_results(picture, segmenter(picture), own)
            write_together({file.result(out, ending): data for ending, data in results.items()})
        done.append(file)

    def predict_video(file: PictureFile) -> None:
        made = {**about, "every": every}
        if not (resume and is_done(file, out, made, (*ENDINGS, *VIDEO_ENDINGS))):
            annotate_video = _annotate_video(file.path)
            with enough_memory(file.path), progress_bar(file.path.name) as show:
                annotate_video(file, out, segmenter, every, {**made, **about_file(file.path)}, show)
        done.append(file)

    videos = [file for file in found.pictures if file.path.suffix.lower() in VIDEO_SUFFIXES]
    pictures = [file for file in found.pictures if file not in videos]
    try:
        errors = [*work_through(pictures, predict_picture, label="predict", problems=found.problems).errors]
        for video in videos:  # one by one, as each shows its frames
            try:
                predict_video(video)
            except SmokescopeError as error:
                complain(error)
                errors.append(error.sentence)
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C or SIGTERM
        typer.echo(f"stopped after {len(done)} of {len(found.pictures)}: --resume goes on", err=True)
        raise
    outcome = _report(done, errors, out, coco, f"by {identity['name']}, smokescope {__version__}")
    if outcome.done:
        counted = f"{outcome.done} of {outcome.done + outcome.failed} are done"
        typer.echo(f"{counted} by {shown(segmenter)}: open {out / 'report.html'}")
    raise typer.Exit(outcome.exit_code)


def _identity(model: Path | None, segmenter: Segmenter) -> dict[str, str]:
    """A model's name, the checksum of its weights as its file has it, and that of the file."""
    from smokescope.inference.identity import file_checksum, weights_checksum

    return {
        "name": "the embedded model" if model is None else model.name,
        "sha256": weights_checksum(segmenter.engine, model) or "",
        "file_sha256": file_checksum(model),  # of thresholds too, by which `--resume` knows other answers
    }


def _annotate_video(path: Path) -> Annotate:
    """What works on videos, if it is there.

    Raises:
        SmokescopeError: PyAV is not installed.
    """
    try:
        from smokescope.report.annotate import annotate_video
    except ImportError:
        raise SmokescopeError(
            f"{path} is a video, and reading it needs PyAV: pip install 'smokescope[video]'"
        ) from None
    return annotate_video


def _report(
    done: Sequence[PictureFile], errors: Sequence[str], out: Path, coco: Path | None, words: str
) -> Outcome:
    """Write the page, and COCO's file; results that have gone meanwhile are told and left out.

    Where nothing could be done, only an older page is replaced: it would look as if all were well.
    """
    from datetime import datetime

    from smokescope.data.files import write_together
    from smokescope.report.coco import encode_coco
    from smokescope.report.page import encode_page
    from smokescope.report.predict_page import picture_side, predict_page
    from smokescope.report.predict_row import Row, picture_row
    from smokescope.report.results import Result, read_result

    results, rows, side = list[Result](), list[Row](), picture_side(len(done))

    def add(file: PictureFile) -> None:
        result = read_result(file, out)
        rows.append(picture_row(result, out, side))
        results.append(result)

    lost = work_through(done, add, label="report")
    errors, target = [*errors, *lost.errors], out / "report.html"
    if results or target.exists():
        words = f"Made {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}, {words}"
        page = predict_page(rows, words, errors)
        regions = {coco: encode_coco(results, out)} if coco and results else {}
        write_together({target: encode_page(page), **regions})
    return Outcome(lost.done, errors)
