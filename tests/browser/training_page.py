"""A widget's panel for training, driven as a reader does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator, expect
from torch import nn

from attn_notes.training import checkpoint

from .conftest import Visit

TRAINS = ".attn-widget:has(.attn-train)"
PATIENCE = 600_000  # milliseconds: it bounds what hangs, and says nothing of how fast it is

UNABLE = {
    "there is none": "delete window.Worker;",
    "none may be made": """window.Worker = function () {
      throw new DOMException("barred", "SecurityError");
    };""",
    "it ends at once": """{
      const ended = URL.createObjectURL(new Blob(["throw new Error('at once')"]));
      const Plain = Worker;
      window.Worker = class extends Plain { constructor() { super(ended); } };
    }""",
}
"""Scripts of a page whose Workers do not begin, by what goes wrong with them."""

NO_BLOBS = """{
  const Plain = Blob;
  const none = "URL.createObjectURL = () => 'blob:nothing';";
  window.Blob = class extends Plain {
    constructor(parts, how) { super(/^onmessage/.test(parts[0]) ? [none, ...parts] : parts, how); }
  };
}"""
"""As in WebKit, whose Workers import no `blob:` where the page was read from a disk."""


TRAIN = (".attn-guess", ".attn-settings > summary", ".attn-go", ".attn-chart")
"""Parts of the panel that stand beside what it trains."""


@dataclass(frozen=True)
class Challenge:
    """What a panel's challenge comes to with settings that it offers."""

    name: str
    picked: Sequence[str]
    seeds: int
    missed: tuple[int, int]
    """How many of its seeds do not meet it, at least and at most."""
    menus: dict[str, str] = field(default_factory=dict)

    def meet(self, seeds: int, visit: Visit) -> None:
        """With settings that the page offers so many meet it; or do not, where it says so."""
        widget = visit.page.locator(TRAINS).first
        pick(widget, *self.picked)
        choose(widget, **self.menus)
        begin(widget)
        widget.get_by_role("button", name=f"{self.seeds} seeds").click()
        met, tried = tallied(widget, seeds, self.seeds)
        least, most = self.missed
        assert least <= tried - met <= most


def told(widget: Locator) -> dict[str, str]:
    """What a widget's element says of its training."""
    found: dict[str, str] = widget.evaluate("(node) => ({ ...node.dataset })")
    return found


def unfold(widget: Locator) -> None:
    """Open the settings, which are folded."""
    folded = widget.locator("details.attn-settings:not([open]) > summary")
    for i in reversed(range(folded.count())):
        if folded.nth(i).is_visible():
            folded.nth(i).click()


def choose(widget: Locator, **boxes: str) -> None:
    """Take an option of menus, by their labels."""
    unfold(widget)
    for label, value in boxes.items():
        widget.get_by_label(label.capitalize(), exact=True).select_option(value)


def pick(widget: Locator, *options: str) -> None:
    """Take some of the rows of choices."""
    unfold(widget)
    for option in options:
        settings = widget.locator(".attn-settings")
        settings.get_by_role("radio", name=option, exact=True).check()


def begin(widget: Locator) -> None:
    """Press Train and pause: what else a panel offers is there from the first run on."""
    widget.get_by_role("button", name="Train", exact=True).click()
    widget.get_by_role("button", name="Pause", exact=True).click()


def train(widget: Locator) -> dict[str, str]:
    """Press Train and wait for the end."""
    widget.get_by_role("button", name="Train", exact=True).click()
    expect(widget).to_have_attribute("data-training", "done", timeout=PATIENCE)
    return told(widget)


def tallied(widget: Locator, seeds: int, most: int) -> tuple[int, int]:
    """Wait until so many seeds of a challenge have ended, or more: how many met it, of how many."""
    tally = widget.locator(".attn-challenge [role=status]").first
    ended = re.compile(rf"(\d+) of ({'|'.join(map(str, range(seeds, most + 1)))}) seeds")
    expect(tally).to_contain_text(ended, timeout=PATIENCE)
    found = re.search(r"(\d+) of (\d+) seeds", tally.text_content() or "")
    assert found
    return int(found[1]), int(found[2])


def load(model: nn.Module, widget: Locator, folder: Path) -> None:
    """Give a model the weights in training, from the file that the page hands out."""
    with widget.page.expect_download() as download:
        widget.get_by_role("button", name="Download").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    checkpoint.load_weights(model, path)
    model.requires_grad_(False)


def trained(
    visit: Visit, model: nn.Module, folder: Path, *options: str, **menus: str
) -> tuple[Locator, dict[str, str]]:
    """Train in a lesson's page; the model has the weights, and what is said comes back."""
    widget = visit.page.locator(TRAINS).first
    pick(widget, *options)
    choose(widget, **menus)
    said = train(widget)
    load(model, widget, folder)
    return widget, said
