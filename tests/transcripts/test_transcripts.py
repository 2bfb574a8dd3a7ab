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


def told(folder: Path, name: str) -> Path:
    return folder / f"transcript_{name}.txt"


def script(folder: Path, name: str) -> str:
    file = told(folder, name)
    return script_of(file.read_text("utf-8").splitlines()) if file.exists() else ""


def named(part: Path | str) -> str:
    return Path(str(part).removesuffix("/tests")).name


@pytest.mark.parametrize(("folder", "name"), TRANSCRIPTS, ids=named)
def test_a_widget_does_what_was_read_of_it(folder, name, browser, take):
    module = MODULES[folder]
    whole = getattr(module, "WHOLE", {}).get(name, ())
    now = list(transcript(browser, module.PAGES[name](), script(folder, name), whole))
    if wrong := hold(told(folder, name), now, take):
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
    pages = MODULES[folder].PAGES
    name = next(name for name in pages if "\ntype " in script(folder, name))
    before, typed, _ = re.split(r"^(type .*)$", script(folder, name), maxsplit=1, flags=re.M)
    unfolded = [line for line in before.splitlines() if line.endswith("summary")]
    lines, shown = "\n".join([FIRST_ALONE, *unfolded, typed]), pages[name]
    both = ([*shown()], [*shown(), *shown()])
    alone, beside = (list(transcript(browser, page, lines)) for page in both)
    assert beside[beside.index(f"> {typed}") :] == alone[alone.index(f"> {typed}") :]
