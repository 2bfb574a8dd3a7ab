"""What each lesson costs, for one and for a class: from the records of `make experiments`.

    python benchmarks/costs.py

The records are made where the lessons' runs are kept: each lesson in a kernel of its own, one at a
time, on one thread, its processor time and the most memory that it held. book/teaching/costs.md
shows the same table.
"""

from attn_notes.analysis import results

LESSONS = {
    "deep_qkv": "1. Deep QKV",
    "triple_product": "2. Triple product",
    "dialectical": "3. Dialectical head",
    "equilibrium": "4. Equilibrium propagation",
    "trm": "5. Tiny recursion",
}
STUDENTS = 80
HEADER = ("lesson", "seconds", "GB", "FAST=1, seconds", "GB", "80 at once, core-minutes", "GB")


def rows() -> list[tuple[str, ...]]:
    """A row a lesson: processor seconds and memory, trained and with FAST=1, and of a class."""
    found = []
    for stem, name in LESSONS.items():
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
        found.append((name, *numbers))
    return found


def table() -> str:
    """The table, in Markdown."""
    lines = [HEADER, ("---", *["---:"] * (len(HEADER) - 1)), *rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
