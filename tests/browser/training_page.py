"""A widget's panel for training, driven as a reader does."""

import json
from collections.abc import Callable
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


def pause(widget: Locator) -> int:
    """Press Pause; the step that it stays at."""
    widget.get_by_role("button", name="Pause").click()
    expect(widget).to_have_attribute("data-training", "paused")
    paused = -1
    for _ in range(9):  # what the Worker had in hand is shown yet, which takes it a while if busy
        before, paused = paused, int(told(widget)["step"])
        if before == paused:
            break
        widget.page.wait_for_timeout(1500)
    widget.page.wait_for_timeout(500)
    assert int(told(widget)["step"]) == before == paused  # nothing moves
    return paused


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


def longest_task(page: Page, work: Callable[[], object]) -> float:
    """The most milliseconds of the processor that one task of a page takes while it works.

    By the clock a task also takes what others do on the same cores meanwhile, so that is not
    counted.
    """
    browser = page.context.browser
    assert browser
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    try:
        work()
    finally:
        trace = browser.stop_tracing()
    events = json.loads(trace)["traceEvents"]
    pages = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return max(
        event["tdur"] / 1000
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in pages
        if "tdur" in event  # else it had not ended when the trace did
    )
