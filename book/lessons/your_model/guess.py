"""What the lesson asks its reader to predict."""

from book.kit.predictions import Choice, Part

WRITES = Choice(
    "written",
    "After abc it writes",
    {"defghijk": 1.0, "egikmoqs": 0.0, "cccccccc": 0.999, "letters in no order": 0.998},
)
"""What is asked before it writes. All that is wrong lies as good as equally far off."""


def predicted(text: str) -> list[Part]:
    """What became of it."""
    came = {f"abc{words}": value for words, value in WRITES.options.items()}
    return [WRITES.came(came.get(text, 0.998))]
