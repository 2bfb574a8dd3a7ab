"""What widgets show to somebody who uses them is what was read of it, line by line of a script.

A lesson's scripts stand in its `tests/scripts.py`, those of code cells, answers and the workbench
in `tests/cell`, those of what all widgets share in `tests/widgets`: `SCRIPTS` has by name what is
on the page, what is done there, and perhaps of what one line tells the whole, as of a drawing with
many parts. Their transcripts stand beside them. CONTRIBUTING says how they are held.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from book.site.dependencies import evidence_stems

from ..pages.held import hold
from .played import transcript

ROOT = Path(__file__).parents[2]
PLACES = (*ROOT.glob("book/lessons/*/tests/scripts.py"), *ROOT.glob("tests/*/scripts.py"))
MODULES = {
    path.parent: import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(PLACES)
}
SCRIPTS: dict[tuple[Path, str], Any] = {
    (folder, name): script
    for folder, module in MODULES.items()
    for name, script in module.SCRIPTS.items()
}


def named(at: tuple[Path, str]) -> str:
    """What a script is called: by its lesson, or its folder of tests."""
    folder, name = at
    return f"{(folder.parent if folder.name == 'tests' else folder).name}-{name}"


@pytest.mark.parametrize("at", SCRIPTS, ids=named)
def test_a_widget_does_what_was_read_of_it(
    at: tuple[Path, str], browser: Browser, take: str | None
) -> None:
    folder, name = at
    shown, *script = SCRIPTS[at]
    now = list(transcript(browser, shown(), *script))
    if wrong := hold(folder / f"transcript_{name}.txt", now, take):
        pytest.fail("\n".join(wrong), pytrace=False)


FIRST_ALONE = (
    'js [...document.querySelectorAll(".live-widget-view")].slice(1)'
    '.forEach((it) => { it.style.display = "none"; })'
)
"""Only the first widget is seen, so that there is no doubt of which a line tells."""


@pytest.mark.by_day(2)
@pytest.mark.parametrize("stem", evidence_stems(ROOT))
def test_a_second_of_its_kind_below_it_is_nothing_to_it(stem: str, browser: Browser) -> None:
    """What is typed changes what it changes where it is alone."""
    scripts = MODULES[ROOT / "book" / "lessons" / stem / "tests"].SCRIPTS.values()
    shown, script = next((shown, script) for shown, script, *_ in scripts if "\ntype " in script)
    before, typed, _ = re.split(r"^(type .*)$", script, maxsplit=1, flags=re.MULTILINE)
    unfolded = [line for line in before.splitlines() if line.endswith("summary")]
    pages = ([*shown()], [*shown(), *shown()])
    lines = "\n".join([FIRST_ALONE, *unfolded, typed])
    alone, beside = (list(transcript(browser, page, lines)) for page in pages)
    assert beside[beside.index(f"> {typed}") :] == alone[alone.index(f"> {typed}") :]
