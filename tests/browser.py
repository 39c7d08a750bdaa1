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

NEEDED = os.environ.get("CI_REQUIRES_BROWSER") == "1"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium; where there is none the test is skipped, or fails if there should be one."""
    if NEEDED:
        from playwright import sync_api
    else:
        sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        assert not NEEDED, "there is no Chromium here"
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-sync"])
        yield browser
        browser.close()
