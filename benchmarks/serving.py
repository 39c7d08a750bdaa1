"""The service under load, against calling the Segmenter directly on the same machine.

`python -m benchmarks.serving [MODEL]`: with a model file, or the default network with random weights. The
service is a process of its own; clients are threads of this one, each with its own connection. The JPEG is
640 x 480 and decoded in both cases. Both compute with one thread, so that the clients' core is theirs and
neither waits for the other's threads. First single requests take turns with direct calls; then many clients
ask at once.
"""

import http.client
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import smokescope
from benchmarks.timing import compare, table
from smokescope.checkpoints.model import save_model
from smokescope.models import DEFAULT, InputSettings, ModelSettings, Pipeline, SmokeBVM
from smokescope.settings.plain import from_plain

TINY = from_plain(
    ModelSettings,
    asdict(DEFAULT)
    | {"encoder_width": 8, "encoder_layers": [1, 1, 1, 1], "decoder_width": 8, "aspp_bottleneck": 8}
    | {"aspp_growth": 4, "uncertainty_width": 4},
)
TURNS, SECONDS, CLIENTS = 40, 8.0, (4, 16)


def picture() -> bytes:
    """A JPEG of soft noise, about as large as a photograph's."""
    coarse = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()


@contextmanager
def service(model: Path) -> Iterator[int]:
    """The command, running; its port."""
    command = [sys.executable, "-m", "smokescope", "serve", "--port", "0", "--deadline", "300"]
    command += ["--model", str(model)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(command, env=one_thread, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        line = started.stdout.readline()
        yield int(line.split("http://")[1].split()[0].rsplit(":", 1)[1])
    finally:
        started.terminate()
        started.wait(60)


class Client:
    """One connection that asks again and again."""

    def __init__(self, port: int, body: bytes) -> None:
        self.connection, self.body = http.client.HTTPConnection("127.0.0.1", port, timeout=300), body

    def ask(self) -> float:
        """Seconds to an answer."""
        start = time.perf_counter()
        self.connection.request("POST", "/v1/segment", self.body, {"Content-Type": "image/jpeg"})
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        return time.perf_counter() - start

    def ask_until(self, end: float) -> list[float]:
        """Seconds of each answer."""
        times = list[float]()
        while time.perf_counter() < end:
            times.append(self.ask())
        return times


def load(port: int, body: bytes, clients: int) -> tuple[float, list[float]]:
    """Answers a second, and seconds of each, with so many clients at once."""
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(Client(port, body).ask_until, start + SECONDS) for _ in range(clients)]
        times = [seconds for each in running for seconds in each.result()]
    return len(times) / (time.perf_counter() - start), times


def measure(title: str, model: Path) -> None:
    segmenter, body = smokescope.load(model), picture()
    with service(model) as port:
        one = Client(port, body)
        alone = compare(
            {"the Segmenter itself": lambda: segmenter(body).to_dict(), "1 client": one.ask}, rounds=TURNS
        )
        base = alone["the Segmenter itself"]
        rows = [
            (name, f"{1 / seconds:.1f}", f"{1e3 * seconds:.1f}", "", f"{1e3 * (seconds - base):+.1f} ms")
            for name, seconds in alone.items()
        ]
        for clients in CLIENTS:
            rate, times = load(port, body, clients)
            middle, tail = np.quantile(times, [0.5, 0.95])
            rows.append((f"{clients} clients", f"{rate:.1f}", f"{1e3 * middle:.1f}", f"{1e3 * tail:.1f}", ""))
    header = ("", "pictures a second", "median ms", "95 % ms", "over the Segmenter")
    table(f"serve: {title}, JPEG of 640 x 480", header, rows)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]).name, Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for title, settings in (("tiny network", TINY), ("default network, untrained", DEFAULT)):
            path = Path(folder) / "model.safetensors"
            save_model(Pipeline(SmokeBVM(settings), InputSettings(height=480, width=640)), path)
            measure(title, path)


if __name__ == "__main__":
    main()
