"""`smokescope serve` refuses before it loads anything; tests/serve has it run."""

import socket
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch
from tests.bright import bright

import smokescope
from smokescope.checkpoints.files import write_tensors
from smokescope.errors import SmokescopeError
from smokescope.inference import Segmenter
from smokescope.serve.limits import Limits
from smokescope.serve.refusals import Refusal
from smokescope.serve.server import bind
from smokescope.serve.service import Service

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMOKESCOPE_TOKEN", raising=False)


def test_another_address_needs_a_token(run: Run) -> None:
    result = run("serve", "--host", "0.0.0.0")
    assert (result.returncode, result.stdout) == (2, "")
    assert "smokescope: 0.0.0.0 can be reached from other machines: set a token" in result.stderr


def test_a_token_may_come_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("too short\n")
    result = run("serve", "--host", "0.0.0.0", "--token-file", tmp_path / "token")
    assert result.returncode == 2
    assert "16 or more ASCII" in result.stderr
    (tmp_path / "token").write_text("a-token-that-is-long-enough\n")
    result = run("serve", "--port", 0, "--token-file", tmp_path / "token", "--model", tmp_path / "none")
    assert f"{tmp_path / 'none'} does not exist" in result.stderr
    result = run("serve", "--token-file", tmp_path / "missing")
    assert f"{tmp_path / 'missing'} does not exist" in result.stderr


def served(run: Run, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Service:
    """What would be served."""
    seen: list[Service] = []

    def make_server(service: Service, announce: object) -> None:
        seen.append(service)
        raise SmokescopeError("that is enough")

    monkeypatch.setattr("smokescope.serve.server.make_server", make_server)
    assert "that is enough" in run("serve", *arguments).stderr
    (service,) = seen
    return service


def test_every_limit_may_be_set(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smokescope, "load", lambda *_: bright())
    given = {
        "max-megabytes": 3,
        "max-megapixels": 2,
        "queue": 5,
        "batch": 6,
        "deadline": 7,
        "upload-seconds": 8,
    }
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    service = served(run, monkeypatch, "--port", 0, *options)
    wanted = Limits(body_bytes=3_000_000, pixels=2_000_000, queue=5, batch=6, deadline=7, upload_seconds=8)
    assert service.limits == wanted


def test_address_model_engine_and_token_are_those_asked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []

    def load(*given: object) -> Segmenter:
        asked.append(given)
        return bright()

    def take(host: str, port: int) -> socket.socket:
        asked.append((host, port))
        return bind("127.0.0.1", 0)

    monkeypatch.setattr(smokescope, "load", load)
    monkeypatch.setattr("smokescope.serve.server.bind", take)
    model, token = tmp_path / "m.safetensors", tmp_path / "token"
    write_tensors(model, {"a": torch.zeros(1)}, {"sha256": "abc"})
    token.write_text("a-token-that-is-long-enough\n")
    arguments = ("--host", "127.0.0.2", "--port", 8123, "--model", model, "--token-file", token)
    service = served(run, monkeypatch, *arguments, "--device", "cuda:1", "--engine", "openvino")
    assert asked == [("127.0.0.2", 8123), (model, "cuda:1", "auto", "openvino")]
    assert (service.model.name, service.model.sha256) == ("m.safetensors", "abc")
    service.check_token("a-token-that-is-long-enough")
    with pytest.raises(Refusal, match="needs a token"):
        service.check_token(None)


def test_what_is_not_installed_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smokescope.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    result = run("serve")
    assert result.returncode == 2
    assert "pip install 'smokescope[serve]'" in result.stderr
