"""What widgets show to somebody who uses them is what was read of it, line by line of a script.

A script is a module `tests/chapters/STEM/script….py` with `shown()`, the widgets on the page, and
`SCRIPT`; its transcript stands beside it, by the same name. CONTRIBUTING says how they are held.
"""

from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ..pages.held import hold
from .played import transcript

CHAPTERS = Path(__file__).parents[1] / "chapters"
SCRIPTS = sorted(CHAPTERS.glob("*/script*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_widget_does_what_was_read_of_it(path: Path, browser: Browser, take: str | None) -> None:
    name = ".".join(path.relative_to(CHAPTERS).with_suffix("").parts)
    script = import_module(f"..chapters.{name}", __package__)
    now = list(transcript(browser, script.shown(), script.SCRIPT))
    hold(path.with_suffix(".txt"), now, take)
