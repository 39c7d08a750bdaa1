"""`smokescope predict`: all results of each picture and video, or one sentence."""

import builtins
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess
from typing import cast

import av
import numpy as np
import pytest
from av.video.stream import VideoStream
from PIL import Image
from tests.bright import VERDICTS, bright, hill
from tests.models.small import TINY

import smokescope
from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import save_model
from smokescope.data import files
from smokescope.data.pictures import encode_png
from smokescope.data.videos import open_video, write_video
from smokescope.inference import Segmenter
from smokescope.inference.engines.torch import TorchEngine
from smokescope.models import InputSettings, Pipeline, UNet
from smokescope.report import results

Run = Callable[..., CompletedProcess[str]]

ENDINGS = {
    *(".probability.png", ".mask.png", ".total.png", ".aleatoric.png", ".epistemic.png"),
    *(".overlay.jpg", ".json"),
}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file, whose place a model takes that calls bright things smoke."""
    path = tmp_path / "m.safetensors"
    save_model(Pipeline(UNet(TINY), InputSettings(height=64, width=64)), path)
    monkeypatch.setattr(smokescope, "load", lambda *_: bright())
    return path


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pics"
    (folder / "sub").mkdir(parents=True)
    for name, red in (("smoke", 230), ("sub/unsure", 120), ("clear", 20)):
        (folder / f"{name}.png").write_bytes(encode_png(hill(red)))
    return folder


@pytest.fixture
def video(tmp_path: Path) -> Path:
    path = tmp_path / "clip.mov"
    with write_video(path, Fraction(5)) as writer:
        for number, red in enumerate((10, 10, 10, 230, 230, 230, 120, 120)):
            writer.add(hill(red), number / 5)
    return path


def written(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_every_picture_has_all_its_results(run: Run, model: Path, pictures: Path, tmp_path: Path) -> None:
    out, coco = tmp_path / "out", tmp_path / "deep" / "coco.json"
    done = run("predict", pictures, "--out", out, "--model", model, "--coco", coco)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"3 of 3 are done by PyTorch on cpu: open {out / 'report.html'}\n"
    names = {name + ending for name in ("smoke", "sub/unsure", "clear") for ending in ENDINGS}
    assert written(out) == names | {"report.html"}
    told = {name: json.loads((out / f"{name}.json").read_text()) for name in ("smoke", "sub/unsure", "clear")}
    assert [each["verdict"] for each in told.values()] == ["smoke", "unsure", "nothing"]
    assert told["smoke"]["model"] == {
        "name": "m.safetensors",
        "sha256": summarise(model).metadata["sha256"],
        "file_sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
    }
    assert len(told["smoke"]["model"]["sha256"]) == 64
    assert told["smoke"]["thresholds"] == {"mask": 0.5, **asdict(VERDICTS)}
    assert told["smoke"]["smokescope"] == smokescope.__version__
    assert told["smoke"]["file"] == str(pictures / "smoke.png")
    mask = np.asarray(Image.open(out / "smoke.mask.png"))
    np.testing.assert_array_equal(mask > 0, hill(230)[..., 0] > 127)
    page = (out / "report.html").read_text()
    assert "3 pictures: 1 smoke, 1 unsure, 1 nothing" in page
    assert len(json.loads(coco.read_text())["annotations"]) == 2


def test_a_name_that_is_no_text_is_a_name(run: Run, model: Path, pictures: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(b"odd\xff.png")
    (pictures / "smoke.png").rename(pictures / odd)
    done = run(
        "predict", pictures / odd, "--out", tmp_path / "out", "--model", model, "--coco", tmp_path / "c"
    )
    assert done.returncode == 0, done.stderr
    assert 'href="odd%FF.overlay.jpg"' in (tmp_path / "out" / "report.html").read_text()


def test_a_real_model_file_is_used(run: Run, pictures: Path, tmp_path: Path) -> None:
    pipeline = Pipeline(UNet(TINY), InputSettings(height=64, width=64))
    save_model(pipeline, tmp_path / "m.safetensors")
    arguments = ("--model", tmp_path / "m.safetensors", "--device", "cpu", "--tiles", "never")
    assert run("predict", pictures / "smoke.png", "--out", tmp_path / "out", *arguments).returncode == 0
    expected = Segmenter(TorchEngine(pipeline, "cpu"))(pictures / "smoke.png").probability
    found = np.asarray(Image.open(tmp_path / "out" / "smoke.probability.png"))
    np.testing.assert_allclose(found / 255, expected, atol=0.5 / 255 + 1e-6)


def test_options_reach_the_model(
    run: Run, model: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def load(*given: object) -> Segmenter:
        asked.extend(given)
        return bright()

    monkeypatch.setattr(smokescope, "load", load)
    options = ("--model", model, "--device", "cpu", "--tiles", "never", "--engine", "onnx")
    assert run("predict", pictures, "--out", tmp_path / "out", *options).returncode == 0
    assert asked == [model, "cpu", "never", "onnx"]


def test_a_bad_file_is_told_and_the_rest_goes_on(
    run: Run, model: Path, pictures: Path, tmp_path: Path
) -> None:
    (pictures / "bad.jpg").write_text("text")
    out = tmp_path / "out"
    done = run("predict", pictures, tmp_path / "none*.jpg", "--out", out, "--model", model)
    assert done.returncode == 1
    assert "3 of 5 are done" in done.stdout
    assert f"nothing matches {tmp_path / 'none*.jpg'}" in done.stderr
    assert f"{pictures / 'bad.jpg'} is not a JPEG" in done.stderr
    assert not any("bad" in name for name in written(out))


def test_where_nothing_can_be_done_it_is_2(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_text("text")
    done = run("predict", tmp_path / "bad.jpg", "--out", tmp_path / "out", "--model", model)
    assert (done.returncode, done.stdout) == (2, "")
    assert written(tmp_path / "out") == set()


def test_resume_skips_what_is_done(run: Run, model: Path, pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("predict", pictures, "--out", out, "--model", model)
    run(*arguments)
    for path in out.rglob("*.json"):
        os.utime(path, (2e9, 2e9))
    (out / "clear.mask.png").unlink()
    done = run(*arguments, "--resume")
    assert (done.returncode, done.stdout[:6]) == (0, "3 of 3")
    kept = {path.name for path in out.rglob("*.json") if path.stat().st_mtime == 2e9}
    assert kept == {"smoke.json", "unsure.json"}
    assert "3 pictures" in (out / "report.html").read_text()
    run(*arguments, "--resume", "--tiles", "never")
    assert all(path.stat().st_mtime != 2e9 for path in out.rglob("*.json"))


def test_resume_knows_a_model_with_other_thresholds(
    run: Run, model: Path, pictures: Path, tmp_path: Path
) -> None:
    out, retuned = tmp_path / "out", tmp_path / "retuned" / model.name  # the same name, the same weights
    run("predict", pictures, "--out", out, "--model", model)
    for path in out.rglob("*.json"):
        os.utime(path, (2e9, 2e9))
    run("convert", model, "--out", retuned, "--set", "verdicts.smoke_above=0.9")
    done = run("predict", pictures, "--out", out, "--model", retuned, "--resume")
    assert done.returncode == 0
    assert all(path.stat().st_mtime != 2e9 for path in out.rglob("*.json"))


def test_a_picture_that_goes_meanwhile_spoils_no_report(
    run: Run, model: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write = tmp_path / "out", files.write_together

    def write_and_tidy_up(written: Mapping[Path, bytes | Path]) -> None:
        write(written)
        (pictures / "smoke.png").unlink(missing_ok=True)  # as cameras' folders do with what is old

    monkeypatch.setattr(files, "write_together", write_and_tidy_up)
    done = run("predict", pictures / "smoke.png", pictures / "clear.png", "--out", out, "--model", model)
    assert (done.returncode, done.stdout[:6], done.stderr) == (0, "2 of 2", "")
    page = (out / "report.html").read_text()
    assert "2 pictures: 1 smoke, 0 unsure, 1 nothing" in page
    assert page.count("replaced or removed since") == 1


def test_a_camera_that_fails_does_not_look_quiet(run: Run, model: Path, tmp_path: Path) -> None:
    latest, out = tmp_path / "latest.png", tmp_path / "out"
    latest.write_bytes(encode_png(hill(230)))
    coco = tmp_path / "all.json"
    run("predict", latest, "--out", out, "--model", model, "--coco", coco)
    assert "1 picture: 1 smoke, 0 unsure, 0 nothing</h1>" in (out / "report.html").read_text()
    latest.write_bytes(b"")
    before = coco.read_bytes()
    again = run("predict", latest, "--out", out, "--model", model, "--resume", "--coco", coco)
    assert again.returncode == 2
    assert coco.read_bytes() == before  # which has no place to say that it knows nothing
    page = (out / "report.html").read_text()
    assert "0 pictures: 0 smoke, 0 unsure, 0 nothing; 1 failed</h1>" in page
    assert "latest.png is empty" in page


def test_results_of_another_folder_are_no_pictures(
    run: Run, model: Path, pictures: Path, tmp_path: Path
) -> None:
    run("predict", pictures, "--out", pictures / "monday", "--model", model)
    done = run("predict", pictures, "--out", pictures / "tuesday", "--model", model)
    assert (done.returncode, done.stdout[:6]) == (0, "3 of 3")


def test_a_video_is_annotated_frame_by_frame(run: Run, model: Path, video: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("predict", video, "--out", out, "--model", model, "--every", 2)
    assert (done.returncode, done.stderr) == (0, "")
    names = {f"clip{ending}" for ending in (*ENDINGS, ".mp4", ".jsonl", ".frame.jpg")}
    assert written(out) == names | {"report.html"}
    lines = [json.loads(line) for line in (out / "clip.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines] == [0, 2, 4, 6]
    assert [line["seconds"] for line in lines] == pytest.approx([0, 0.4, 0.8, 1.2])
    assert [line["verdict"] for line in lines] == ["nothing", "nothing", "smoke", "unsure"]
    told = json.loads((out / "clip.json").read_text())
    assert (told["verdict"], told["every"]) == ("smoke", 2)
    assert told["video"] == {
        **{"frame": 4, "seconds": pytest.approx(0.8), "looked_at": 4},
        **{"smoke": 1, "unsure": 1, "nothing": 2},
    }
    with open_video(out / "clip.mp4") as annotated, open_video(video) as original:
        changed = [
            np.abs(a.pixels.astype(int) - b.pixels).max() > 80
            for a, b in zip(annotated, original, strict=True)
        ]
    assert changed == [False, False, False, False, True, True, True, True]  # 3 was not looked at; 5 keeps 4's


@pytest.mark.parametrize(("name", "codec"), [("a.mjpeg", "mjpeg"), ("a.h264", "libx264")])
def test_a_raw_stream_is_a_video(run: Run, model: Path, tmp_path: Path, name: str, codec: str) -> None:
    with av.open(tmp_path / name, "w", format=name[2:]) as container:
        stream = cast(VideoStream, container.add_stream(codec, 25))
        stream.width, stream.height = 80, 60
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for red in (10, 10, 230):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(hill(red), format="rgb24")))
        container.mux(stream.encode(None))
    assert run("predict", tmp_path / name, "--out", tmp_path / "out", "--model", model).returncode == 0
    told = json.loads((tmp_path / "out" / "a.json").read_text())
    assert (told["verdict"], told["video"]["frame"], told["video"]["looked_at"]) == ("smoke", 2, 3)


def test_coco_shows_the_frame_of_a_video_that_its_regions_are_of(
    run: Run, model: Path, video: Path, tmp_path: Path
) -> None:
    run("predict", video, "--out", tmp_path / "out", "--model", model, "--coco", tmp_path / "coco.json")
    (image,) = json.loads((tmp_path / "coco.json").read_text())["images"]
    assert Path(image["file_name"]) == tmp_path / "out" / "clip.frame.jpg"
    with Image.open(image["file_name"]) as frame:
        assert frame.size == (image["width"], image["height"])


def test_who_stops_it_is_told_how_to_go_on(
    run: Run, model: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = iter([results.encode_results])

    def second_interrupted(*arguments: object) -> object:
        for encode in encoded:
            return encode(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "encode_results", second_interrupted)
    done = run("predict", pictures, "--out", tmp_path / "out", "--model", model)
    assert (done.returncode, done.stderr) == (130, "stopped after 1 of 3: --resume goes on\n")


def test_of_a_video_without_smoke_the_nearest_to_it_is_shown(run: Run, model: Path, tmp_path: Path) -> None:
    with write_video(tmp_path / "calm.mp4", Fraction(5)) as writer:
        for number, red in enumerate((10, 60, 30)):
            writer.add(hill(red), number / 5)
    run("predict", tmp_path / "calm.mp4", "--out", tmp_path / "out", "--model", model)
    told = json.loads((tmp_path / "out" / "calm.json").read_text())
    assert (told["verdict"], told["video"]["frame"]) == ("nothing", 1)


@pytest.mark.parametrize("name", ["pics/smoke.png", "m.safetensors", "out/report.html", "out/clear.json"])
def test_coco_replaces_nothing_else(run: Run, model: Path, pictures: Path, tmp_path: Path, name: str) -> None:
    arguments = ("predict", pictures, "--out", tmp_path / "out", "--model", model)
    run(*arguments)
    before = (tmp_path / name).read_bytes()
    done = run(*arguments, "--coco", tmp_path / "pics" / ".." / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name} is also an input or another result, and would be overwritten" in done.stderr
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("ending", [".mp4", ".jsonl", ".frame.jpg"])
def test_resume_does_a_video_again_that_lacks_a_file(
    run: Run, model: Path, video: Path, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / "out"
    arguments = ("predict", video, "--out", out, "--model", model, "--every", 4)
    run(*arguments)
    before = written(out)
    os.utime(out / "clip.json", (2e9, 2e9))
    run(*arguments, "--resume")
    assert (out / "clip.json").stat().st_mtime == 2e9
    (out / f"clip{ending}").unlink()
    assert run(*arguments, "--resume").returncode == 0
    assert written(out) == before


def test_a_disk_that_fills_up_after_the_video_leaves_nothing(
    run: Run, model: Path, video: Path, tmp_path: Path
) -> None:
    (tmp_path / "out" / "clip.frame.jpg").mkdir(parents=True)  # in its way, as a full disk would be
    done = run("predict", video, "--out", tmp_path / "out", "--model", model, "--every", 4)
    assert done.returncode == 2
    assert "clip.frame.jpg cannot be written" in done.stderr
    assert written(tmp_path / "out") == set()


def test_a_video_cut_short_leaves_nothing(run: Run, model: Path, video: Path, tmp_path: Path) -> None:
    video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    done = run("predict", video, "--out", tmp_path / "out", "--model", model)
    assert done.returncode == 2
    assert "clip.mov is" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_video_whose_results_cannot_be_written_leaves_nothing(
    run: Run, model: Path, video: Path, tmp_path: Path
) -> None:
    (tmp_path / "out" / "clip.json").mkdir(parents=True)
    done = run("predict", video, "--out", tmp_path / "out", "--model", model)
    assert done.returncode == 2
    assert "clip.json cannot be written: a folder or device has that name" in done.stderr
    assert written(tmp_path / "out") == set()


def test_a_video_without_pyav_is_explained(
    run: Run, model: Path, video: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "smokescope.report.annotate", raising=False)
    monkeypatch.delitem(sys.modules, "smokescope.data.videos", raising=False)
    real = builtins.__import__

    def without_av(name: str, *arguments: object, **named: object) -> object:
        if name == "av" or name.startswith("av."):
            raise ImportError(name)
        return real(name, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_av)
    done = run("predict", video, pictures / "smoke.png", "--out", tmp_path / "out", "--model", model)
    assert done.returncode == 1
    assert "clip.mov is a video, and reading it needs PyAV" in done.stderr
    assert "smokescope[video]" in done.stderr


@pytest.mark.parametrize("names", [("clip.mp4",), ("a.png", "a.mask.png")])
def test_an_input_is_never_replaced(run: Run, model: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_bytes(encode_png(hill(230)))
    done = run("predict", *(tmp_path / name for name in names), "--out", tmp_path / ".", "--model", model)
    assert done.returncode == 2
    assert f"{tmp_path / names[-1]} is an input, and a result of" in done.stderr
    assert all((tmp_path / name).read_bytes() == encode_png(hill(230)) for name in names)
