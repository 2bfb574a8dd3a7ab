"""Every page that somebody has read shows what was read of it, cell by cell.

The text of `book/STEM.ipynb` is `tests/chapters/STEM/page.txt`, that of its evidence `evidence.txt`
beside it. CONTRIBUTING says how a page is held.
"""

from pathlib import Path

import pytest
from dependencies import notebook_paths

from .held import hold, place
from .shown import shown

ROOT = Path(__file__).parents[2]
CHAPTERS = ROOT / "tests" / "chapters"
READ = {
    path: file
    for path in notebook_paths(ROOT)
    for kind in ["evidence" if path.parent.name == "evidence" else "page"]
    if (file := CHAPTERS / path.stem / f"{kind}.txt").exists()
}
"""Notebooks and their texts. A page is held from when its file is there, be it empty."""


@pytest.mark.parametrize("path", READ, ids=str)
def test_a_page_shows_what_was_read_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, take: str | None
) -> None:
    now = list(shown(ROOT / path, monkeypatch))
    hold(READ[path], now, take)
    if wrong := [place(now, i) + line.strip() for i, line in enumerate(now) if "  NO: " in line]:
        pytest.fail("\n".join(wrong), pytrace=False)
