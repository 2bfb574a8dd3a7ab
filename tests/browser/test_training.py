"""Training in the page: driven from outside as a reader would, judged by torch."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect
from torch import Generator

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.equilibrium.recipe import IN_PAGE_RATE

from .conftest import STRICT_POLICY, Visit, address, serve
from .training_page import NO_BLOBS, TRAINS, begin, choose, pick, tallied, train, trained

CHAPTER = "book/lessons/deep_qkv/deep_qkv.html"
OpenPage = Callable[..., Visit]


@torch.no_grad()
def test_what_was_trained_is_a_model_of_the_package(visit: Visit, tmp_path: Path) -> None:
    """The file's weights, in torch: the score that the page gives, and the words that it shows."""
    model = Sorter(Config("plain"), Generator())
    widget, end = trained(visit, model, tmp_path, speed="fast")
    assert end["step"] == "1000"
    assert [path.name for path in tmp_path.iterdir()] == ["abc-sorter-plain.safetensors"]
    solved = int(sorting.probe(model)["solved"])
    assert round(float(end["score"]) * 27) == solved
    assert widget.locator(".abc-word:not(.abc-wrong)").count() == solved
    # of the step before the last, so the loss after it is near
    after = sorting.loss(model, sorting.population()).item()
    assert float(end["loss"]) == pytest.approx(after, abs=5e-3)
    assert float(end["loss"]) >= sorting.FLOOR


COPIER = {"learning rate": "0.015", "steps": "200", "speed": "fast"}
SETTLED = {"learning rate": str(2 * IN_PAGE_RATE), "steps": "150"}
CHALLENGES = {
    "all but two sort": ("deep_qkv", ["the four it can know"], {"steps": "600"}, 16, (0, 2)),
    "all copy": ("triple_product", ["1", "12"], COPIER, 8, (0, 0)),
    "all know more": ("equilibrium", ["AEP"], SETTLED, 3, (0, 0)),
    "not all know more": ("equilibrium", ["naive"], SETTLED, 3, (1, 3)),
}
LONG = [("all copy", 2), *((name, CHALLENGES[name][3]) for name in CHALLENGES)]


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("all but two sort", 3), *(pytest.param(*each, marks=pytest.mark.long) for each in LONG)],
)
def test_so_many_seeds_meet_the_challenge(name: str, seeds: int, open_page: OpenPage) -> None:
    """With settings that the page offers; or do not, where it says that nobody will."""
    stem, options, menus, most, (least, missed) = CHALLENGES[name]
    widget = open_page(f"{address(stem)}?bare").page.locator(TRAINS).first
    pick(widget, *options)
    choose(widget, **menus)
    begin(widget)
    widget.get_by_role("button", name=f"{most} seeds").click()
    met, tried = tallied(widget, seeds, most)
    assert least <= tried - met <= missed


def test_a_host_that_bars_workers_is_told_of(site: Path, open_page: OpenPage) -> None:
    with serve(site, policy=f"{STRICT_POLICY}; worker-src 'none'") as base:
        sorter = open_page(f"{CHAPTER}?bare", base=base).page.locator(".abc-sorter")
        sorter.get_by_role("button", name="Train", exact=True).click()
        expect(sorter).to_contain_text("This browser cannot train here")


@pytest.mark.parametrize("where", ["strict", "disk", "no blobs"])
def test_it_trains_wherever_the_page_lies(
    where: str, open_page: OpenPage, site: Path, request: pytest.FixtureRequest
) -> None:
    """Under a policy that allows no code but the page's own, no WebAssembly; or as in WebKit."""
    fixture = "strict_server" if where == "strict" else "server"
    base = site.as_uri() + "/" if where == "disk" else request.getfixturevalue(fixture)
    visit = open_page(f"{CHAPTER}?bare", base=base)
    if where == "no blobs":
        visit.page.add_init_script(NO_BLOBS)
        visit.page.reload()
    sorter = visit.page.locator(".abc-sorter")
    choose(sorter, speed="fast", steps="300")
    assert train(sorter)["step"] == "300"
    visit.failed = [each for each in visit.failed if each != "blob:nothing"]
    visit.assert_clean()
