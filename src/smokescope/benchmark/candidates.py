"""What there is to measure: every engine that is installed and runs a model."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from smokescope.benchmark.measure import Candidate
from smokescope.benchmark.worker import Task
from smokescope.errors import SmokescopeError
from smokescope.export.cache import load_exported
from smokescope.export.choice import installed
from smokescope.inference.devices import devices, has_gpu
from smokescope.inference.engines.formats import format_of
from smokescope.inference.engines.onnx import OnnxEngine
from smokescope.inference.engines.openvino import OpenVinoEngine
from smokescope.inference.segmenter import load_engine
from smokescope.settings.choices import Format

NAMES: dict[Format, str] = {"onnx": OnnxEngine.name, "openvino": OpenVinoEngine.name}


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What to measure besides a model's engines.

    Attributes:
        also: Exported files.
        compiled: PyTorch with a compiled model, which takes it a minute.
        int8: A folder for the model in 8 bits, which takes minutes to make; None is without.
    """

    also: Sequence[Path] = ()
    compiled: bool = False
    int8: Path | None = None


def list_candidates(
    task: Task, extras: Extras, complain: Callable[[SmokescopeError], None]
) -> list[Candidate]:
    """Every engine for a safetensors model; for an exported one, the engine that it was made for.

    A model is exported for the engines that need it, where that was not done before.

    Args:
        task: The model, and the size of pictures.
        extras: What else to measure; an exported model has no other forms.
        complain: Told of an engine that cannot take the model; the others go on.

    Raises:
        SmokescopeError: The model is no good, has no such forms, or a file to measure beside it is not an
            exported one.
    """
    if format_of(_path(task)) and (extras.compiled or extras.int8):
        raise SmokescopeError(
            f"{task.model} is an exported model, to be measured as it is: --compiled and --int8 need "
            "the safetensors model"
        )
    beside = [_file(replace(task, model=str(each)), f", {each}") for each in dict.fromkeys(extras.also)]
    for each in (_path(task), *extras.also):
        load_engine(each, "cpu")  # what is no good is refused here, and not by one engine after the other
    if format_of(_path(task)):
        return [_file(task), *beside]
    own = [*_torch(replace(task, engine="torch"), extras.compiled), *_exported(task, complain)]
    return [*own, *(_int8(task, extras.int8, complain) if extras.int8 else []), *beside]


def command(task: Task, options: str = "", verb: str = "serve") -> str:
    """What to type for a model to be run so."""
    model = "" if task.model is None else f"--model {shlex.quote(task.model)}"
    return " ".join(filter(None, [f"smokescope {verb}", options, model]))


def _path(task: Task) -> Path | None:
    return None if task.model is None else Path(task.model)


def _file(task: Task, more: str = "") -> Candidate:
    engine = format_of(_path(task))
    if engine is None:
        raise SmokescopeError(f"{task.model} is not an exported model: name an .onnx or .xml file")
    return Candidate(NAMES[engine] + more, task, command(task))


def _torch(task: Task, compiled: bool) -> Iterator[Candidate]:
    gpu = devices()[0] if has_gpu() else None
    yield Candidate("PyTorch", task, command(task, "--device cpu" if gpu else ""))
    if gpu:
        yield Candidate(f"PyTorch on {gpu}", replace(task, device=gpu), command(task))
    if compiled:
        yield Candidate("PyTorch, compiled", replace(task, compiled=True), None)


def _exported(task: Task, complain: Callable[[SmokescopeError], None]) -> Iterator[Candidate]:
    for engine in installed():
        try:
            load_exported(_path(task), engine)
        except SmokescopeError as error:
            complain(SmokescopeError(f"{NAMES[engine]} is left out: {error}"))
        else:
            yield Candidate(NAMES[engine], replace(task, engine=engine), command(task, f"--engine {engine}"))


def _int8(task: Task, folder: Path, complain: Callable[[SmokescopeError], None]) -> Iterator[Candidate]:
    from smokescope.export.files import export_model  # here: it loads torch

    out, name = folder / "int8.xml", f"{OpenVinoEngine.name}, int8"
    try:
        export_model(_path(task), "openvino", out, int8=True)
    except SmokescopeError as error:
        complain(SmokescopeError(f"{name} is left out: {error}"))
    else:
        export = command(task, "--format openvino --int8 --out int8.xml", verb="export")
        yield Candidate(name, replace(task, model=str(out)), f"{export} && smokescope serve --model int8.xml")
