"""What each lesson costs, for one and for a class: from the records of `make experiments`.

    python benchmarks/costs.py

The records are made where the lessons' runs are kept: each lesson in a kernel of its own, one at a
time, on one thread, its processor time and the most memory that it held. book/teaching/costs.md
shows the same table.
"""

from pathlib import Path

from book.kit import results
from book.site.dependencies import lesson_page, lesson_stems, read_notebook

ROOT = Path(__file__).resolve().parents[1]
STUDENTS = 80
HEADER = ("lesson", "seconds", "GB", "FAST=1, seconds", "GB", "80 at once, core-minutes", "GB")


def title(stem: str) -> str:
    """A lesson's, as its notebook begins."""
    first = read_notebook(ROOT / lesson_page(stem)).cells[0].source
    return str(first.partition("\n")[0].removeprefix("# "))


def rows() -> list[tuple[str, ...]]:
    """A row a lesson: processor seconds and memory, trained and with FAST=1, and of a class."""
    found = []
    for stem in lesson_stems(ROOT):
        runs = results.load(f"{stem}_runs")["runs"]
        trained, fast = runs["trained"], runs["FAST=1"]
        numbers = [
            f"{trained['processor']:.0f}",
            f"{trained['memory']:.1f}",
            f"{fast['processor']:.0f}",
            f"{fast['memory']:.1f}",
            f"{STUDENTS * trained['processor'] / 60:.0f}",
            f"{STUDENTS * trained['memory']:.0f}",
        ]
        found.append((title(stem), *numbers))
    return found


def table() -> str:
    """The table, in Markdown."""
    lines = [HEADER, ("---", *["---:"] * (len(HEADER) - 1)), *rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
