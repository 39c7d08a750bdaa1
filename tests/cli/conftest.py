"""The command, run in this process the way a shell would."""

import sys
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from smokescope.cli import main


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    """Call `smokescope` with arguments; get the exit code and what it printed."""

    def call(*arguments: object) -> CompletedProcess[str]:
        command = ["smokescope", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as caught:
            main()
        code = caught.value.code
        assert isinstance(code, int)
        return CompletedProcess(command, code, *capsys.readouterr())

    return call
