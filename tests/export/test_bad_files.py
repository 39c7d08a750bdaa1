"""The verbs refuse a file that is not ours, cut short, or of another layout: in one sentence."""

import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.bright import hill
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.export.conftest import Exported
from tests.export.test_refusals import foreign, marked

from smokescope.data.pictures import encode_png

Run = Callable[..., CompletedProcess[str]]


def another_layout(xml: bytes) -> bytes:
    assert xml.count(b"layout&quot;: &quot;1&quot;") == 1
    return xml.replace(b"layout&quot;: &quot;1&quot;", b"layout&quot;: &quot;2&quot;")


SPOILT: dict[str, Callable[[Path], bytes]] = {
    "foreign.onnx": lambda _: foreign().SerializeToString(),
    "short.onnx": lambda path: path.read_bytes()[:-1000],
    "layout.onnx": lambda path: marked(path, layout="2"),
    "foreign.xml": lambda path: path.read_bytes().replace(b"<smokescope", b"<other"),
    "short.xml": lambda path: path.read_bytes()[:-2000],
    "layout.xml": lambda path: another_layout(path.read_bytes()),
}
WORDS = {
    "foreign": "is not a model exported by smokescope",
    "short": "is damaged or cut short: get a fresh copy",
    "layout": "in a layout that",
}


@pytest.fixture
def bad(exported: Exported, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path: Path = tmp_path / request.param
    source = exported.onnx if path.suffix == ".onnx" else exported.openvino
    path.write_bytes(SPOILT[path.name](source))
    shutil.copy(exported.openvino.with_suffix(".bin"), path.with_suffix(".bin"))
    return path


@pytest.mark.parametrize("bad", SPOILT, indirect=True)
@pytest.mark.parametrize("verb", ["predict", "evaluate", "serve", "info"])
def test_one_sentence_and_nothing_else(run: Run, bad: Path, tmp_path: Path, verb: str) -> None:  # noqa: F811
    for folder in ("data/img", "data/gt"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.png").write_bytes(
            encode_png(hill(200)[..., 0] if folder == "data/gt" else hill())
        )
    arguments: dict[str, tuple[object, ...]] = {
        "predict": (tmp_path / "data/img/a.png", "--out", tmp_path / "out", "--model", bad),
        "evaluate": ("--data", tmp_path / "data", "--model", bad),
        "serve": ("--port", 0, "--model", bad),
        "info": (bad,),
    }
    done = run(verb, *arguments[verb])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"smokescope: {bad} ")
    assert done.stderr.count("\n") == 1
    assert WORDS[bad.stem] in done.stderr
    assert not (tmp_path / "out").exists()
