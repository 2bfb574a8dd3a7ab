"""What the lesson says of its cells and their report does not show."""

from book.site.dependencies import lesson_page, python_code
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("your_model"))


def test_what_a_detached_half_leaves_right() -> None:
    """The parameters behind the last attention, in its block's network and the head."""
    train = CELLS["train-both"].partition("\n\ndef train")[0]
    parts = (*(CELLS[name] for name in ("setup", "transformer", "floor")), train)
    scope: dict = {}
    for code in (*parts, "test = texts(400, 16, seed=9)", CELLS["slope"]):
        exec(python_code(code), scope)
    right = {a.check for a in scope["found"].answers if not a.bad}
    behind = ("head", "blocks.1.second", "blocks.1.network")
    assert right == {a.check for a in scope["found"].answers if a.check.startswith(behind)}
