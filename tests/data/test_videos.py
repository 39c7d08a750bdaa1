"""Videos: what is written is read again, frame by frame; what is none is refused."""

import io
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from smokescope.data.videos import open_video, write_video
from smokescope.errors import SmokescopeError


def frames(count: int, height: int = 48, width: int = 64) -> list[NDArray[np.uint8]]:
    """Grey frames that grow brighter, with a white left half."""
    made = [np.full((height, width, 3), 20 * i, np.uint8) for i in range(count)]
    for each in made:
        each[:, : width // 2] = 255
    return made


def write(path: Path, pictures: list[NDArray[np.uint8]], rate: int = 10) -> Path:
    with write_video(path, Fraction(rate)) as writer:
        for number, each in enumerate(pictures):
            writer.add(each, number / rate)
    return path


def test_frames_come_back_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "v.mp4", frames(8))
    with open_video(path) as video:
        assert video.rate == Fraction(10)
        assert video.count == 8
        found = list(video)
    assert [frame.number for frame in found] == list(range(8))
    assert [frame.seconds for frame in found] == pytest.approx([i / 10 for i in range(8)])
    for frame, expected in zip(found, frames(8), strict=True):
        assert frame.pixels.shape == (48, 64, 3)
        assert np.abs(frame.pixels.astype(int) - expected).mean() < 4


def test_odd_sizes_are_rounded_up_for_players(tmp_path: Path) -> None:
    path = write(tmp_path / "v.mp4", frames(2, 47, 63))
    with open_video(path) as video:
        found = list(video)
    assert {frame.pixels.shape for frame in found} == {(48, 64, 3)}
    assert found[0].pixels[-1, :28].min() > 240  # what was at the border goes on: no black line


def test_a_video_held_upright_is_read_upright(tmp_path: Path) -> None:
    """A phone stores frames as its sensor lies, and a matrix that turns them clockwise (ISO 14496-12)."""
    path = write(tmp_path / "v.mp4", frames(2))
    plain, turned = (
        b"".join(number.to_bytes(4, "big", signed=True) for number in matrix)
        for matrix in (
            (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30),
            (0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30),
        )
    )
    movie, track, rest = path.read_bytes().split(plain)
    path.write_bytes(movie + plain + track + turned + rest)
    with open_video(path) as video:
        pixels = next(iter(video)).pixels
    assert pixels.shape == (64, 48, 3)
    assert pixels[:30].min() > 240  # the left half has come to lie above
    assert pixels[34:].max() < 20


@pytest.mark.parametrize("data", [b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/x.ts\n", b"text", bytes(3000)])
def test_what_is_no_video_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "v.mp4").write_bytes(data)
    with pytest.raises(SmokescopeError, match=r"v\.mp4 is"), open_video(tmp_path / "v.mp4") as video:
        list(video)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="wav") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
    (tmp_path / "v.avi").write_bytes(buffer.getvalue())
    with (
        pytest.raises(SmokescopeError, match="holds no pictures, only sound"),
        open_video(tmp_path / "v.avi"),
    ):
        pass


def test_a_video_cut_short_says_where(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noisy = [rng.integers(0, 256, (96, 96, 3), dtype=np.uint8) for _ in range(10)]
    path = write(tmp_path / "v.mp4", noisy)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with (
        pytest.raises(SmokescopeError, match=r"v\.mp4 is damaged or cut short after \d frames"),
        open_video(path) as video,
    ):
        list(video)


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(SmokescopeError, match="cannot be written"):
        write(tmp_path, frames(1))


def test_frames_are_written_at_their_own_times(tmp_path: Path) -> None:
    times = [0.0, 0.1, 0.2, 1.7, 1.7, 4.0]  # some are late, and one comes at no time of its own
    with write_video(tmp_path / "v.mp4", Fraction(10)) as writer:
        for pixels, seconds in zip(frames(6), times, strict=True):
            writer.add(pixels, seconds)
    with open_video(tmp_path / "v.mp4") as video:
        assert [frame.seconds for frame in video] == pytest.approx(times, abs=1e-4)


def skipping(path: Path, shown: list[int]) -> Path:
    """Motion JPEG at 10 frames a second, as cameras record it that leave frames out."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", 10)
        stream.height, stream.width, stream.pix_fmt = 48, 64, "yuvj420p"
        for number, pixels in zip(shown, frames(len(shown)), strict=True):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_seconds_count_from_the_first_frame(tmp_path: Path) -> None:
    with open_video(skipping(tmp_path / "v.mkv", [50, 51, 53])) as video:
        assert [frame.seconds for frame in video] == pytest.approx([0, 0.1, 0.3], abs=1e-3)


def test_a_video_whose_recorder_left_frames_out_is_whole(tmp_path: Path) -> None:
    shown = [0, 1, 2, 9, 10, 11]
    with open_video(skipping(tmp_path / "v.avi", shown)) as video:
        assert video.count > 2 * len(shown) - 2  # AVI counts those that are not there
        assert [frame.seconds for frame in video] == pytest.approx([number / 10 for number in shown])
