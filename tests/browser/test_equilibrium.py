"""The equilibrium explorer on its page against torch, and what its transcripts cannot ask."""

import base64
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Generator, Tensor
from torch.func import stack_module_state

from attn_notes.chapters.equilibrium import plane
from attn_notes.chapters.equilibrium.estimators import CORRECTIONS, Estimator, Implicit, Nudged
from attn_notes.models.equilibrium import PUBLISHED, TOLERANCE, Config, LanguageModel, Relaxation
from attn_notes.widgets._weights import pack
from attn_notes.widgets.equilibrium import EquilibriumExplorer, _programs

from ..packed import parameters
from .conftest import Visit
from .widget_page import FAKE_MODEL, READ_PAGE, Field, Scene, centre, lesson_runs, saved_runs

CHAPTER = "book/equilibrium.html"
HTML = '<img src=x onerror="alert(1)">'
CHARACTERS = "\n Tbeo,↑"
SMALL: dict[str, Any] = dict(vocabulary=len(CHARACTERS), context=9)
CONFIGS = [
    replace(PUBLISHED, **SMALL, width=15, heads=3),
    replace(PUBLISHED, **SMALL, width=7, heads=1, input="normalised", strength=0.7),
    Config(**SMALL, width=10, heads=2),
    Config(**SMALL, width=8, heads=1, damping=1.5, embedding="learned"),
    Config(**SMALL, width=12, heads=2, test="step", relaxation=Relaxation(7, 0.2)),
]
STILL = replace(CONFIGS[2], relaxation=Relaxation(20, 0.25))
DECODED = "Uint8Array.from(atob(data), (character) => character.charCodeAt(0)).buffer"

# window.models: networks ready to run, of runs whose weights are in base64.
MAKE_MODELS = f"""async (runs) => {{
  await widget.prepare(runs);
  window.models = runs.map(({{ weights: data, ...run }}) => {{
    const unpacked = widget.unpack({{ ...run, weights: new DataView({DECODED}) }}, 0);
    return widget.make(unpacked, run);
  }});
}}"""


def some_model(config: Config, seed: int = 0) -> LanguageModel:
    """A model of random numbers, as many as half precision has."""
    model = LanguageModel(config, Generator().manual_seed(seed)).requires_grad_(False)
    return model.half().float()


def run_of(model: LanguageModel) -> dict[str, Any]:
    """A run of one seed, as a page saves it."""
    trained, fixed = stack_module_state([model])
    packed = pack(lambda _: model, {**trained, **fixed}, "model", half=True)
    weights = base64.b64encode(packed.pop("weights")).decode()
    programs, config = _programs(model.config), asdict(model.config)
    run = {"config": config, "characters": CHARACTERS, "programs": programs}
    return {**run, **packed, "weights": weights}


def close(actual: Any, expected: Tensor, rtol: float = 1e-6) -> None:
    """To this share of the largest number."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    scale = expected.abs().max().item()
    torch.testing.assert_close(actual, expected.double(), atol=rtol * scale + 1e-300, rtol=0)


# Two numbers ------------------------------------------------------------------------------------


def settings(n: int) -> Iterator[dict[str, Any]]:
    """Settings of the plane, as far as the sliders go; some weights missing, some equal."""
    generator = Generator().manual_seed(11)

    def some(low: float, high: float, *shape: int) -> Any:
        u = torch.rand(shape, generator=generator, dtype=torch.float64)
        return (low + (high - low) * u).tolist()

    for i in range(n):
        weights = some(-3, 3, 2)
        yield {
            "x": some(-3, 3, 2),
            "target": some(-3, 3, 2),
            "weights": [weights, [0.0, weights[1]], [weights[0] / 3] * 2][i % 3],
            "beta": 10 ** some(-3, math.log10(3)),
            "steps": int(some(1, 400)),
        }


def vector(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def gradient_of(estimator: Estimator, setting: dict[str, Any], weights: Any = None) -> Tensor:
    """dC/dw as an estimator has it, as far as the weights follow it."""
    w = vector(setting["weights"] if weights is None else weights).requires_grad_()
    x = vector([setting["x"]])
    value = estimator(plane.force(x, w), plane.cost(vector(setting["target"])), x, plane.REST)
    return plane.learning(torch.autograd.grad(value, w)[0], w.detach())


def way_of(correction: str, setting: dict[str, Any]) -> Nudged:
    relaxation = Relaxation(setting["steps"], plane.REST.step)
    return Nudged(correction, setting["beta"], relaxation, symmetric=False)


@pytest.mark.parametrize(("n", "least"), [(5, 3), pytest.param(12, 6, marks=pytest.mark.long)])
def test_every_gradient_in_the_plane_is_that_of_the_estimators(
    n: int, least: int, module_page: Page
) -> None:
    given = list(settings(n))
    found = module_page.evaluate(
        """(settings) => settings.map((setting) => {
          const { z, rests, abscissa, exact, methods = {} } = widget.examine(setting);
          const all = Object.entries(methods).map(([name, { gradient }]) => [name, [...gradient]]);
          return { z: [...z], rests, abscissa, exact: exact && [...exact.gradient],
                   reach: exact?.step && [...exact.reach], methods: Object.fromEntries(all) };
        })""",
        given,
    )
    resting = 0
    for setting, seen in zip(given, found, strict=True):
        x, w = vector([setting["x"]]), vector(setting["weights"])
        force = plane.force(x, w)
        z = plane.REST(force, x)
        abscissa = torch.linalg.eigvals(plane.jacobian(z[0], w)).real.max().item()
        assert seen["rests"] == (bool(force(z).norm() < 1e-6) and abscissa < 0)
        if not seen["rests"]:
            continue
        resting += 1
        close(seen["z"], z[0], 1e-9)
        assert seen["abscissa"] == pytest.approx(abscissa)
        exact = gradient_of(Implicit(plane.REST), setting)
        close(seen["exact"], exact, 1e-9)
        for correction in CORRECTIONS:
            expected = gradient_of(way_of(correction, setting), setting)
            close(seen["methods"][correction], expected, 1e-8)
        # Where an arrow ends: a small step of the weights, and how far the state then comes.
        h = 1e-6
        moved = plane.REST(plane.force(x, w - h * exact / exact.norm()), x) - z
        close(seen["reach"], 20 * plane.LONGEST * moved[0] / h, 1e-3)
    assert resting >= least  # the others have no credit


OPPOSED = {"x": [1.0, -0.9], "target": [1.8, -1.0], "weights": [-1.6, 1.6], "beta": 0.1,
           "steps": 100}  # fmt: skip
DESCEND = """([setting, way]) => widget.descend(setting, way)
  .map(({ weights, cost }) => ({ weights: [...weights], cost }))"""


def test_learning_takes_steps_of_one_length_against_each_gradient(module_page: Page) -> None:
    ends = {}
    for way in ("true", *CORRECTIONS):
        found = module_page.evaluate(DESCEND, [OPPOSED, way])
        assert len(found) == plane.LESSONS + 1
        for lesson, (here, there) in enumerate(itertools.pairwise(found)):
            step = vector(there["weights"]) - vector(here["weights"])
            assert step.norm().item() == pytest.approx(plane.step_of(lesson))
            if lesson < 3:
                estimator = Implicit(plane.REST) if way == "true" else way_of(way, OPPOSED)
                gradient = gradient_of(estimator, OPPOSED, here["weights"])
                close(step / step.norm(), -gradient / gradient.norm(), 1e-6)
        ends[way] = found[-1]["cost"] / found[0]["cost"]
    # Where weights are opposed, naive loses ground and the others arrive.
    assert ends["none"] > 1 > 0.01 > max(ends["true"], ends["full"])
    for weights in ([0.0, 1.3], [-0.5, -0.5]):
        found = module_page.evaluate(DESCEND, [OPPOSED | {"weights": weights}, "full"])
        assert len(found) > 5 and found[-1]["weights"] != weights
        for first, second in (each["weights"] for each in found):
            assert (first == 0) if weights[0] == 0 else (first == second)


def test_a_slider_goes_no_hair_beyond_what_python_takes(module_page: Page) -> None:
    slider = put_in(module_page).get_by_label("Nudge β")
    for key, end in (("Home", 0.001), ("End", 3.0)):
        slider.press(key)
        found = module_page.evaluate("fake.get('beta')")
        assert EquilibriumExplorer(beta=found).beta == pytest.approx(end)


# The network ------------------------------------------------------------------------------------


def test_every_number_of_half_precision_arrives(module_page: Page) -> None:
    every = torch.arange(-32768, 32768).to(torch.int16).view(torch.float16)
    found = module_page.evaluate(
        f"""(data) => {{
          const run = {{ names: ['w'], shapes: [[65536]], seeds: 1, format: '<f2' }};
          const {{ w }} = widget.unpack({{ ...run, weights: new DataView({DECODED}) }}, 0);
          return Array.from(w, String);
        }}""",
        base64.b64encode(every.numpy().astype("<f2").tobytes()).decode(),
    )
    for text, number in zip(found, every.tolist(), strict=True):
        assert float(text.replace("Infinity", "inf")) == number or math.isnan(number)
        assert (text == "NaN") == math.isnan(number)


# All residuals; of the states, and of what is read from them, the first two and the last.
SETTLE = """([i, tokens]) => {
  const { states, residuals, each, limit, settled } = widget.settle(models[i], tokens);
  const some = [...states.slice(0, 2), states.at(-1)];
  const read = some.map((z) => widget.read(models[i], z));
  return { states: some.map((z) => [...z]), residuals, each, limit, settled,
           logits: read.at(-1).logits.map((row) => [...row]),
           next: read.map(({ next }) => next), attention: read.map(({ attention }) => attention) };
}"""


def compare_rest(page: Page, i: int, model: LanguageModel, tokens: Tensor) -> None:
    """States, residuals, logits and attention after every step."""
    found = page.evaluate(SETTLE, [i, tokens.tolist()])
    logits, seen = model.observe(tokens)
    states = seen.states[[0, 1, -1]]
    close(found["states"], states.flatten(1))
    close(found["residuals"], seen.residuals)
    force = model.block.force(model.embed(tokens))
    each = [force(z).norm(dim=-1) / z.norm(dim=-1) for z in seen.states]
    close(found["each"], torch.stack(each))
    close(found["logits"], logits)
    close(found["next"], model.unembedding(states).softmax(-1))
    close(found["attention"], model.block.attend(states)[1].mean(-3))
    config = model.config
    step = config.relaxation.step if config.test == "step" else 1
    assert found["settled"] == bool(seen.residuals[-1] * step < TOLERANCE[config.test])
    assert found["limit"] == pytest.approx(TOLERANCE[config.test] / step)


def compare_credit(page: Page, i: int, model: LanguageModel, tokens: Tensor, p: int) -> None:
    """The credit of every character by each estimator, for the prediction after character p."""
    wanted = int(tokens[(p + 1) % len(tokens)])
    found = page.evaluate(
        """([i, tokens, position, character]) => {
          const settled = widget.settle(models[i], tokens);
          const credits = widget.credits(models[i], settled, position, character);
          const parts = ([name, sizes]) => [name, [sizes, widget.parts(sizes, position)]];
          return Object.fromEntries(Object.entries(credits).map(parts));
        }""",
        [i, tokens.tolist(), p, wanted],
    )
    config, start = model.config, model.embed(tokens)
    force = model.block.force(start)
    rest = config.relaxation(force, start)

    def cost(z: Tensor) -> Tensor:
        return -model.unembedding(z)[p].log_softmax(-1)[wanted]

    step = 1 / (1 + config.strength * config.damping)
    estimators = {"exact": Implicit(Relaxation(60, step))}
    for correction in CORRECTIONS:
        estimators[correction] = Nudged(correction, 0.02, Relaxation(40, step))
    assert found.keys() == estimators.keys()
    for name, estimator in estimators.items():
        sizes = estimator.last_credit(force, cost, rest).norm(dim=-1)
        found_sizes, shares = found[name]
        close(found_sizes, sizes)
        parts = torch.stack([sizes[:p].sum(), sizes[p], sizes[p + 1 :].sum()])
        close(shares, parts / sizes.sum())
    assert found["exact"][1][2] == found["none"][1][0] == 0  # one blames only what comes later


def test_every_kind_of_model_is_that_of_torch(module_page: Page) -> None:
    models = [some_model(config, i) for i, config in enumerate(CONFIGS)]
    module_page.evaluate(MAKE_MODELS, [run_of(model) for model in models])
    for i, model in enumerate(models):
        model.double()
        generator = Generator().manual_seed(i)
        for t in (1, 4, 9):
            compare_rest(module_page, i, model, torch.randint(8, (t,), generator=generator))
        tokens = torch.randint(8, (6,), generator=generator)
        for p in (3,) if i else (0, 3, 5):  # the ends of a text are those of any kind
            compare_credit(module_page, i, model, tokens, p)


def test_the_models_of_the_page_are_those_of_torch(module_page: Page) -> None:
    for name, run in saved_runs(module_page).items():
        module_page.evaluate(
            """async (name) => {
              const run = saved.runs[name];
              await widget.prepare({ run });
              window.models = [widget.make(widget.unpack(run, 0), run)];
            }""",
            name,
        )
        relaxation = Relaxation(**run["config"]["relaxation"])
        config = Config(**run["config"] | {"relaxation": relaxation})
        model = LanguageModel(config, Generator())
        model.load_state_dict(parameters(run, 0))
        model.double().requires_grad_(False)
        generator = Generator().manual_seed(7)
        tokens = torch.randint(config.vocabulary, (config.context,), generator=generator)
        compare_rest(module_page, 0, model, tokens)
        compare_credit(module_page, 0, model, tokens[:11], 5)


# What needs a clock, or a finger ----------------------------------------------------------------


def put_in(module_page: Page, *models: LanguageModel, **traits: Any) -> Locator:
    """One more widget, as it starts but for these traits, with this model, if there is one."""
    given = {"runs": {}, "run": "one", "text": "To be", "seed": 0, "step": -1, "selected": -1}
    module_page.evaluate(FAKE_MODEL, {**given, **traits})
    for model in models:
        module_page.evaluate(
            f"""async ({{ weights: data, ...run }}) => {{
              await widget.prepare({{ run }});
              return fake.set('runs', {{ one: {{ ...run, weights: new DataView({DECODED}) }} }});
            }}""",
            run_of(model),
        )
    return module_page.locator("#scratch .eq-explorer")  # what stands above the panel for training


def settled(widget: Locator) -> None:
    """Wait until all the credit there is has been found."""
    expect(widget.locator(".attn-board")).to_have_attribute("aria-busy", "false")


def test_a_finger_drags_the_target(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    target = page.locator(".equilibrium.attn-widget .eq-handle.eq-y").first
    target.scroll_into_view_if_needed()
    x, y = centre(target.locator(".eq-halo"))
    session = context.new_cdp_session(page)
    scrolled = page.evaluate("scrollY")
    for kind, dy in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchEnd", None)):
        points = [] if dy is None else [{"x": x, "y": y + dy}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(target).to_have_attribute("aria-label", re.compile("at 1.40, −1"))
    assert page.evaluate("scrollY") == scrolled
    context.close()


def test_playing_shows_every_step_and_can_be_stopped(browser: Browser, server: str) -> None:
    """By a clock that stands still until it is moved on."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    widget = page.locator(".equilibrium.attn-widget").first
    widget.get_by_role("tab", name="The network").click()
    settled(widget)
    slider = widget.get_by_label("Relaxation step")
    slider.fill("0")
    page.clock.install(time=0)
    page.clock.pause_at(1_000_000)  # from here on it stands
    widget.get_by_role("button", name="Play").click()
    for step in (0, 1, 2):
        expect(slider).to_have_value(str(step))
        page.clock.run_for(150)
    slider.fill("1")
    page.clock.run_for(3000)
    expect(slider).to_have_value("1")
    widget.get_by_role("tab", name="Two numbers").click()
    widget.get_by_role("button", name="Learn").click()
    lesson = widget.locator(".eq-lesson-text")
    expect(lesson).not_to_contain_text("After 30 steps")
    page.clock.run_for(60 * 30)
    expect(lesson).to_contain_text("After 30 steps")
    context.close()


def test_tracks_stand_under_their_characters(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="network", text="To be")
    tracks = [track.bounding_box() for track in scratch.locator(".attn-track").all()]
    assert len(tracks) == 8
    assert len({(box["x"], box["width"]) for box in tracks if box}) == 1
    last, here = scratch.get_by_role("radio").last.bounding_box(), tracks[0]
    assert last and here
    assert last["x"] == pytest.approx(here["x"] + 4 * here["width"] / 5, abs=0.5)


# As test_widgets.py tries it --------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    widget.get_by_role("tab", name="Two numbers").click()
    for name in ("Mutual", "Opposed", "One way", "With the limit"):
        widget.get_by_role("button", name=name, exact=True).click()
        yield name, name == "Opposed"
    widget.get_by_role("button", name="Learn").click()
    yield "learned", True
    widget.get_by_role("tab", name="The network").click()
    box = widget.get_by_label("Text", exact=True)
    for i, (name, run) in enumerate(lesson_runs(widget.page).items()):
        widget.get_by_label("Model", exact=True).select_option(name)
        texts = ["T", "To be, or not to b"] if i == 0 else ["To be, or not to b"]
        if i == 0 and widget.page.viewport_size == {"width": 390, "height": 900}:
            texts.append("e" * run["config"]["context"])  # whose credit takes seconds to find
        for text in texts:
            box.fill(text)
            settled(widget)
            yield f"{name}, {text}", False
        widget.get_by_role("radiogroup", name="Characters").get_by_role("radio").last.click()
        widget.get_by_label("Relaxation step").fill("1")
        yield f"{name}, at the end", i == 0
    box.fill(HTML)
    yield "refused", True


def with_a_small_one(visit: Visit) -> Locator:
    visit.page.evaluate(READ_PAGE)
    return put_in(visit.page, some_model(STILL, 3), panel="network")


def shown(widget: Locator) -> list[str]:
    """All that can be read off the network's panel but the message."""
    return widget.locator(".attn-board, .eq-rest-text, .eq-moral, .eq-below").all_inner_texts()


BEFORE = "What is shown is from before."
REFUSED = {
    HTML: f"Write with ↵ ␣ , T b e o ↑; < i m are not among them. {BEFORE}",
    "o" * 10_000: f"The text has 10000 characters; this model reads at most 9. {BEFORE}",
}
SCENES = [
    Scene(
        "equilibrium",
        states,
        (Field(with_a_small_one, "Text", "Toe", REFUSED, shown, ready=settled),),
        part=".eq-explorer",  # what stands above the panel for training
        limits={1280: 47, 390: 74},
        asleep={"run": "", "panel": "network"},
        awake={"panel": "network"},
    )
]
