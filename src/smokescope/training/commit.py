"""Which code trained a model: its commit, where that can be known."""

import json
import subprocess
from importlib import metadata
from pathlib import Path

import smokescope


def code_commit() -> str | None:
    """The commit of the code that runs, with "+" where it was changed since.

    Known of a checkout, and of what pip installed from a repository; None of a release, which has a version.
    """
    try:
        recorded = metadata.distribution("smokescope").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        recorded = None
    if recorded and (commit := json.loads(recorded).get("vcs_info", {}).get("commit_id")):
        return str(commit)
    folder = Path(smokescope.__file__).parent
    # of a package that lies in somebody else's checkout, in its virtual environment say, that knows nothing
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit, changes = _git(folder, "rev-parse", "HEAD"), _git(folder, "status", "--porcelain", ".")
    return commit and commit + ("+" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says; None if it is not here, or knows nothing of the folder."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
