"""A widget's panel for training, driven as a reader does."""

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

PATIENCE = 60_000  # milliseconds


def told(widget: Locator) -> dict[str, str]:
    """What a widget's element says of its training."""
    found: dict[str, str] = widget.evaluate("(node) => ({ ...node.dataset })")
    return found


def choose(widget: Locator, **boxes: str) -> None:
    """Take an option of menus, by their labels."""
    for label, value in boxes.items():
        widget.get_by_label(label.capitalize(), exact=True).select_option(value)


def pick(widget: Locator, option: str) -> None:
    """Take one of a row of choices."""
    widget.get_by_role("radio", name=option, exact=True).check()


def train(widget: Locator) -> dict[str, str]:
    """Press Train and wait for the end."""
    widget.get_by_role("button", name="Train", exact=True).click()
    expect(widget).to_have_attribute("data-training", "done", timeout=PATIENCE)
    return told(widget)


def one_step(widget: Locator) -> dict[str, str]:
    """Press One step, which nothing came before."""
    widget.get_by_role("button", name="One step").click()
    expect(widget).to_have_attribute("data-step", "1")
    return told(widget)


def downloaded(page: Page, widget: Locator, folder: Path) -> Path:
    """The weights in training, as a file."""
    with page.expect_download() as download:
        widget.get_by_role("button", name="Download").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path
