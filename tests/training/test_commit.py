"""A model says which code trained it, and never takes somebody else's commit for ours."""

import json
import subprocess
from pathlib import Path
from shutil import which
from types import SimpleNamespace

import pytest

import smokescope
from smokescope.training.commit import code_commit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Code in a folder of its own, of which pip knows nothing."""
    monkeypatch.setattr(smokescope, "__file__", str(tmp_path / "smokescope/__init__.py"))
    recorded(monkeypatch, None)
    (tmp_path / "smokescope").mkdir()
    (tmp_path / "smokescope/__init__.py").write_text("")
    return tmp_path / "smokescope"


def recorded(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    monkeypatch.setattr(
        "importlib.metadata.distribution", lambda _: SimpleNamespace(read_text=lambda _: text)
    )


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_the_commit_is_the_checkouts_and_changes_show(package: Path) -> None:
    git(package.parent, "init", "-q")
    assert code_commit() is None  # it lies in a checkout that does not hold it
    git(package.parent, "add", ".")
    git(package.parent, "commit", "-qm", "all")
    head = git(package.parent, "rev-parse", "HEAD")
    assert code_commit() == head
    (package.parent / "notes.txt").write_text("beside the code")
    assert code_commit() == head
    (package / "__init__.py").write_text("changed = True")
    assert code_commit() == head + "+"


def test_pips_record_is_believed_and_without_git_nothing_is_said(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(monkeypatch, json.dumps({"url": "x", "vcs_info": {"vcs": "git", "commit_id": "abc"}}))
    assert code_commit() == "abc"
    recorded(monkeypatch, json.dumps({"url": "file:///x", "dir_info": {}}))
    monkeypatch.setenv("PATH", str(package))
    assert code_commit() is None
