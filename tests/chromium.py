"""The Chromium that tests ask, and how long they wait for it.

One that is already here (CHROME_PATH names one explicitly), or else one that is installed the
platform's way.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, expect, sync_playwright

from book.paper.browser import FLAGS, find_browser

# Milliseconds. It bounds what hangs, on a busy machine too; Playwright's own is a quiet machine's.
HANGS = 120_000
expect.set_options(timeout=HANGS)


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """Whatever page or context it makes waits for so long, and the pages of it as well."""

    @wraps(make)
    def patient(browser: Browser, *args: Any, **kwargs: Any) -> Any:
        made = make(browser, *args, **kwargs)
        getattr(made, "context", made).set_default_timeout(HANGS)
        return made

    return patient


for _name in ("new_context", "new_page"):
    setattr(Browser, _name, _patient(getattr(Browser, _name)))

NO_BROWSER = """\
The browser tests need Chromium, Chrome or Edge; none was found and none could be installed.
Install one, or set CHROME_PATH to its program, and run the tests again. {why}"""


def install_browser() -> None:
    """Install Chromium: with apt where we may, else as Playwright does."""
    apt = _apt_get()
    if apt is None:
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
    else:
        # Somebody else's apt-get is waited for, and a mirror that does not answer is asked again.
        apt = [*apt, "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]
        subprocess.run([*apt, "update"], capture_output=True)  # without, older lists may serve
        command = [*apt, "install", "-y", "chromium"]
    subprocess.run(command, check=True, capture_output=True, text=True)


def _apt_get() -> list[str] | None:
    """How to call apt-get without being asked for a password, where it has a Chromium package."""
    if not shutil.which("apt-get"):
        return None
    # Ubuntu's package only points to a snap, which does not run headless everywhere.
    if "ID=debian" not in Path("/etc/os-release").read_text("utf-8").splitlines():
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True).returncode == 0:
        return [sudo, "-n", "apt-get"]
    return None


def provided_browser(lock: Path) -> str | None:
    """The program of a browser, which is installed if there is none.

    Test processes run side by side: one installs it, and the others wait for that. Two at once are
    refused by apt's locks, of which it waits for one only.
    """
    with FileLock(lock):
        if find_browser() is None:
            install_browser()
        return find_browser()


@contextmanager
def started(lock: Path) -> Iterator[Browser]:
    """A headless Chromium; fails with one clear message where none can be had."""
    try:
        program = provided_browser(lock)
    except (subprocess.CalledProcessError, OSError) as error:
        why = getattr(error, "stderr", None) or str(error)
        pytest.fail(NO_BROWSER.format(why=why.strip()), pytrace=False)
    if program is None:
        pytest.fail(NO_BROWSER.format(why=""), pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()
