"""Training by AEP, naively and by BPTT in the page, judged by torch."""

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Generator

from attn_notes.chapters.equilibrium import measure, recipe
from attn_notes.chapters.equilibrium.estimators import loss
from attn_notes.chapters.equilibrium.governor import force_left
from attn_notes.models.equilibrium import LanguageModel

from .conftest import Visit
from .training_page import choose, pick, tallied

CHAPTER = "book/equilibrium.html"

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


def model_of(numbers: dict[str, list[float]]) -> LanguageModel:
    """A model in double precision with the page's weights."""
    model = LanguageModel(recipe.IN_PAGE, Generator()).double()
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    assert numbers.keys() == shapes.keys()
    tensors = {name: torch.tensor(x, dtype=torch.float64) for name, x in numbers.items()}
    model.load_state_dict({name: tensors[name].view(shape) for name, shape in shapes.items()})
    return model


@pytest.mark.by_day
@pytest.mark.parametrize("way", recipe.IN_PAGE_WAYS)
def test_steps_in_the_page_are_torchs(way: str, module_page: Page) -> None:
    """From the same weights on the same pieces, the governor acting after some of the steps."""
    lesson = module_page.evaluate("saved.lesson")
    held = torch.tensor([[*map(lesson["characters"].index, text)] for text in lesson["held"]])
    tolerance = 5e-9
    found = module_page.evaluate(STEPS, [way, 5, tolerance])
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
            judged = loss(model, held, estimator).item()
        assert lost == pytest.approx(judged, abs=1e-5)  # which the Worker has in single precision
    assert len({*acted}) == 2
    end = model_of(found["end"]).state_dict()
    for name, tensor in model.state_dict().items():
        assert (end[name] - tensor).abs().max() <= 1e-9, name
        assert torch.equal(tensor, start[name]) == (name in dict(model.named_buffers())), name


@pytest.mark.long
@pytest.mark.parametrize(("way", "met"), [("AEP", True), ("naive", False)])
def test_the_challenge_can_be_met_by_aep(way: str, met: bool, visit: Visit) -> None:
    widget = visit.page.locator(".equilibrium.attn-widget").first
    choose(widget, **{"learning rate": str(2 * recipe.IN_PAGE_RATE), "steps": "150"})
    pick(widget.get_by_role("radiogroup", name="Way to the gradient"), way)
    widget.get_by_role("button", name="seeds").click()
    passed, tried = tallied(widget, 3, 3)
    assert (passed == tried) == met
    expect(widget.locator(".attn-challenge")).to_have_attribute("data-met", str(met).lower())
