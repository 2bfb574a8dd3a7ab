"""A lesson's editor, driven as a reader does."""

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from .training_page import PATIENCE, told


@dataclass(frozen=True)
class Change:
    """A change that a lesson's text names, and what comes of it.

    `named` stands in the text; where there is no `after`, lines with `before` are taken out.
    `agrees` and `ahead` are what the page finds; `score` is reached by training, if it is trained,
    and `below` is whether its loss then lies below the floor.
    """

    named: str
    before: str
    after: str | None = None
    agrees: bool = False
    ahead: bool = False
    score: float | None = None
    below: bool = False


OPEN = Change(
    "The line with `masked_fill` taken out", "masked_fill", ahead=True, score=0, below=True
)


def editor(page: Page, name: str = "model") -> Locator:
    """The editor of a cell."""
    found = page.locator(f".attn-cell-place[data-cell={name}] .attn-cell")
    expect(found).to_have_count(1)
    return found


def code(cell: Locator) -> str:
    """What stands in it."""
    return cell.get_by_role("textbox").input_value()


def change(cell: Locator, before: str, after: str | None) -> None:
    """Change the book's code in one place, or take out the lines that have this."""
    cell.get_by_role("button", name="The book’s code again").evaluate("(button) => button.click()")
    text = code(cell)
    assert text.count(before) == 1, f"the book's cell has {before!r} {text.count(before)} times"
    lines = "".join(line for line in text.splitlines(keepends=True) if before not in line)
    cell.get_by_role("textbox").fill(lines if after is None else text.replace(before, after))


def run(cell: Locator) -> dict[str, str]:
    """Press Run and wait for what comes."""
    cell.get_by_role("button", name="Run", exact=True).click()
    expect(cell).not_to_have_attribute("data-code", "running", timeout=PATIENCE)
    return told(cell)


def train(cell: Locator) -> dict[str, str]:
    """Press Train and wait for the end of the run."""
    cell.get_by_role("button", name="Train", exact=True).click()
    expect(cell).not_to_have_attribute("data-code", "running", timeout=PATIENCE)
    assert told(cell)["code"] == "done", said(cell)
    expect(cell).to_have_attribute("data-training", "done", timeout=PATIENCE)
    return told(cell)


def said(cell: Locator) -> str:
    """What it says of the code."""
    return cell.locator(".attn-cell-said").inner_text()
