"""A real browser, for tests of pages in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium; where there is none the test is skipped, or fails if there should be one."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        assert os.environ.get("CI_REQUIRES_BROWSER") != "1", "there is no Chromium here"
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()
