"""What the lesson asks its reader to predict."""

from book.kit.predictions import Choice, Part

WRONG = Choice(
    "wrong",
    "Wrong is",
    {"collate": 1.0, "loss": 0.999, "both": 0.998, "neither, alone": 0.0},
)
"""What is asked before it is told. All that is wrong lies as good as equally far off."""


def predicted(collates: bool, asks: bool) -> list[Part]:
    """Which it is, by whether each of the two is right when alone."""
    came = {(True, True): "neither, alone", (False, True): "collate", (True, False): "loss"}
    return [WRONG.came(WRONG.options[came.get((collates, asks), "both")])]
