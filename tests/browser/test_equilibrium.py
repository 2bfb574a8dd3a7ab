"""The equilibrium explorer against torch: two numbers, the network, its training.

What a reader does with it, line by line, is in book/lessons/equilibrium/tests/scripts.py.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import Generator, Tensor

from attn_notes.models.equilibrium import PUBLISHED, TOLERANCE, Config, LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from book.lessons.equilibrium import estimators, lesson, measure, recipe
from book.lessons.equilibrium.estimators import CORRECTIONS, Estimator, Implicit, Nudged
from book.lessons.equilibrium.governor import force_left
from book.lessons.equilibrium.probes import two_neurons
from book.lessons.equilibrium.tests.scripts import network
from book.lessons.equilibrium.widget import EquilibriumExplorer

from .asked import Asked, asking, assert_under, close, near, rebuild, set_weights
from .cell_page import Change
from .training_page import Challenge
from .widget_page import Scene

CHAPTER = "book/lessons/equilibrium/equilibrium.html"
CHARACTERS = "\n Tbeo,↑"
SMALL: dict[str, Any] = dict(vocabulary=len(CHARACTERS), context=9)
KINDS = [
    replace(PUBLISHED, **SMALL, width=15, heads=3),
    replace(PUBLISHED, **SMALL, width=7, heads=1, input="normalised", strength=0.7),
    Config(**SMALL, width=10, heads=2),
    Config(**SMALL, width=8, heads=1, damping=1.5, embedding="learned"),
    Config(**SMALL, width=12, heads=2, test="step", relaxation=Relaxation(7, 0.2)),
]


def some_model(config: Config, seed: int) -> LanguageModel:
    """A model of random numbers, as many as half precision has."""
    model = LanguageModel(config, Generator().manual_seed(seed)).requires_grad_(False)
    return model.half().float()


@cache
def shown() -> list[EquilibriumExplorer]:
    """The lesson's models and panel, and one of each kind."""
    [made] = network()
    characters = made.runs["trained"]["characters"]
    made.load("untrained", None, recipe.corrected_for(characters), characters)
    for i, config in enumerate(KINDS):
        numbers = {name: x[None] for name, x in some_model(config, i).state_dict().items()}
        made.load(f"kind {i}", numbers, config, CHARACTERS)
    made.teach(**lesson.settings(Text.read(FALLBACK)))
    return [made]


ask = asking("equilibrium", shown)


# Two numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiff", [[1.0, 1.0, 1.0], [1.5, 5.0, 2.0]])
def test_rings_move_until_springs_and_push_balance(stiff, ask):
    a, b, c = stiff
    springs = torch.tensor([[a + b, -b], [-b, b + c]], dtype=torch.float64)
    for ring, push in enumerate(3 * torch.eye(2, dtype=torch.float64)):
        near(
            ask("(ring, stiff) => widget.pushed(ring, stiff)", ring, stiff),
            torch.linalg.solve(springs, push),
        )


@pytest.mark.parametrize("stiff", [[1.0, 2.0, 1.0, 4.0, 1.0, 1.0, 3.0, 1.0], [2.5, 1.0, 0.5]])
def test_a_row_follows_until_springs_and_push_balance(stiff, ask):
    k = torch.tensor(stiff, dtype=torch.float64)
    springs = torch.diag(k[:-1] + k[1:]) - torch.diag(k[1:-1], 1) - torch.diag(k[1:-1], -1)
    for ring, push in enumerate(torch.eye(len(springs), dtype=torch.float64)):
        moved = ask("(ring, stiff) => widget.followed(ring, stiff)", ring, stiff)
        near(moved, torch.linalg.solve(springs, push))


@pytest.mark.parametrize("j", [[[-1.0, 0.0], [2.0, -1.0]], [[-1.0, 0.5], [0.5, -1.0]]])
def test_two_numbers_move_as_far_as_their_equation_says(j, ask):
    of, slope = torch.tensor(j, dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64)
    found = "(s, J, frames) => widget.moved(s, { J }, frames)"
    for share in (0.0, 0.3, 0.8, 1.0):
        turned = (1 - share) * of + share * of.T
        near(ask(found, share, j), torch.linalg.solve(turned, -slope))
        for frames in (1, 20):  # on the way a matrix exponential, up to the step's length
            left = torch.linalg.matrix_exp(frames * turned) @ slope - slope
            near(ask(found, share, j, frames), torch.linalg.solve(turned, left), 0.1)
    exact = ask("(J) => widget.moved(1, { J })", j)
    near(exact, torch.linalg.solve(of.T, -slope))  # the credit itself
    assert (ask("(J) => widget.moved(0.5, { J })", j) is None) == (j[0][1] == 0)  # it runs off


@pytest.mark.parametrize("frames", [1, 6, 60])
def test_under_the_limit_two_numbers_move_as_the_estimator_moves_them(frames, ask):
    found = ask("(J, frames) => widget.held({ J }, frames).away", [[-1, 0], [2, -1]], frames)
    near(found, two_neurons("clipped", 10 * frames), 1e-4)  # in single precision


# The network ------------------------------------------------------------------------------------


def test_every_number_of_half_precision_arrives(ask):
    every = torch.arange(-32768, 32768).to(torch.int16).view(torch.float16)
    found = ask(
        """(bytes) => {
          const weights = new DataView(Uint8Array.from(bytes).buffer);
          const run = { names: ['w'], shapes: [[65536]], seeds: 1, format: '<f2', weights };
          return Array.from(widget.unpack(run, 0).w, String);
        }""",
        [*every.numpy().astype("<f2").tobytes()],
    )
    for text, number in zip(found, every.tolist(), strict=True):
        assert float(text.replace("Infinity", "inf")) == number or math.isnan(number)
        assert (text == "NaN") == math.isnan(number)


NETWORK = """
  const run = models[0].get("runs")[name];
  await widget.prepare({ run });
  const model = widget.make(widget.unpack(run, 0), run);
"""
# All residuals; of the states, and of what is read from them, the first two and the last.
SETTLE = f"""async (name, tokens) => {{ {NETWORK}
  const {{ states, residuals, each, limit, settled }} = widget.settle(model, tokens);
  const some = [...states.slice(0, 2), states.at(-1)];
  const read = some.map((z) => widget.read(model, z));
  return {{ states: some, residuals, each, limit, settled, logits: read.at(-1).logits,
    next: read.map(({{ next }}) => next), attention: read.map(({{ attention }}) => attention) }};
}}"""
CREDIT = f"""async (name, tokens, position, character) => {{ {NETWORK}
  const credits = widget.credits(model, widget.settle(model, tokens), position, character);
  const parts = ([name, sizes]) => [name, [sizes, widget.parts(sizes, position)]];
  return Object.fromEntries(Object.entries(credits).map(parts));
}}"""


def compare_rest(ask: Asked, name: str, model: LanguageModel, tokens: Tensor) -> None:
    """States, residuals, logits and attention after every step."""
    found = ask(SETTLE, name, tokens.tolist())
    logits, seen = model.observe(tokens)
    states = seen.states[[0, 1, -1]]
    near(found["states"], states.flatten(1))
    near(found["residuals"], seen.residuals)
    force = model.block.force(model.embed(tokens))
    each = [force(z).norm(dim=-1) / z.norm(dim=-1) for z in seen.states]
    near(found["each"], torch.stack(each))
    near(found["logits"], logits)
    near(found["next"], model.unembedding(states).softmax(-1))
    near(found["attention"], model.block.attend(states)[1].mean(-3))
    config = model.config
    step = config.relaxation.step if config.test == "step" else 1
    assert found["settled"] == bool(seen.residuals[-1] * step < TOLERANCE[config.test])
    assert found["limit"] == pytest.approx(TOLERANCE[config.test] / step)


def compare_credit(ask: Asked, name: str, model: LanguageModel, tokens: Tensor, p: int) -> None:
    """The credit of every character by each estimator, for the prediction after character p."""
    wanted = int(tokens[(p + 1) % len(tokens)])
    found = ask(CREDIT, name, tokens.tolist(), p, wanted)
    config, start = model.config, model.embed(tokens)
    force = model.block.force(start)
    rest = config.relaxation(force, start)

    def cost(z: Tensor) -> Tensor:
        return -model.unembedding(z)[p].log_softmax(-1)[wanted]

    step = 1 / (1 + config.strength * config.damping)
    ways: dict[str, Estimator] = {"exact": Implicit(Relaxation(60, step))}
    for correction in CORRECTIONS:
        ways[correction] = Nudged(correction, 0.02, Relaxation(40, step))
    assert found.keys() == ways.keys()
    for way, estimator in ways.items():
        sizes = estimator.last_credit(force, cost, rest).norm(dim=-1)
        parts = torch.stack([sizes[:p].sum(), sizes[p], sizes[p + 1 :].sum()])
        near(found[way][0], sizes)
        near(found[way][1], parts / sizes.sum())
    assert found["exact"][1][2] == found["none"][1][0] == 0  # one blames only what comes later


def test_every_kind_of_model_is_that_of_torch(ask):
    for i, config in enumerate(KINDS):
        model = some_model(config, i).double()
        generator = Generator().manual_seed(i)
        for t in (1, 4, 9):
            compare_rest(ask, f"kind {i}", model, torch.randint(8, (t,), generator=generator))
        tokens = torch.randint(8, (6,), generator=generator)
        for p in (3,) if i else (0, 3, 5):  # the ends of a text are those of any kind
            compare_credit(ask, f"kind {i}", model, tokens, p)


@pytest.mark.parametrize("name", ["trained", "untrained"])
def test_the_models_of_the_lesson_are_those_of_torch(name, ask):
    run = shown()[0].runs[name]
    config = Config(**run["config"] | {"relaxation": Relaxation(**run["config"]["relaxation"])})
    rebuild(ask, name, run, model := LanguageModel(config, Generator()))
    tokens = torch.randint(
        config.vocabulary, (config.context,), generator=Generator().manual_seed(7)
    )
    compare_rest(ask, name, model.double(), tokens)
    compare_credit(ask, name, model, tokens[:11], 5)


# What needs a layout ----------------------------------------------------------------------------


def settled(widget: Locator) -> None:
    """Wait until all the credit there is has been found."""
    expect(widget.locator(".attn-board")).to_have_attribute("aria-busy", "false")


def test_tracks_stand_under_their_characters(ask):
    ask.page.get_by_label("Text", exact=True).fill("To be")
    assert_under(ask.page.locator(".attn-track"), 8, ask.page.locator(".eq-cells > *").last, 4 / 5)


# Its training -----------------------------------------------------------------------------------

# Some steps as the Worker takes them, in double precision, and what each read and saw.
STEPS = """async (way, steps, tolerance) => {
  const { ways, draws, optimizer, ...options } = models[0].get("lesson");
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


@pytest.mark.by_day
@pytest.mark.parametrize("way", recipe.IN_PAGE_WAYS)
def test_steps_in_the_page_are_torchs(way, ask):
    """From the same weights on the same pieces, the governor acting after some of the steps."""
    given = shown()[0].lesson
    held = torch.tensor([[*map(given["characters"].index, text)] for text in given["held"]])
    tolerance = 5e-9
    found = ask(STEPS, way, 5, tolerance)
    set_weights(model := LanguageModel(recipe.IN_PAGE, Generator()).double(), found["start"])
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = measure.adamw_at_two_rates(list(model.parameters()), recipe.IN_PAGE_RATE)
    estimator = recipe.ESTIMATORS[recipe.IN_PAGE_WAYS[way]]
    acted = []
    for batch, (cost, left), lost in zip(
        found["batches"], found["seen"], found["lost"], strict=True
    ):
        pieces = torch.tensor(batch).long().view(recipe.BATCH, -1)
        for piece in pieces.tolist():
            assert "".join(given["characters"][i] for i in piece) in given["text"]
        value = estimators.loss(model, pieces, estimator)
        remains = force_left(model, pieces[:, :-1]).item()
        assert (cost, left) == pytest.approx((value.item(), remains), rel=1e-9, abs=1e-13)
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        acted.append(not remains < tolerance)
        with torch.no_grad():
            for p in model.block.parameters():
                p.mul_(given["governor"]["factor"] if acted[-1] else 1)
            judged = estimators.loss(model, held, estimator).item()
        assert lost == pytest.approx(judged, abs=1e-5)  # which the Worker has in single precision
    assert len({*acted}) == 2
    for name, tensor in model.state_dict().items():
        close(found["end"][name], tensor.flatten())
        assert torch.equal(tensor, start[name]) == (name in dict(model.named_buffers())), name


# As test_widgets.py tries it --------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    box = widget.get_by_label("Text", exact=True)
    models = widget.get_by_label("Model", exact=True)
    for i, name in enumerate(models.locator("option").all_text_contents()):
        models.select_option(name)
        texts = ["T", "To be, or not to b"] if i == 0 else ["To be, or not to b"]
        if i == 0 and widget.page.viewport_size == {"width": 390, "height": 900}:
            texts.append("e" * 32)  # whose credit takes seconds to find
        for text in texts:
            box.fill(text)
            settled(widget)
            yield f"{name}, {text}", False
        widget.get_by_role("radiogroup", name="Characters").get_by_role("radio").last.click()
        widget.get_by_label("Relaxation step").fill("1")
        yield f"{name}, at the end", i == 0
    box.fill("<b>")
    yield "refused", True


def shares(widget: Locator) -> Iterator[tuple[str, bool]]:
    """Two numbers, nudged with the street turned by and by."""
    use(widget)
    for keys in ("Home", "ArrowRight", "End"):
        widget.get_by_label("Street turned round").press(keys)
        yield f"turned by {keys}", keys == "ArrowRight"
    widget.get_by_role("radio", name="both ways").check()
    yield "both ways", True


def use(widget: Locator) -> None:
    widget.get_by_role("button", name="Nudge B down").click()


SCENES = [
    Scene("nudge", shares, {1280: 25, 390: 44}, picture="numbers", root=".eq-of-numbers"),
    Scene("equilibrium", states, {1280: 44, 390: 66}, picture="network", root=".eq-of-network"),
]
TOGETHER = [
    [".eq-numbers", ".attn-slider", ".eq-verdict"],
    [".eq-credits", ".eq-numbers", ".eq-right .attn-button", ".attn-slider", ".eq-verdict"],
]
SETTLED = {"learning rate": str(2 * recipe.IN_PAGE_RATE), "steps": "150"}
CHALLENGES = [
    Challenge("all know more", ["AEP"], 3, (0, 0), SETTLED),
    Challenge("not all know more", ["naive"], 3, (1, 3), SETTLED),
]
CHANGES = [
    Change("`0.5` for `0.25`", "0.25", "0.5"),
    Change("without the line with `-torch.inf`", "-torch.inf", ahead=True),
    Change("without `/ 32**0.5`", " / 32**0.5", ""),
]
