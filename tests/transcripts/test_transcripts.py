"""What widgets show to somebody who uses them is what was read of it, line by line of a script.

`WHOLE` of a `scripts.py` has how lines begin that are one with all their parts.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

from book.site.dependencies import evidence_stems

from ..pages.held import hold
from .played import script_of, transcript

ROOT = Path(__file__).parents[2]
PLACES = (*ROOT.glob("book/lessons/*/tests/scripts.py"), *ROOT.glob("tests/*/scripts.py"))
MODULES = {
    path.parent: import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(PLACES)
}
TRANSCRIPTS = [(folder, name) for folder, module in MODULES.items() for name in module.PAGES]


def told(at: tuple[Path, str]) -> Path:
    folder, name = at
    return folder / f"transcript_{name}.txt"


def script(at: tuple[Path, str]) -> str:
    file = told(at)
    return script_of(file.read_text("utf-8").splitlines()) if file.exists() else ""


def named(at: tuple[Path, str]) -> str:
    folder, name = at
    return f"{(folder.parent if folder.name == 'tests' else folder).name}-{name}"


@pytest.mark.parametrize("at", TRANSCRIPTS, ids=named)
def test_a_widget_does_what_was_read_of_it(at, browser, take):
    module, name = MODULES[at[0]], at[1]
    whole = getattr(module, "WHOLE", {}).get(name, ())
    now = list(transcript(browser, module.PAGES[name](), script(at), whole))
    if wrong := hold(told(at), now, take):
        pytest.fail("\n".join(wrong), pytrace=False)


FIRST_ALONE = (
    'js [...document.querySelectorAll(".live-widget-view")].slice(1)'
    '.forEach((it) => { it.style.display = "none"; })'
)
"""Only the first widget is seen, so that there is no doubt of which a line tells."""


@pytest.mark.by_day(2)
@pytest.mark.parametrize("stem", evidence_stems(ROOT))
def test_a_second_of_its_kind_below_it_is_nothing_to_it(stem, browser):
    folder = ROOT / "book" / "lessons" / stem / "tests"
    at = next(at for at in TRANSCRIPTS if at[0] == folder and "\ntype " in script(at))
    shown = MODULES[folder].PAGES[at[1]]
    before, typed, _ = re.split(r"^(type .*)$", script(at), maxsplit=1, flags=re.MULTILINE)
    unfolded = [line for line in before.splitlines() if line.endswith("summary")]
    pages = ([*shown()], [*shown(), *shown()])
    lines = "\n".join([FIRST_ALONE, *unfolded, typed])
    alone, beside = (list(transcript(browser, page, lines)) for page in pages)
    assert beside[beside.index(f"> {typed}") :] == alone[alone.index(f"> {typed}") :]
