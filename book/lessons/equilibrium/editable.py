"""The lesson's code that a reader may change in the page: what it is run on, and beside what."""

from torch import Tensor

from book.lessons.equilibrium import evidence
from book.page.code.lesson import Cell

STEPS = 16
PLACES = 12  # characters of each piece, so that a page is quick

TASK = f"""\
def task(cell, given):
    pieces = given["pieces"]
    x = given["token"][pieces] + given["position"][:pieces.shape[1]]
    x = F.layer_norm(x, x.shape[-1:])

    def force(z):
        return x - z + cell["attend"](given, z) - 3 * z

    return {{"logits": cell["settle"](force, x, {STEPS})}}
"""
"""The states that two pieces of text settle to."""


def cells() -> list[Cell]:
    """The attention and how it settles, with recorded weights, on two pieces of the text."""
    model, characters = evidence.trained()
    weights: dict[str, Tensor] = model.state_dict()
    del weights["unembedding.weight"]
    return [
        Cell(
            "model",
            "model-cell",
            task=TASK,
            given={**weights, "pieces": evidence.pieces()[:, :PLACES]},
            ahead=("pieces", len(characters)),
        )
    ]
