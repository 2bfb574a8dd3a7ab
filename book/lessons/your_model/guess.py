"""What the lesson asks its reader to predict."""

from book.kit.predictions import Choice, Part

WRITES = Choice(
    "written",
    "After abc it writes",
    {"defghijk": 0.0, "egikmoqs": 1.0, "cccccccc": 2.0, "letters in no order": 3.0},
)
"""What is asked before it writes."""


def predicted(text: str) -> list[Part]:
    """What became of it."""
    came = {f"abc{words}": value for words, value in WRITES.options.items()}
    return [WRITES.came(came.get(text, 3.0))]
