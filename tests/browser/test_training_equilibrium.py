"""Training by AEP, naively and by BPTT in the page: driven as a reader would, judged by torch."""

from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.chapters.equilibrium import measure, recipe
from attn_notes.chapters.equilibrium.estimators import loss
from attn_notes.chapters.equilibrium.governor import force_left
from attn_notes.models.equilibrium import LanguageModel
from attn_notes.training import checkpoint

from .conftest import Visit
from .training_page import choose, downloaded, one_step, pick, tallied, told, train, unfold

CHAPTER = "book/equilibrium.html"
WAYS = list(recipe.IN_PAGE_WAYS)
GOAL = list(recipe.IN_PAGE_KNOWS)[-1]

# Some steps as the Worker takes them, in double precision, and what each read and saw.
STEPS = """async ([way, steps, tolerance]) => {
  const { ways, draws, optimizer, ...options } = saved.lesson;
  const program = await widget.importText(Object.fromEntries(ways)[way]);
  const H = new Float64Array(program.size);
  const run = program.make(H);
  const generator = widget.random(5);
  widget.draw(H, program.inputs, draws, generator);
  const governor = { ...options.governor, tolerance };
  const given = { H, program, random: generator, options: { ...options, governor } };
  const task = await widget.TASKS.settling(given);
  const update = widget.adamw(H, program, optimizer);
  const numbers = (place) => Array.from(widget.slot(H, place));
  const weights = () =>
    Object.fromEntries(Object.entries(task.read()).map(([name, x]) => [name, Array.from(x)]));
  const found = { start: weights(), batches: [], seen: [], lost: [] };
  for (let i = 0; i < steps; i++) {
    task.feed(i);
    found.batches.push(numbers(program.inputs.batch));
    run();
    const { loss, left } = program.outputs;
    found.seen.push([numbers(loss)[0], numbers(left)[0]]);
    update();
    task.after();
    found.lost.push(task.judge().loss);
  }
  return { ...found, end: weights() };
}"""


@pytest.fixture
def widget(visit: Visit) -> Locator:
    explorer = visit.page.locator(".equilibrium.attn-widget").first
    expect(explorer.get_by_role("button", name="Train", exact=True)).to_be_visible()
    return explorer


@pytest.fixture(scope="module")
def lesson(module_page: Page) -> dict[str, Any]:
    """What the page saved of it."""
    saved: dict[str, Any] = module_page.evaluate("saved.lesson")
    return saved


def by(widget: Locator, way: str) -> None:
    """Choose how the gradient is found: the guess has options of the same names."""
    unfold(widget)
    pick(widget.get_by_role("radiogroup", name="Way to the gradient"), way)


def held_out(lesson: dict[str, Any]) -> Tensor:
    return encoded(lesson, *lesson["held"])


def encoded(lesson: dict[str, Any], *texts: str) -> Tensor:
    return torch.tensor([[lesson["characters"].index(c) for c in text] for text in texts])


def model_of(numbers: dict[str, list[float]]) -> LanguageModel:
    """A model in double precision with the page's weights."""
    model = LanguageModel(recipe.IN_PAGE, Generator()).double()
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    assert numbers.keys() == shapes.keys()
    tensors = {name: torch.tensor(x, dtype=torch.float64) for name, x in numbers.items()}
    model.load_state_dict({name: tensors[name].view(shape) for name, shape in shapes.items()})
    return model


@pytest.mark.now("AEP")
@pytest.mark.parametrize("way", WAYS)
def test_steps_in_the_page_are_torchs(way: str, module_page: Page, lesson: dict[str, Any]) -> None:
    """From the same weights on the same pieces, the governor acting after some of the steps."""
    tolerance, count = 5e-9, 5
    found = module_page.evaluate(STEPS, [way, count, tolerance])
    model = model_of(found["start"])
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = measure.adamw_at_two_rates(list(model.parameters()), recipe.IN_PAGE_RATE)
    estimator = recipe.ESTIMATORS[recipe.IN_PAGE_WAYS[way]]
    acted = []
    for batch, (cost, left), lost in zip(
        found["batches"], found["seen"], found["lost"], strict=True
    ):
        pieces = torch.tensor(batch).long().view(recipe.BATCH, -1)
        for piece in pieces.tolist():
            assert "".join(lesson["characters"][i] for i in piece) in lesson["text"]
        value = loss(model, pieces, estimator)
        remains = force_left(model, pieces[:, :-1]).item()
        assert (cost, left) == pytest.approx((value.item(), remains), rel=1e-9, abs=1e-13)
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        acted.append(not remains < tolerance)
        with torch.no_grad():
            for p in model.block.parameters():
                p.mul_(lesson["governor"]["factor"] if acted[-1] else 1)
            judged = loss(model, held_out(lesson), estimator).item()
        assert lost == pytest.approx(judged, abs=1e-5)  # which the Worker has in single precision
    assert len({*acted}) == 2
    end = model_of(found["end"]).state_dict()
    for name, tensor in model.state_dict().items():
        assert (end[name] - tensor).abs().max() <= 1e-9, name
        assert torch.equal(tensor, start[name]) == (name in dict(model.named_buffers())), name


def test_all_ways_have_one_start_and_one_text(widget: Locator) -> None:
    losses = set()
    for way in WAYS:
        by(widget, way)
        assert told(widget)["training"] == "idle"
        losses.add(one_step(widget)["loss"])
    assert len(losses) == 1


def test_yardsticks_are_drawn_before_any_curve(widget: Locator, lesson: dict[str, Any]) -> None:
    assert told(widget)["step"] == "0"
    names = widget.locator(".attn-other-names span").all_text_contents()
    (first, value), (goal, nats) = lesson["yardsticks"]
    of = f"of {len(lesson['characters'])} characters"  # not as the lesson's own
    assert names == [f"{first} {of}, {value:.3f}"]
    assert goal == GOAL
    expect(widget.locator(".attn-floor-name")).to_have_text(f"{goal} {of}, {nats:.3f}")
    heights = widget.locator(".attn-losses line").evaluate_all(
        "(lines) => lines.map((line) => Number(line.getAttribute('y1')))"
    )
    higher, lower = heights
    assert 0 < higher < lower


def test_a_way_is_chosen_by_keys(visit: Visit, widget: Locator) -> None:
    unfold(widget)
    group = widget.get_by_role("radiogroup", name="Way to the gradient")
    group.get_by_role("radio", name=WAYS[0], exact=True).focus()
    visit.page.keyboard.press("ArrowRight")
    expect(group.get_by_role("radio", name=WAYS[1], exact=True)).to_be_checked()
    assert told(widget)["training"] == "idle"


@pytest.mark.long
@pytest.mark.parametrize("share", [0.25, 1])
def test_where_the_three_end_is_what_torch_says(
    share: float, visit: Visit, widget: Locator, lesson: dict[str, Any], tmp_path: Path
) -> None:
    """After the whole run AEP and BPTT are below the goal, and the naive way is not."""
    guess = widget.get_by_role("radiogroup", name="Your guess")
    pick(guess, "naive")
    choose(widget, steps=str(round(share * recipe.IN_PAGE_STEPS)))
    nats = dict(lesson["yardsticks"])
    scores = {}
    for way in WAYS:
        by(widget, way)
        scores[way] = float(train(widget)["score"])
        said = widget.locator(".attn-train-said").text_content()
        model = LanguageModel(recipe.IN_PAGE, Generator())
        checkpoint.load_weights(model, downloaded(visit.page, widget, tmp_path))
        end = loss(model, held_out(lesson), recipe.ESTIMATORS["frozen"]).item()
        expect(widget.locator(".eq-ends")).to_contain_text(f"{way} {end:.3f}")
        above = end - nats[GOAL]
        side = "above" if above > 0 else "below"
        line = widget.locator(".attn-train-line").first
        expect(line).to_contain_text(f"{abs(above):.3f} {side} {GOAL}")
        assert (scores[way] == 1) == (above <= 0)
    assert said == "naive learns least: its loss ends highest. As you guessed."
    assert scores["naive"] < min(scores["AEP"], scores["BPTT"])
    if share == 1:
        assert scores["AEP"] == scores["BPTT"] == 1
    drawn = widget.locator(".attn-losses polyline").evaluate_all(
        "(curves) => curves.map((curve) => curve.classList.item(curve.classList.length - 1))"
    )
    assert sorted(drawn) == ["eq-bptt", "eq-full", "eq-none"]


def test_weights_are_kept_and_taken_back(widget: Locator) -> None:
    one_step(widget)
    line = widget.locator(".attn-train-line").first
    words = (line.text_content() or "").partition("on held-out text")[2]
    widget.get_by_role("button", name="Keep").click()
    widget.get_by_role("button", name="Another seed").click()
    widget.get_by_role("button", name="Take back").click()
    expect(line).to_have_text(f"Kept weights: on held-out text{words}")


@pytest.mark.long
def test_the_challenge_is_without_a_way_back(widget: Locator) -> None:
    by(widget, "BPTT")
    widget.get_by_role("button", name="seeds").click()
    tally = widget.locator(".attn-challenge [role=status]")
    expect(tally).to_have_text("Not met: it is to be done without a way back.")


@pytest.mark.long
@pytest.mark.parametrize(("way", "met"), [("AEP", True), ("naive", False)])
def test_the_challenge_can_be_met_by_aep(way: str, met: bool, widget: Locator) -> None:
    by(widget, way)
    widget.get_by_label("Learning rate", exact=True).select_option(str(2 * recipe.IN_PAGE_RATE))
    widget.get_by_label("Steps", exact=True).select_option("150")
    widget.get_by_role("button", name="seeds").click()
    passed, tried = tallied(widget, 3, 3)
    assert (passed == tried) == met
    expect(widget.locator(".attn-challenge")).to_have_attribute("data-met", str(met).lower())
