"""What was tried in which engine, for readers: `make browsers` writes the table of a page anew.

    python -m tests.engines RESULTS.xml

From pytest's own file of results. Only a run of every question in every engine makes a table.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from datetime import date
from pathlib import Path

from .asking import PRINTED, QUESTIONS
from .driven import ENGINES

PAGE = Path(__file__).parents[2] / "book" / "reference" / "browsers.md"
TABLE = re.compile(r"(Tried on .*\n\n(\|.*\n)+\n)?(?=## Access\n)")
"""Where it stands, or will."""
UNPRINTED = "not tried: its driver cannot print"


def table(results: Path, day: date) -> str:
    """A row for each question, a column for each engine: of how many pages it holds.

    Raises:
        ValueError: an engine was not there, or a question not asked.
    """
    asked: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    versions: dict[str, str] = {}
    for case in ElementTree.parse(results).iter("testcase"):
        told = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        if "question" not in told:
            continue
        at = told["question"], told["engine"]
        versions[told["engine"]] = told["version"]
        asked[at] += 1
        held[at] += all(case.find(what) is None for what in ("failure", "error", "skipped"))

    def cell(question: str, engine: str) -> str:
        at = question, engine
        if at == (PRINTED, "WebKit"):
            return UNPRINTED
        if not asked[at]:
            raise ValueError(f"{engine} was not asked: {question}")
        return f"{held[at]} of {asked[at]} pages"

    rows = [[question, *(cell(question, each) for each in ENGINES)] for question in QUESTIONS]
    head = [["what was asked", *(versions[each] for each in ENGINES)], ["---"] * (1 + len(ENGINES))]
    lines = [f"| {' | '.join(row)} |\n" for row in head + rows]
    return f"Tried on {day.day} {day:%B %Y}.\n\n{''.join(lines)}\n"


if __name__ == "__main__":
    made = table(Path(sys.argv[1]), date.today())
    text = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda _: made, text, count=1), "utf-8")
    print(made)
