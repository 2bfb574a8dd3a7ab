"""A saved training step: a page from a disk that trains, to torch's own numbers."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, BrowserContext, Page, expect
from torch import Generator, Tensor, nn

from attn_notes.programs import training
from attn_notes.training import ensemble
from attn_notes.training.checkpoint import load_weights
from attn_notes.training.schedules import warmup_cosine

from ..programs.scripts import HOW, Line, saved, squares
from .conftest import Visit, recorded, serve
from .training_page import NO_BLOBS
from .widget_page import light_and_dark


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    yield context
    context.close()


@pytest.fixture
def opened(context: BrowserContext) -> Iterator[Callable[[str], Page]]:
    """Opens a page that nothing goes wrong in, and that asks for nothing but itself."""
    visits: list[Visit] = []

    def open_page(address: str) -> Page:
        visits.append(recorded(context.new_page(), address))
        visits[-1].page.goto(address)
        return visits[-1].page

    yield open_page
    for visit in visits:
        visit.assert_clean()
        asked = [answer.url for answer in visit.responses if not answer.url.startswith("blob:")]
        assert asked == [visit.page.url]
        visit.page.close()


def train(page: Page) -> tuple[float, Path]:
    """Press Train, wait for the end: the last loss, and the weights that are handed out."""
    page.get_by_role("button", name="Train").click()
    expect(page.locator("body")).to_have_attribute("data-training", "done")
    with page.expect_download() as found:
        page.get_by_role("button", name="Download").click()
    return float(page.locator("body").get_attribute("data-loss") or "nan"), found.value.path()


def assert_as_torch(
    page: Page, model: nn.Module, loss: Callable[..., Tensor], batches: list[Any]
) -> None:
    """Fail unless the page ends with torch's loss and weights; it is trained here, too."""
    ended, file = train(page)
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learnt, HOW["rate"], weight_decay=HOW["decay"])
    factor = warmup_cosine(HOW["steps"], HOW["warmup"])
    for i in range(HOW["steps"]):
        optimizer.param_groups[0]["lr"] = HOW["rate"] * factor(i)
        optimizer.zero_grad()
        value = loss(model, batches[i % len(batches)])
        value.backward()
        optimizer.step()
    assert ended == pytest.approx(value.item(), abs=1e-9)
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    assert b"fixed" not in file.read_bytes()  # what is frozen is not handed out
    load_weights(model.float(), file)
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.double(), weights[name], rtol=0, atol=1e-6)


Trained = tuple[Path, nn.Module, list[Tensor]]


@pytest.fixture
def line(tmp_path: Path) -> Trained:
    return saved(tmp_path / "line")


@pytest.mark.parametrize("disk", [False, True])
def test_it_trains_as_torch_does(disk, line, opened):
    page, model, batches = line
    before = model.fixed.weight.detach().clone()
    with serve(page.parent) as address:
        at = page.as_uri() if disk else f"{address}index.html"
        assert_as_torch(opened(at), model, squares, batches)
    assert torch.equal(model.fixed.weight.double(), before)


def test_it_is_for_everybody_on_a_phone(line, opened, axe):
    page = opened(line[0].as_uri())
    page.get_by_role("textbox", name="Seed").fill("-1")
    expect(page.get_by_role("alert")).not_to_be_empty()
    findings = axe(page)
    page.get_by_role("textbox", name="Seed").fill("")
    page.get_by_role("button", name="Train").press("Enter")
    expect(page.locator("body")).to_have_attribute("data-training", "done")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert findings + light_and_dark(page, axe, "html") == []


# The step at which a page stays, if it does: what it asked for before it was paused may come late.
AT_REST = """async () => {
  const { dataset } = document.body;
  for (let i = 0; i < 100; i++) {
    const before = dataset.step;
    await new Promise((done) => setTimeout(done, 300));
    if (dataset.step === before) return before;
  }
  return null;
}"""


def test_it_pauses_goes_on_and_starts_again_at_any_time(line, opened):
    """In the middle of a long training; what it then says and has is its transcript."""
    page = opened(line[0].as_uri())
    body, train_it = page.locator("body"), page.locator("#train")
    page.get_by_role("textbox", name="Steps").fill("100000000")
    train_it.click()
    expect(body).not_to_have_attribute("data-step", "0")
    train_it.click()
    expect(body).to_have_attribute("data-training", "paused")
    paused = page.evaluate(AT_REST)
    assert paused is not None
    train_it.click()
    expect(body).not_to_have_attribute("data-step", paused)
    page.get_by_role("button", name="Start again").click()
    page.wait_for_timeout(200)
    expect(body).to_have_attribute("data-step", "0")
    expect(page.locator("#now")).to_be_empty()


def test_where_a_worker_imports_no_blob_it_trains(line, context):
    page = context.new_page()
    page.add_init_script(NO_BLOBS)
    page.goto(line[0].as_uri())
    page.locator("#train").click()
    expect(page.locator("body")).to_have_attribute("data-training", "done")
    page.close()


def test_a_model_in_single_precision_trains_all_steps(opened, tmp_path):
    """And falls as far as torch's, to what single precision can tell. A loss is before its step."""
    model = Line(Generator().manual_seed(1))
    batch = torch.randn(8, 3, generator=Generator().manual_seed(2))
    how = HOW | {"steps": 400}
    program = training.step(model, squares, batch)
    page = program.save(tmp_path, training.inputs(model, batch), **how)
    ended, _ = train(opened(page.as_uri()))
    run = ensemble.train(
        [model], squares, batch, steps=399,
        optimizer=partial(torch.optim.AdamW, lr=0.01, weight_decay=0.1),
        schedule=warmup_cosine(400, 2),
    )  # fmt: skip
    wanted = squares(run.member(0), batch).item()
    assert ended == pytest.approx(wanted, rel=1e-4)
