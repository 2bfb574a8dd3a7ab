"""The Chromium of this machine, which prints decks and pages, and in which they are tested.

It is no part of the book, and nobody but a teacher needs it: where there is none, `NONE` says what
to install, and whatever does not print goes on without.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
USUAL_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"%PROGRAMFILES%\Google\Chrome\Application\chrome.exe",
    r"%PROGRAMFILES(X86)%\Google\Chrome\Application\chrome.exe",
    r"%LOCALAPPDATA%\Google\Chrome\Application\chrome.exe",
    r"%PROGRAMFILES%\Microsoft\Edge\Application\msedge.exe",
    r"%PROGRAMFILES(X86)%\Microsoft\Edge\Application\msedge.exe",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no other host is ever reached
    "--process-per-site",  # what a page has loaded, the next need not read again
)
NONE = (
    "no Chromium, Chrome or Edge was found: install one (on Debian `apt install chromium`, "
    "elsewhere `python -m playwright install chromium`), or set CHROME_PATH to its program."
)


def find_browser() -> str | None:
    """The program of an installed browser, if there is one; CHROME_PATH names one explicitly."""
    # Only where one is asked for: pages and decks are made without it.
    from playwright.sync_api import sync_playwright

    if given := os.environ.get("CHROME_PATH"):
        return given
    for name in NAMES:
        if found := shutil.which(name):
            return found
    with sync_playwright() as playwright:
        places = [*map(os.path.expandvars, USUAL_PLACES), playwright.chromium.executable_path]
    return next((place for place in places if Path(place).is_file()), None)


@contextmanager
def opened() -> "Iterator[Browser | None]":
    """A browser without a window, for as long as it is needed; None where there is none."""
    from playwright.sync_api import sync_playwright

    program = find_browser()
    if program is None or not Path(program).is_file():
        yield None
        return
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()
