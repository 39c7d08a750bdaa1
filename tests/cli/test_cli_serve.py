"""`smokescope serve` refuses before it loads anything; tests/serve has it run."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.bright import bright

import smokescope
from smokescope.errors import SmokescopeError
from smokescope.serve.limits import Limits
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


def test_every_limit_may_be_set(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Service] = []

    def make_server(service: Service, announce: object) -> None:
        seen.append(service)
        raise SmokescopeError("that is enough")

    monkeypatch.setattr("smokescope.serve.server.make_server", make_server)
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
    assert "that is enough" in run("serve", "--port", 0, *options).stderr
    (service,) = seen
    wanted = Limits(body_bytes=3_000_000, pixels=2_000_000, queue=5, batch=6, deadline=7, upload_seconds=8)
    assert service.limits == wanted


def test_what_is_not_installed_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smokescope.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    result = run("serve")
    assert result.returncode == 2
    assert "pip install 'smokescope[serve]'" in result.stderr
