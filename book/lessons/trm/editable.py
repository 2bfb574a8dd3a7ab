"""The lesson's code that a reader may change in the page: what it is run on, and beside what."""

from book.lessons.trm import evidence, recipe
from book.page.code.lesson import Cell

PUZZLES = 3

TASK = """\
def task(cell, given):
    _, _, digits, q = cell["look"](given, given["puzzles"], given["y"], given["z"])
    return {"logits": torch.cat([digits.flatten(), q])}
"""
"""What the first look at some puzzles makes of them: the digits' logits, and whether to stop."""


def cells() -> list[Cell]:
    """The network and one look with it, with recorded weights, at three puzzles."""
    model = evidence.network()
    puzzles, _ = recipe.FRESH["minimal"]._replace(size=PUZZLES).sample()
    y, z = model.start(PUZZLES)
    given = {**model.state_dict(), "puzzles": puzzles, "y": y, "z": z}
    digits = ("digit", model.out.out_features)
    return [Cell("model", "model-cell", needs="rest-cell", task=TASK, given=given, chooses=digits)]
