"""What tests of data share."""

import os

import pytest


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of folders that cannot be read; tests may run as root, to whom nothing is locked."""
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    return "locked"
