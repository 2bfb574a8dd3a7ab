"""Questions to the functions of a widget's module, beside the widget on an empty page."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import pytest
import torch
from playwright.sync_api import Browser, CDPSession, Locator, Page
from torch import Tensor, nn

from book.page import bundle

from ..packed import parameters
from ..transcripts.played import ADDRESS, page_of
from .widget_page import READ_MODULE

TELL = """async (given) => JSON.stringify((await (%s)(...given)) ?? null,
  (_, told) => (ArrayBuffer.isView(told) ? [...told] : told))"""

UNLIKELY = 1e-4  # chance of a test to fail by accident


class Asked:
    """An empty page with this widget, if there is one, and `widget`: all that its files export."""

    def __init__(self, page: Page, stem: str, shown: Sequence[Any] = ()) -> None:
        self.page = page
        content = page_of(*shown, own="")
        page.route(ADDRESS, lambda route: route.fulfill(body=content, content_type="text/html"))
        page.goto(ADDRESS)
        page.evaluate(READ_MODULE, bundle.javascript(stem))

    def __call__(self, question: str, *given: Any) -> Any:
        """What a function gives, read as one text: what is no number comes as None."""
        return json.loads(self.page.evaluate(TELL % question, given))


def asking(stem: str, shown: Callable[[], Sequence[Any]] = tuple) -> Any:
    """A fixture: the page that all tests of a file ask."""

    @pytest.fixture(scope="module")
    def ask(browser: Browser, profile: CDPSession) -> Iterator[Asked]:
        page = browser.new_context(reduced_motion="reduce").new_page()
        with patch.dict(os.environ, FAST="1"):
            yield Asked(page, stem, shown())
        page.context.close()

    return ask


def set_weights(model: nn.Module, numbers: Mapping[str, Sequence[float]]) -> None:
    """Give a model all numbers that the page has of it, each tensor's in a row."""
    state = model.state_dict()
    assert numbers.keys() == state.keys()
    given = {name: torch.as_tensor(x, dtype=torch.float64) for name, x in numbers.items()}
    model.load_state_dict({name: given[name].view_as(x) for name, x in state.items()})


def rebuild(ask: Asked, name: str, run: dict[str, Any], model: nn.Module) -> None:
    """Give a model the weights of a run; those that the page draws, as it has drawn them."""
    if "draws" in run:
        set_weights(model, ask("(name) => widget.unpack(models[0].get('runs')[name], 0)", name))
    else:
        model.load_state_dict(parameters(run, 0))
    model.requires_grad_(False)


def close(actual: Any, expected: Tensor, atol: float = 1e-9) -> None:
    """Fail if a number of the page is farther off."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    torch.testing.assert_close(actual, expected.detach().double(), atol=atol, rtol=0)


def near(actual: Any, expected: Tensor, share: float = 1e-6) -> None:
    """Fail if a number of the page is farther off than this share of the largest."""
    close(actual, expected, share * expected.abs().max().item() + 1e-300)


def assert_under(tracks: Locator, count: int, cell: Locator, share: float) -> None:
    """Fail unless so many tracks are as wide as each other, and a cell stands above its share."""
    boxes = [track.bounding_box() for track in tracks.all()]
    assert len(boxes) == count and len({(box["x"], box["width"]) for box in boxes if box}) == 1
    above, here = cell.bounding_box(), boxes[0]
    assert above and here
    assert above["x"] == pytest.approx(here["x"] + share * here["width"], abs=0.5)
