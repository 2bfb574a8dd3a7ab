"""The equilibrium explorer on its page, against torch and as a reader uses it."""

import base64
import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Generator, Tensor
from torch.func import stack_module_state

from attn_notes.chapters.equilibrium import plane
from attn_notes.chapters.equilibrium.estimators import CORRECTIONS, Estimator, Implicit, Nudged
from attn_notes.models.equilibrium import (
    PUBLISHED,
    TOLERANCE,
    Config,
    LanguageModel,
    Relaxation,
    residual,
)
from attn_notes.widgets._weights import pack
from attn_notes.widgets.equilibrium import EquilibriumExplorer, _programs

from ..packed import parameters
from .conftest import Visit
from .widget_page import (
    FAKE_MODEL,
    READ_PAGE,
    Field,
    Scene,
    lesson_runs,
    saved_runs,
    zero_weights,
)

CHAPTER = "book/equilibrium.html"
OpenPage = Callable[..., Visit]
HTML = '<img src=x onerror="alert(1)">'
BEFORE = "What is shown is from before."
CHARACTERS = "\n Tbeo,↑"
SMALL: dict[str, Any] = dict(vocabulary=len(CHARACTERS), context=9)
CONFIGS = [
    replace(PUBLISHED, **SMALL, width=15, heads=3),
    replace(PUBLISHED, **SMALL, width=7, heads=1, input="normalised", strength=0.7),
    Config(**SMALL, width=10, heads=2),
    Config(**SMALL, width=8, heads=1, damping=1.5, embedding="learned"),
    Config(**SMALL, width=12, heads=2, test="step", relaxation=Relaxation(7, 0.2)),
]

# window.models: networks ready to run, of runs whose weights are in base64.
MAKE_MODELS = """async (runs) => {
  await widget.prepare(runs);
  window.models = runs.map(({ weights, ...run }) => {
    const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
    const unpacked = widget.unpack({ ...run, weights: new DataView(bytes.buffer) }, 0);
    return widget.make(unpacked, run);
  });
}"""


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The widget as the page saved it."""
    module_page.evaluate(FAKE_MODEL, {})
    return module_page.locator("#scratch .eq-explorer")  # what stands above the panel for training


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    return saved_runs(module_page)


def config_of(run: dict[str, Any]) -> Config:
    return Config(**run["config"] | {"relaxation": Relaxation(**run["config"]["relaxation"])})


def rebuild(run: dict[str, Any], seed: int = 0) -> LanguageModel:
    """A torch model with the weights that the page holds, in double precision."""
    model = LanguageModel(config_of(run), Generator())
    model.load_state_dict(parameters(run, seed))
    return model.double().requires_grad_(False)


def some_model(config: Config, seed: int = 0) -> LanguageModel:
    """A model of random numbers, as many as half precision has."""
    model = LanguageModel(config, Generator().manual_seed(seed)).requires_grad_(False)
    return model.half().float()


def run_of(*models: LanguageModel) -> dict[str, Any]:
    """One run with a seed for each of these models, as a page saves it."""
    trained, fixed = stack_module_state([*models])
    packed = pack(lambda _: models[0], {**trained, **fixed}, "model", half=True)
    weights = base64.b64encode(packed.pop("weights")).decode()
    config = asdict(models[0].config)
    programs = _programs(models[0].config)
    run = {"config": config, "characters": CHARACTERS, "programs": programs}
    return {**run, **packed, "weights": weights}


def send(page: Page, models: list[LanguageModel]) -> None:
    page.evaluate(MAKE_MODELS, [run_of(model) for model in models])
    for model in models:
        model.double()


def close(actual: Any, expected: Tensor, rtol: float = 1e-6) -> None:
    """To this share of the largest number."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    scale = expected.abs().max().item()
    torch.testing.assert_close(actual, expected.double(), atol=rtol * scale + 1e-300, rtol=0)


# Against torch: two numbers ---------------------------------------------------------------------


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
                   reach: exact?.step && [...exact.reach], step: exact?.step,
                   methods: Object.fromEntries(all) };
        })""",
        given,
    )
    resting = 0
    for setting, seen in zip(given, found, strict=True):
        x, w = vector([setting["x"]]), vector(setting["weights"])
        force = plane.force(x, w)
        z = plane.REST(force, x)
        j = plane.jacobian(z[0], w)
        assert seen["rests"] == (
            bool(force(z).norm() < 1e-6) and bool(torch.linalg.eigvals(j).real.max() < 0)
        )
        if not seen["rests"]:
            continue
        resting += 1
        close(seen["z"], z[0], 1e-9)
        assert seen["abscissa"] == pytest.approx(torch.linalg.eigvals(j).real.max().item())
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


def test_learning_takes_steps_of_one_length_against_each_gradient(module_page: Page) -> None:
    ends = {}
    for way in ("true", *CORRECTIONS):
        found = module_page.evaluate(
            """([setting, way]) => widget.descend(setting, way)
              .map(({ weights, cost }) => ({ weights: [...weights], cost }))""",
            [OPPOSED, way],
        )
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


def test_missing_weights_stay_missing_and_equal_ones_equal(module_page: Page) -> None:
    for weights in ([0.0, 1.3], [-0.5, -0.5]):
        found = module_page.evaluate(
            "(setting) => widget.descend(setting, 'full').map(({ weights }) => [...weights])",
            OPPOSED | {"weights": weights},
        )
        assert len(found) > 5 and found[-1] != weights
        for first, second in found:
            assert (first == 0) if weights[0] == 0 else (first == second)


# Against torch: the network ---------------------------------------------------------------------


def test_every_number_of_half_precision_arrives(module_page: Page) -> None:
    every = torch.arange(-32768, 32768).to(torch.int16).view(torch.float16)
    found = module_page.evaluate(
        """(data) => {
          const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
          const run = { names: ['w'], shapes: [[65536]], seeds: 1, format: '<f2' };
          const { w } = widget.unpack({ ...run, weights: new DataView(bytes.buffer) }, 0);
          return Array.from(w, String);
        }""",
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
    left = seen.residuals[-1] * (config.relaxation.step if config.test == "step" else 1)
    assert found["settled"] == bool(left < TOLERANCE[config.test])
    step = config.relaxation.step if config.test == "step" else 1
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
        if name == "exact":
            assert shares[2] == 0  # what comes later has no say
        if name == "none":
            assert shares[0] == 0


def test_every_kind_of_model_is_that_of_torch(module_page: Page) -> None:
    models = [some_model(config, i) for i, config in enumerate(CONFIGS)]
    send(module_page, models)
    for i, model in enumerate(models):
        generator = Generator().manual_seed(i)
        for t in (1, 4, 9):
            compare_rest(module_page, i, model, torch.randint(8, (t,), generator=generator))
        tokens = torch.randint(8, (6,), generator=generator)
        for p in (3,) if i else (0, 3, 5):  # the ends of a text are those of any kind
            compare_credit(module_page, i, model, tokens, p)


def test_the_models_of_the_page_are_those_of_torch(module_page: Page, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        module_page.evaluate(
            """async (name) => {
              const run = saved.runs[name];
              await widget.prepare({ run });
              window.models = Array.from({ length: run.seeds }, (_, seed) =>
                widget.make(widget.unpack(run, seed), run));
            }""",
            name,
        )
        context = run["config"]["context"]
        generator = Generator().manual_seed(7)
        tokens = torch.randint(run["config"]["vocabulary"], (context,), generator=generator)
        for seed in range(run["seeds"]):
            compare_rest(module_page, seed, rebuild(run, seed), tokens)
        model = rebuild(run)
        rest = model.config.relaxation(model.block.force(model.embed(tokens)), model.embed(tokens))
        if residual(model.block.force(model.embed(tokens)), rest) < 1e-3:
            compare_credit(module_page, 0, model, tokens[:11], 5)


# The page: two numbers --------------------------------------------------------------------------


def put_in(module_page: Page, *models: LanguageModel, **traits: Any) -> Locator:
    """One more widget, as it starts but for these traits, with these models as seeds of one run."""
    given = {"runs": {}, "run": "one", "text": "To be", "seed": 0, "step": -1, "selected": -1}
    module_page.evaluate(FAKE_MODEL, {**given, **traits})
    if models:
        module_page.evaluate(
            """async ({ weights, ...run }) => {
              const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
              await widget.prepare({ run });
              return fake.set('runs', { one: { ...run, weights: new DataView(bytes.buffer) } });
            }""",
            run_of(*models),
        )
    return module_page.locator("#scratch .eq-explorer")  # what stands above the panel for training


def verdict(widget: Locator) -> Locator:
    return widget.locator(".eq-verdict")


def figures(widget: Locator) -> dict[str, tuple[str, str, str]]:
    """Angle, length and cost of every method, as they are written."""
    rows = widget.locator(".eq-row:has(input)").evaluate_all(
        """all => all.map((row) => [
          row.querySelector('label').textContent,
          [...row.querySelectorAll('.eq-figure')].map((e) => e.textContent),
        ])"""
    )
    return {name: (angle, length, cost) for name, (angle, length, cost) in rows}


def preset(widget: Locator, name: str) -> None:
    widget.get_by_role("button", name=name, exact=True).click()


def arrows(widget: Locator) -> list[str]:
    return widget.locator(".eq-plane .eq-arrow").evaluate_all(
        "all => all.map((e) => e.getAttribute('class').split(' ')[1])"
    )


def test_the_first_thing_seen_is_that_the_naive_arrow_goes_uphill(widget: Locator) -> None:
    expect(widget.get_by_role("tab", name="Two numbers")).to_have_attribute("aria-selected", "true")
    assert sorted(arrows(widget)) == ["eq-clipped", "eq-full", "eq-none", "eq-true"]
    found = {name: float(angle[:-1]) for name, (angle, *_) in figures(widget).items()}
    assert found["naive"] > 90 and found["AEP"] < 10
    expect(verdict(widget)).to_contain_text("A small step that way goes uphill.")


NAMES = {"naive": "none", "AEP": "full", "AEP, clipped": "clipped"}


def test_the_figures_are_those_of_the_estimators(widget: Locator) -> None:
    preset(widget, "Opposed")
    true = gradient_of(Implicit(plane.REST), OPPOSED)
    for name, (angle, length, _) in figures(widget).items():
        found = gradient_of(way_of(NAMES[name], OPPOSED), OPPOSED)
        cosine = torch.cosine_similarity(found, true, dim=0)
        assert angle == f"{math.degrees(math.acos(cosine)):.0f}°"
        assert length == f"× {(found.norm() / true.norm()).item():.2f}"
        widget.get_by_label(name, exact=True).check()
        turned = "the true way" if angle == "0°" else f"{angle} away from the true step"
        expect(verdict(widget)).to_contain_text(turned)
        assert ("uphill" in (verdict(widget).text_content() or "")) == (cosine < 0)


def test_each_pair_of_weights_makes_its_point(widget: Locator) -> None:
    """Mutual: all agree. One way: naive turns round. With the clip: the clipped one goes uphill."""
    preset(widget, "Mutual")
    assert {angle for angle, *_ in figures(widget).values()} == {"0°"}
    preset(widget, "One way")
    found = figures(widget)
    assert (found["naive"][0], found["AEP"][0]) == ("180°", "0°")
    preset(widget, "With the clip")
    found = figures(widget)
    assert float(found["AEP, clipped"][0][:-1]) > 90 > 1 >= float(found["AEP"][0][:-1])
    assert widget.get_by_label("AEP, clipped").is_checked()


def learn(widget: Locator) -> dict[str, float]:
    """The cost that each method ends with."""
    widget.get_by_role("button", name="Learn").click()
    lesson = widget.locator(".eq-lesson-text")
    expect(lesson).to_contain_text("After 30 steps the cost")
    true = widget.locator(".eq-true-row .eq-figure").text_content() or ""
    costs = {name: float(cost) for name, (*_, cost) in figures(widget).items()}
    return costs | {"true": float(true)}


@pytest.mark.parametrize(
    ("name", "loses", "gains"),
    [
        ("Mutual", [], ["naive", "AEP", "AEP, clipped"]),
        ("Opposed", ["naive"], ["AEP"]),
        ("One way", ["naive"], ["AEP"]),
        ("With the clip", ["naive", "AEP, clipped"], ["AEP"]),
    ],
)
def test_learning_shows_who_loses_ground(
    widget: Locator, name: str, loses: list[str], gains: list[str]
) -> None:
    preset(widget, name)
    expect(widget.get_by_role("button", name="Start over")).to_be_disabled()
    before = float(figures(widget)["AEP"][2])
    costs = learn(widget)
    said = widget.locator(".eq-lesson-text").text_content() or ""
    for method in gains:
        assert costs[method] < before and abs(costs[method] - costs["true"]) < 0.01 * before
    for method in loses:
        assert costs[method] > before
    if loses:
        lost = ", ".join(f"{name[0].upper()}{name[1:]}" for name in loses)
        assert f"Farther from the target than at first: {lost}." in said
    else:
        assert "Farther" not in said
    assert widget.locator(".eq-lesson").count() == 4  # all side by side
    widget.get_by_role("button", name="Start over").click()
    expect(widget.locator(".eq-lesson-text")).to_contain_text("Learn takes 30 steps")


def test_what_is_said_is_true_of_every_setting(module_page: Page) -> None:
    """The presets, random settings and the ends of the sliders, each with every method."""
    walked = module_page.evaluate(
        """(settings) => {
          const presets = widget.PRESETS.map(({ state }) => ({
            x: state.input, target: state.target, weights: state.weights,
            beta: state.beta, steps: state.steps }));
          return [...presets, ...settings].flatMap((setting) => {
            const seen = widget.examine(setting);
            const courses = Object.fromEntries(
              widget.WAYS.map((way) => [way, widget.descend(setting, way)]));
            const costs = Object.fromEntries(
              widget.WAYS.map((way) => [way, courses[way].map(({ cost }) => cost)]));
            const learned = courses.true.length ? widget.learnedSo(courses, 30) : null;
            const small = (step) => widget.examine({ ...setting,
              weights: setting.weights.map((w, i) => w + 1e-5 * step[i]) }).cost;
            return widget.METHODS.map((method) => {
              const found = seen.methods?.[method];
              return { said: widget.judge(seen, method), learned, costs, method,
                rests: seen.rests, cost: seen.cost, push: seen.push ?? null,
                step: found?.step ?? null, away: found?.away ?? null, angle: found?.angle ?? null,
                after: found?.step ? small(found.step) : null,
                possible: Boolean(seen.exact?.step) };
            });
          });
        }""",
        list(settings(30))
        + [
            OPPOSED | {"weights": w, "target": y, "steps": n}
            for w in ([0.0, 0.0], [3.0, 3.0], [-3.0, 3.0], [0.0, -3.0])
            for y in ([1.0, -0.9], [-3.0, 3.0])
            for n in (1, 400)
        ]
        + [  # on the top of a hill, and where the clipped one is carried away
            OPPOSED | {"x": [0.0, 0.0], "weights": [3.0, 3.0]},
            {"x": [0.6806022375740124, -2.139134464644093],
             "target": [2.279079684685165, -2.6536690278234967],
             "weights": [0.0, 2.8363623201671935], "beta": 0.005210750558883125, "steps": 207},
        ],
    )  # fmt: skip
    kinds = set()
    for found in walked:
        said = found["said"]
        if not found["rests"]:
            assert "here is no gradient" in said
            kinds.add("restless")
        elif not found["possible"]:
            assert "Nothing is left to learn" in said or "No small step of these weights" in said
            assert ("target" in said.split(".")[0]) and (found["push"] < 1e-9) == (
                "Nothing is left" in said
            )
            kinds.add("impossible")
        elif found["away"]:
            assert "runs away" in said
            kinds.add("away")
        elif found["step"] is None:
            assert "finds no gradient" in said
        else:
            # Where the angle is near a right one the cost all but stays, up to rounding.
            if abs(found["angle"] - 90) > 0.5:
                assert ("uphill" in said) == (found["after"] > found["cost"])
                kinds.add("uphill" if "uphill" in said else "downhill")
            turned = "the true way" if found["angle"] < 0.5 else f"{found['angle']:.0f}°"
            assert turned in said or round(found["angle"] % 1, 3) == 0.5
        if found["learned"] is None:
            continue
        names = {"true": "True gradient", "none": "Naive", "full": "AEP",
                 "clipped": "AEP, clipped"}  # fmt: skip
        lost = [names[w] for w, costs in found["costs"].items() if costs[-1] > costs[0]]
        stopped = [names[w] for w, costs in found["costs"].items() if len(costs) <= 30]
        farther = re.search(r"than at first: (.*?)\.(?: |$)", found["learned"])
        assert (farther[1] if farther else "") == ", ".join(lost)
        ended = re.search(r"learning ends: (.*?)\.$", found["learned"])
        assert (ended[1] if ended else "") == ", ".join(stopped)
    assert kinds == {"restless", "impossible", "away", "uphill", "downhill"}


def test_where_nothing_rests_no_arrow_is_drawn(module_page: Page) -> None:
    scene = {"weights": [3.0, 3.0], "input": [0.0, 0.0], "target": [1.0, 1.0]}
    scratch = put_in(module_page, **scene)
    expect(verdict(scratch)).to_contain_text("the slightest push drives it away")
    assert arrows(scratch) == []
    assert set(figures(scratch).values()) == {("–", "–", "–")}
    module_page.evaluate("fake.set('weights', [0, 0]); fake.set('target', [0, 0])")
    expect(verdict(scratch)).to_have_text(
        "The state rests on the target. Nothing is left to learn."
    )
    assert arrows(scratch) == []
    module_page.evaluate("fake.set('target', [1, 0])")
    expect(verdict(scratch)).to_contain_text("No small step of these weights")
    module_page.evaluate("fake.set('weights', [1, 1])")
    expect(verdict(scratch)).to_contain_text("There is no gradient here.")


def test_a_state_that_never_stands_still_is_said_to_be_so(module_page: Page) -> None:
    """Just above where the middle loses its hold, a state leaves it slowly."""
    scene = {"weights": [1.0001, 1.0001], "input": [1e-3, 1e-3], "target": [1.0, 1.0]}
    scratch = put_in(module_page, **scene)
    expect(verdict(scratch)).to_contain_text("does not come to rest")
    assert arrows(scratch) == []


def test_sliders_go_just_as_far_as_python_lets_them(module_page: Page) -> None:
    scratch = put_in(module_page)
    traits = EquilibriumExplorer.class_traits()
    for label, name in (("Nudge β", "beta"), ("Nudged steps", "steps")):
        slider = scratch.get_by_label(label)
        for key, end in (("Home", "min"), ("End", "max")):
            slider.press(key)
            found = module_page.evaluate("(name) => fake.get(name)", name)
            assert found == pytest.approx(getattr(traits[name], end))
            EquilibriumExplorer(**{name: found})  # and not a hair beyond
    for i, label in enumerate(("Weight w₁₂", "Weight w₂₁")):
        for key, end in (("Home", -3.0), ("End", 3.0)):
            scratch.get_by_label(label).press(key)
            found = module_page.evaluate("fake.get('weights')")
            assert found[i] == end
            EquilibriumExplorer(weights=found)


def where(widget: Locator, name: str) -> list[float]:
    label = widget.locator(f".eq-handle.eq-{name}").get_attribute("aria-label") or ""
    return [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", label)]


def test_the_target_is_dragged_by_pointer_and_moved_by_keys(
    module_page: Page, widget: Locator
) -> None:
    preset(widget, "Opposed")
    module_page.evaluate("fake.set('target', [-0.2, 0])")
    target = widget.locator(".eq-handle.eq-y")
    target.scroll_into_view_if_needed()
    assert where(widget, "y") == [-0.2, 0.0]
    before = figures(widget)
    box = target.locator(".eq-halo").bounding_box()
    square = widget.locator(".eq-plane").bounding_box()
    assert box and square
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    module_page.mouse.move(x, y)
    module_page.mouse.down()
    module_page.mouse.move(x + square["width"] / 6, y - square["width"] / 3, steps=3)
    assert where(widget, "y") == pytest.approx([0.8, 2.0], abs=0.02)
    assert figures(widget) != before
    module_page.mouse.move(x + 5000, y, steps=2)  # the plane ends
    assert where(widget, "y")[0] == 3.0
    module_page.mouse.up()
    module_page.mouse.move(x, y)
    assert where(widget, "y")[0] == 3.0
    target.focus()
    for key, expected in (("ArrowLeft", 2.9), ("Shift+ArrowLeft", 2.4), ("ArrowRight", 2.5)):
        module_page.keyboard.press(key)
        assert where(widget, "y")[0] == expected
    widget.locator(".eq-handle.eq-x").focus()
    module_page.keyboard.press("ArrowUp")
    assert where(widget, "x") == [1.0, -0.8]


def test_a_finger_drags_the_target(module_page: Page, browser: Any, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    widget = page.locator(".equilibrium.attn-widget").first
    target = widget.locator(".eq-handle.eq-y")
    target.scroll_into_view_if_needed()
    box = target.locator(".eq-halo").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = context.new_cdp_session(page)
    scrolled = page.evaluate("scrollY")
    for kind, dy in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchEnd", None)):
        points = [] if dy is None else [{"x": x, "y": y + dy}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(target).to_have_attribute("aria-label", re.compile("at 1.80, −2"))
    assert page.evaluate("scrollY") == scrolled
    context.close()


# The page: the network --------------------------------------------------------------------------


def network(widget: Locator) -> None:
    widget.get_by_role("tab", name="The network").click()
    settled(widget)


def settled(widget: Locator) -> None:
    """Wait until all the credit there is has been found."""
    expect(widget.locator(".attn-board")).to_have_attribute("aria-busy", "false")


def cells(widget: Locator) -> Locator:
    return widget.get_by_role("radiogroup", name="Characters").get_by_role("radio")


def message(widget: Locator) -> Locator:
    return widget.locator(".attn-message")


def text_box(widget: Locator) -> Locator:
    return widget.get_by_label("Text", exact=True)


def shown(widget: Locator) -> dict[str, Any]:
    """All that can be read off the network's panel but the message."""
    found: dict[str, Any] = widget.evaluate(
        """(root) => {
          const texts = (selector) =>
            [...root.querySelectorAll(selector)].map((e) => e.textContent);
          const cells = [...root.querySelectorAll('.eq-cells [role=radio]')];
          const lane = (name) => [...root.querySelectorAll(`.attn-lane.eq-${name} .attn-bar`)]
            .map((e) => Number(e.getAttribute('height')));
          return {
            text: cells.map((e) => e.textContent).join(''),
            labels: cells.map((e) => e.ariaLabel),
            selected: cells.findIndex((e) => e.ariaChecked === 'true'),
            expects: texts('.eq-says .eq-cell').join(''),
            fresh: texts('.eq-says .eq-new').length,
            best: texts('.eq-table th'),
            shares: texts('.eq-share'),
            captions: texts('.attn-caption span').slice(-4),
            rest: texts('.eq-rest-text')[0],
            moral: texts('.eq-moral')[0],
            looked: texts('.eq-looked')[0],
            blame: texts('.eq-heading')[0],
            lanes: Object.fromEntries(
              ['away', 'looks', 'exact', 'none', 'full', 'clipped'].map((n) => [n, lane(n)])),
          };
        }"""
    )
    return found


def tokens_of(text: str) -> Tensor:
    return torch.tensor([CHARACTERS.index(character) for character in text])


def glyphs(text: str) -> str:
    return text.replace(" ", "␣").replace("\n", "↵")


STILL = replace(CONFIGS[2], relaxation=Relaxation(20, 0.25))


def test_what_is_shown_is_what_python_says(module_page: Page) -> None:
    model = some_model(STILL, 3)
    scratch = put_in(module_page, model, panel="network", text="To be To", selected=4)
    model.double()
    settled(scratch)
    x = tokens_of("To be To")
    for step in (0, 2, 20):
        scratch.get_by_label("Relaxation step").fill(str(step))
        page = shown(scratch)
        _, seen = model.observe(x)
        next_ = model.unembedding(seen.states[step]).softmax(-1)
        best = "".join(CHARACTERS[i] for i in next_.argmax(-1))
        assert (page["text"], page["selected"]) == ("To␣be␣To", 4)
        assert page["expects"] == glyphs(best)
        if step:
            earlier = model.unembedding(seen.states[step - 1]).argmax(-1)
            assert page["fresh"] == int((earlier != next_.argmax(-1)).sum())
        else:
            assert page["fresh"] == 0
        values, order = next_[4].topk(5)
        assert page["best"] == [glyphs(CHARACTERS[i]) for i in order]
        assert page["shares"] == [f"{value:.3f}" for value in values.tolist()]
        attention = model.block.attend(seen.states[step])[1].mean(0)[4]
        j = int(attention.argmax())
        at = "itself" if j == 4 else f"{page['text'][j]} at {j + 1}"
        assert page["looked"] == (
            f"From e at 5 attention goes most to {at}, {attention[j]:.2f} of it."
        )
        close(page["lanes"]["looks"], attention / attention.max())
    assert "at rest." in page["rest"]
    assert page["blame"] == "After e at 5 comes ␣. Whose state is responsible for −log p(␣)?"
    shares = [list(map(int, re.findall(r"\d+", caption))) for caption in page["captions"]]
    exact, naive, full, _ = shares
    assert exact == full
    assert exact[2] == 0 and naive[0] == 0
    assert page["moral"].startswith(
        f"Before · at · after it: exact {exact[0]} % · {exact[1]} % · 0 %; "
        f"naive 0 % · {naive[1]} % · {naive[2]} %. Naive leaves out what came before"
    )
    assert page["lanes"]["exact"][5:] == [0, 0, 0]
    assert page["lanes"]["none"][:4] == [0, 0, 0, 0]


def test_the_ends_of_a_text_have_their_own_words(module_page: Page) -> None:
    model = some_model(STILL, 3)
    scratch = put_in(module_page, model, panel="network", text="Toe", selected=2)
    settled(scratch)
    second = model.double()(tokens_of("Toe"))[2].topk(2).indices[1]
    assert shown(scratch)["blame"].startswith(
        f"The text ends at e at 3. Suppose {glyphs(CHARACTERS[second])} came, the second likeliest"
    )
    assert shown(scratch)["moral"].endswith("Naive leaves out all that came before.")
    module_page.evaluate("fake.set('selected', 0)")
    settled(scratch)
    assert "Naive blames what comes later" in shown(scratch)["moral"]
    module_page.evaluate("fake.set('text', 'T')")
    settled(scratch)
    assert shown(scratch)["moral"].endswith("There is nobody else.")


def test_a_model_that_does_not_settle_says_so_and_shares_no_credit(module_page: Page) -> None:
    model = some_model(replace(STILL, relaxation=Relaxation(3, 0.25)), 3)
    model.block.o.weight.mul_(16)
    scratch = put_in(module_page, model, panel="network")
    settled(scratch)
    page = shown(scratch)
    assert page["rest"].startswith("It does not come to rest: after step 3 the force is ")
    assert "no credit to share out" in page["moral"]
    assert page["captions"] == ["no credit"] * 4
    assert all(not page["lanes"][name] for name in ("exact", "none", "full", "clipped"))


def test_weights_that_are_no_numbers_are_no_accident(module_page: Page) -> None:
    model = some_model(STILL, 3)
    model.block.o.weight.fill_(math.nan)
    scratch = put_in(module_page, model, panel="network")
    settled(scratch)
    assert "the force is no number of the state" in shown(scratch)["rest"]
    assert shown(scratch)["text"] == "To␣be"


def test_models_and_seeds_are_chosen(module_page: Page) -> None:
    models = [some_model(STILL, seed) for seed in (1, 2)]
    scratch = put_in(module_page, *models, panel="network")
    first = shown(scratch)["shares"]
    scratch.get_by_label("Seed", exact=True).select_option("1")
    settled(scratch)
    assert shown(scratch)["shares"] != first
    expect(scratch.get_by_label("Model", exact=True)).to_have_value("one")


def test_playing_goes_to_the_end_at_once_for_who_wants_no_motion(widget: Locator) -> None:
    network(widget)
    slider = widget.get_by_label("Relaxation step")
    slider.fill("2")
    widget.get_by_role("button", name="Play").click()
    expect(slider).to_have_value(slider.get_attribute("max") or "")


def test_playing_shows_every_step_and_can_be_stopped(browser: Browser, server: str) -> None:
    """By a clock that stands still until it is moved on."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}?bare")
    widget = page.locator(".equilibrium.attn-widget").first
    network(widget)
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
    expect(widget.locator(".eq-lesson-text")).not_to_contain_text("After 30 steps")
    page.clock.run_for(60 * 30)
    expect(widget.locator(".eq-lesson-text")).to_contain_text("After 30 steps")
    context.close()


# By the keyboard --------------------------------------------------------------------------------


def test_everything_by_the_keyboard_alone(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="plane", method="none", learned=0)
    keyboard = module_page.keyboard
    scratch.get_by_role("tab", name="Two numbers").focus()
    keyboard.press("ArrowRight")
    expect(scratch.get_by_role("tab", name="The network")).to_be_focused()
    expect(text_box(scratch)).to_be_visible()
    keyboard.press("Home")
    expect(scratch.get_by_role("tab", name="Two numbers")).to_be_focused()
    for _ in range(4):
        keyboard.press("Tab")
    keyboard.press("Tab")
    expect(scratch.locator(".eq-handle.eq-x")).to_be_focused()
    keyboard.press("Tab")
    expect(scratch.locator(".eq-handle.eq-y")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("ArrowDown")
    expect(scratch.get_by_label("AEP", exact=True)).to_be_checked()
    expect(verdict(scratch)).to_contain_text("AEP turns")
    keyboard.press("Tab")
    before = scratch.get_by_label("Weight w₁₂").input_value()
    keyboard.press("ArrowRight")
    assert scratch.get_by_label("Weight w₁₂").input_value() != before
    for _ in range(4):
        keyboard.press("Tab")
    keyboard.press("Enter")
    expect(scratch.locator(".eq-lesson-text")).to_contain_text("After 30 steps")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(scratch.locator(".eq-lesson-text")).to_contain_text("Learn takes")


def test_characters_by_the_keyboard_and_by_the_pointer(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="network", text="To be To")
    cells(scratch).first.click()
    cells(scratch).first.focus()
    for key, i in (
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("ArrowLeft", 1),
        ("End", 7),
        ("ArrowRight", 7),
        ("Home", 0),
        ("ArrowUp", 0),
    ):
        module_page.keyboard.press(key)
        expect(cells(scratch).nth(i)).to_be_focused()
        assert shown(scratch)["selected"] == i
        expect(scratch.locator('[role="radio"][tabindex="0"]')).to_have_count(1)
    box = scratch.locator(".attn-lane.eq-none").bounding_box()
    assert box
    module_page.mouse.click(box["x"] + 5.5 * box["width"] / 8, box["y"] + 5)
    assert shown(scratch)["selected"] == 5
    settled(scratch)


# Texts that cannot be read ----------------------------------------------------------------------


ALLOWED = "Write with ↵ ␣ , T b e o ↑;"
REFUSED = {
    "": "Write at least one character: a model predicts from what came before.",
    "Tx": f"{ALLOWED} x is not among them.",
    "T🙂ö": f"{ALLOWED} 🙂 ö are not among them.",
    HTML: f"{ALLOWED} < i m are not among them.",
    "To be To b": "The text has 10 characters; this model reads at most 9.",
    "o" * 10_000: "The text has 10000 characters; this model reads at most 9.",
}


def test_a_new_line_is_written_as_an_arrow(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="network", text="T\no")
    expect(text_box(scratch)).to_have_value("T↵o")
    text_box(scratch).fill("b↵↵e")
    assert module_page.evaluate("fake.get('text')") == "b\n\ne"
    assert shown(scratch)["text"] == "b↵↵e"
    assert shown(scratch)["labels"][1].startswith("new line at 2: expects ")


def test_a_model_that_cannot_read_the_text_leaves_the_picture_and_says_so(
    module_page: Page,
) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="network", text="To be To")
    settled(scratch)
    module_page.evaluate(
        """() => {
          const { one } = fake.get('runs');
          const short = { ...one, config: { ...one.config, context: 3 } };
          return fake.set('runs', { one, short });
        }"""
    )
    scratch.get_by_label("Model", exact=True).select_option("short")
    sentence = "The text has 8 characters; this model reads at most 3."
    expect(message(scratch)).to_have_text(f"{sentence} {BEFORE}")
    assert shown(scratch)["text"] == "To␣be␣To"
    text_box(scratch).fill("Toe")
    expect(message(scratch)).not_to_contain_text(BEFORE)
    assert shown(scratch)["text"] == "Toe"


# Screen reader, phone, dark, other views --------------------------------------------------------


def test_tracks_stand_under_their_characters(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="network", text="To be")
    tracks = [track.bounding_box() for track in scratch.locator(".attn-track").all()]
    assert len(tracks) == 8
    assert len({(box["x"], box["width"]) for box in tracks if box}) == 1
    last, here = cells(scratch).last.bounding_box(), tracks[0]
    assert last and here
    assert last["x"] == pytest.approx(here["x"] + 4 * here["width"] / 5, abs=0.5)


def test_it_wakes_up_and_what_the_reader_chose_survives_another_training(module_page: Page) -> None:
    scratch = put_in(module_page, panel="network")
    expect(scratch.get_by_text("No model yet")).to_be_visible()
    expect(text_box(scratch)).to_be_hidden()
    scratch.get_by_role("tab", name="Two numbers").click()
    expect(verdict(scratch)).to_be_visible()  # the plane needs none
    scratch.get_by_role("tab", name="The network").click()
    module_page.evaluate(
        "fake.set('run', Object.keys(saved.runs)[0]); fake.set('runs', saved.runs)"
    )
    expect(scratch.get_by_text("No model yet")).to_be_hidden()
    text_box(scratch).fill("to be")
    cells(scratch).nth(1).click()
    scratch.get_by_label("Relaxation step").fill("1")
    before = shown(scratch)
    zero_weights(module_page)
    after = shown(scratch)
    assert (after["text"], after["selected"]) == (before["text"], before["selected"])
    assert len(set(after["shares"])) == 1  # weights of nothing have no preference
    expect(scratch.get_by_label("Relaxation step")).to_have_value("1")


def test_a_change_from_elsewhere_is_shown(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="plane", method="none")
    module_page.evaluate("fake.set('method', 'full'); fake.set('target', [1.5, -1])")
    expect(scratch.get_by_label("AEP", exact=True)).to_be_checked()
    assert where(scratch, "y") == [1.5, -1.0]
    module_page.evaluate("fake.set('panel', 'network'); fake.set('text', 'bee')")
    expect(text_box(scratch)).to_have_value("bee")
    assert shown(scratch)["text"] == "bee"
    text_box(scratch).fill("bee!")
    module_page.evaluate("fake.set('text', 'too'); fake.set('step', 0)")
    expect(text_box(scratch)).to_have_value("too")
    assert shown(scratch)["text"] == "bee"  # this model does not know t
    expect(message(scratch)).to_contain_text("t is not among them")
    module_page.evaluate("fake.set('text', 'Too')")
    assert shown(scratch)["text"] == "Too"


def test_a_change_is_said_to_who_cannot_see_it(module_page: Page) -> None:
    scratch = put_in(module_page, some_model(STILL, 3), panel="plane", method="none")
    spoken = scratch.locator("[aria-live=polite]")
    expect(spoken).to_contain_text("Naive turns")
    scratch.get_by_label("AEP", exact=True).check()
    expect(spoken).to_contain_text("AEP turns")
    network(scratch)
    expect(spoken).to_contain_text("At step 20 the force is")


# As test_widgets.py tries it --------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    widget.get_by_role("tab", name="Two numbers").click()
    for name in ("Mutual", "Opposed", "One way", "With the clip"):
        preset(widget, name)
        yield name, name == "Opposed"
    widget.get_by_role("button", name="Learn").click()
    yield "learned", True
    widget.get_by_role("tab", name="The network").click()
    for i, (name, run) in enumerate(lesson_runs(widget.page).items()):
        widget.get_by_label("Model", exact=True).select_option(name)
        texts = ["T", "To be, or not to b"] if i == 0 else ["To be, or not to b"]
        if i == 0 and widget.page.viewport_size == {"width": 390, "height": 900}:
            texts.append("e" * run["config"]["context"])  # whose credit takes seconds to find
        for text in texts:
            text_box(widget).fill(text)
            settled(widget)
            yield f"{name}, {text}", False
        cells(widget).last.click()
        widget.get_by_label("Relaxation step").fill("1")
        yield f"{name}, at the end", i == 0
    text_box(widget).fill(HTML)
    yield "refused", True


def with_a_small_one(visit: Visit) -> Locator:
    visit.page.evaluate(READ_PAGE)
    return put_in(visit.page, some_model(STILL, 3), panel="network")


SCENES = [
    Scene(
        "equilibrium",
        states,
        (
            Field(
                with_a_small_one,
                "Text",
                "Toe",
                {typed: f"{sentence} {BEFORE}" for typed, sentence in REFUSED.items()},
                shown,
                ready=settled,
            ),
        ),
        part=".eq-explorer",  # what stands above the panel for training
        limits={1280: 47, 390: 74},
        asleep={"run": "", "panel": "network"},
        awake={"panel": "network"},
    )
]
