"""Training in the page: driven from outside as a reader would, judged by torch."""

from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import expect
from torch import Generator

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting

from .conftest import STRICT_POLICY, TRAINING, Visit, address, serve
from .training_page import NO_BLOBS, Challenge, choose, train, trained
from .widget_page import of_lesson

CHAPTER = "book/lessons/deep_qkv/deep_qkv.html"
OpenPage = Callable[..., Visit]


@torch.no_grad()
def test_what_was_trained_is_a_model_of_the_package(visit, tmp_path):
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


CHALLENGES: list[tuple[str, Challenge]] = [
    (stem, each) for stem in TRAINING for each in of_lesson(stem, "CHALLENGES")
]
of_each_challenge = pytest.mark.parametrize(
    ("stem", "asked"), CHALLENGES, ids=[each.name for _, each in CHALLENGES]
)
SOME = 3  # seeds


@pytest.mark.by_day
@of_each_challenge
def test_some_seeds_meet_a_challenge(stem, asked, open_page):
    asked.meet(SOME, open_page(address(stem)))


@pytest.mark.long
@of_each_challenge
def test_all_seeds_meet_a_challenge(stem, asked, open_page):
    asked.meet(asked.seeds, open_page(address(stem)))


def test_a_host_that_bars_workers_is_told_of(site, open_page):
    with serve(site, policy=f"{STRICT_POLICY}; worker-src 'none'") as base:
        sorter = open_page(f"{CHAPTER}?bare=training", base=base).page.locator(".abc-sorter")
        sorter.get_by_role("button", name="Train", exact=True).click()
        expect(sorter).to_contain_text("This browser cannot train here")


@pytest.mark.parametrize("where", ["strict", "disk", "no blobs"])
def test_it_trains_wherever_the_page_lies(where, open_page, site, request):
    """Under a policy that allows no code but the page's own, no WebAssembly; or as in WebKit."""
    fixture = "strict_server" if where == "strict" else "server"
    base = site.as_uri() + "/" if where == "disk" else request.getfixturevalue(fixture)
    visit = open_page(f"{CHAPTER}?bare=training", base=base)
    if where == "no blobs":
        visit.page.add_init_script(NO_BLOBS)
        visit.page.reload()
        visit.settle()
    sorter = visit.page.locator(".abc-sorter")
    choose(sorter, speed="fast", steps="300")
    assert train(sorter)["step"] == "300"
    visit.failed = [each for each in visit.failed if each != "blob:nothing"]
    visit.assert_clean()
