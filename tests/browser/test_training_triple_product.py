"""Training copiers in the page: driven from outside as a reader would, judged by torch."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.chapters.triple_product import claims, recipe
from attn_notes.models.triple_product import AttentionOnly
from attn_notes.tasks.copying import Copying
from attn_notes.training import checkpoint

from .conftest import Visit
from .training_page import choose, downloaded, one_step, pick, tallied, told, train

CHAPTER = "book/triple_product.html"
NAMES = {"dot": "dot product", "volume": "volume", "angle": "angle"}
HELD_OUT = 256  # sequences to judge by


@pytest.fixture
def widget(visit: Visit) -> Locator:
    explorer = visit.page.locator(".triple-product").first
    expect(explorer.get_by_role("button", name="Train", exact=True)).to_be_visible()
    choose(explorer, speed="fast")
    return explorer


def sent(task: Copying) -> dict[str, Any]:
    """A task as the page has it."""
    periods = list(task.periods)
    return {"vocabulary": task.vocabulary, "periods": periods, "length": task.length}


def held_out(page: Page, task: Copying, count: int) -> Tensor:
    given = [sent(task), count]
    return torch.tensor(page.evaluate("([task, n]) => widget.heldOut(task, n)", given))


def trained(page: Page, widget: Locator, folder: Path, kind: str, layers: int) -> AttentionOnly:
    """The model that the page has trained, in torch."""
    configs = {1: recipe.ONE_LAYER, 2: recipe.TWO_LAYERS}[layers]
    model = AttentionOnly(configs[kind], Generator())
    checkpoint.load_weights(model, downloaded(page, widget, folder))
    return model.requires_grad_(False)


def mean_loss(log_probabilities: Tensor, x: Tensor) -> float:
    return -float(log_probabilities[:, :-1].gather(-1, x[:, 1:, None]).mean())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["angle", "dot", "volume"])
def test_one_layer_learns_to_copy_at_its_period(
    kind: str, visit: Visit, module_page: Page, widget: Locator, tmp_path: Path
) -> None:
    """To the chapter's criterion, by the page's word and by torch's on the same sequences."""
    pick(widget, NAMES[kind])
    choose(widget, steps="200")
    end = train(widget)
    assert (end["step"], end["score"]) == ("200", "1.000")
    model = trained(visit.page, widget, tmp_path, kind, 1)
    x = held_out(module_page, recipe.FIXED, HELD_OUT)
    found = recipe.FIXED.probe(model, x)
    assert found["accuracy"] >= claims.SOLVED
    share = f"{100 * float(found['accuracy']):.1f}".removesuffix(".0")
    above = float(found["loss"]) - mean_loss(recipe.FIXED.ideal(x), x)
    line = line_of(widget)
    assert f"{share} % of the copies right" in line
    shown = float(line.split("right, ")[1].split(" nats")[0])
    assert shown == pytest.approx(above, abs=1e-3)
    assert above > 0


def line_of(widget: Locator) -> str:
    return widget.locator(".attn-train-line").first.text_content() or ""


@pytest.mark.long
def test_two_layers_learn_to_copy_at_any_period(
    visit: Visit, module_page: Page, widget: Locator, tmp_path: Path
) -> None:
    for option in ("dot product", "2", "6 to 12"):
        pick(widget, option)
    choose(widget, steps="400")
    end = train(widget)
    model = trained(visit.page, widget, tmp_path, "dot", 2)
    x = held_out(module_page, recipe.RANDOM, HELD_OUT)
    found = recipe.RANDOM.probe(model, x)
    assert found["accuracy"] >= claims.SOLVED
    assert end["score"] == "1.000"


def test_everything_shown_follows_the_weights(
    visit: Visit, widget: Locator, tmp_path: Path
) -> None:
    """Attention, expectation and picture after a step are torch's with the same weights."""
    pick(widget, "angle")
    end = one_step(widget)
    assert float(end["score"]) < 0.5
    expect(widget.get_by_label("Model", exact=True)).to_have_value("")
    model = trained(visit.page, widget, tmp_path, "angle", 1).double()
    text = widget.get_by_label("Text", exact=True).input_value()
    x = torch.tensor([[ord(letter) - ord("a") for letter in text]])
    logits, attention = model.observe(x)
    i = len(text) - 2
    head = int(widget.get_by_label("Head").locator("option:checked").inner_text())
    weights = widget.locator(".tp-bar-fill").evaluate_all(
        "(all) => all.map((e) => Number(e.style.transform.match(/\\((.+)\\)/)[1]))"
    )
    torch.testing.assert_close(
        torch.tensor(weights).double(), attention[0, 0, head - 1, i], atol=1e-4, rtol=0
    )
    p, token = logits[0, i].softmax(-1).max(-1)
    expect(widget.locator(".tp-answer")).to_have_text(
        f"After {text[i]}{i + 1} the model expects {chr(ord('a') + int(token))} "
        f"with probability {p:.2f}."
    )
    widget.get_by_text("The vectors behind the bars").click()
    assert widget.locator(".tp-scene:visible .tp-arrow:not(.tp-plane-arrow)").count() == i + 1


def test_a_text_of_the_readers_own_stays_while_a_model_trains(widget: Locator) -> None:
    """Also one with a period that the model does not learn, on which it is asked what it learns."""
    box = widget.get_by_label("Text", exact=True)
    box.fill("abcdeabcdeabcde")
    pick(widget, "12")
    one_step(widget)
    expect(box).to_have_value("abcdeabcdeabcde")
    seen = "This text repeats after 5, and the model has seen sequences that repeat after 12 only."
    expect(widget.locator("p:visible", has_text=seen).first).to_be_visible()


def test_a_loaded_model_takes_the_place_of_the_one_in_training(widget: Locator) -> None:
    one_step(widget)
    menu = widget.get_by_label("Model", exact=True)
    expect(menu.locator("option:checked")).to_have_text("yours: dot, one layer")
    menu.select_option("angle, two layers")
    expect(menu.locator("option:checked")).to_have_text("angle, two layers")
    expect(menu.locator("option")).to_have_count(6)
    widget.get_by_role("button", name="One step").click()
    expect(menu.locator("option:checked")).to_have_text("yours: dot, one layer")
    assert told(widget)["step"] == "2"


@pytest.mark.long
def test_every_choice_starts_anew(widget: Locator) -> None:
    """Score, layers and period: each is another first loss, each another floor or setting."""
    losses = set()
    for kind, layers, period in itertools.product(NAMES.values(), "12", ("12", "6 to 12")):
        for option in (kind, period):
            pick(widget, option)
        widget.get_by_role("radio", name=layers, exact=True).first.check()
        assert told(widget)["training"] == "idle"
        losses.add(one_step(widget)["loss"])
        floor = recipe.FIXED.floor if period == "12" else recipe.RANDOM.floor
        expect(widget.locator(".attn-floor-name")).to_contain_text(f"{floor:.4f}")
    assert len(losses) == 12


def test_sequences_follow_the_tasks_law(module_page: Page) -> None:
    """Every sequence of a small task, as often as it should come."""
    task = Copying(vocabulary=2, length=5, periods=(1, 2, 3))
    n = 6000
    x = held_out(module_page, task, n)
    expected = torch.zeros(2**5, dtype=torch.float64)
    places = 2 ** torch.arange(5)
    for period in task.periods:
        for start in itertools.product(range(2), repeat=period):
            sequence = torch.tensor([start[t % period] for t in range(5)])
            expected[int(sequence @ places)] += 1 / len(task.periods) / 2**period
    assert expected.sum() == pytest.approx(1)
    found = torch.bincount(x @ places, minlength=2**5)
    assert found[expected == 0].sum() == 0
    likely = expected > 0
    squares = ((found - n * expected) ** 2)[likely] / (n * expected[likely])
    freedom = int(likely.sum()) - 1
    # beyond five deviations of the chi-square law
    assert squares.sum() < freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("task", [recipe.FIXED, recipe.RANDOM], ids=["fixed", "random"])
def test_the_best_predictor_is_judged_on_the_same_sequences(
    module_page: Page, task: Copying
) -> None:
    x = held_out(module_page, task, 40)
    best = module_page.evaluate("([x, task]) => widget.bestLoss(x, task)", [x.tolist(), sent(task)])
    assert best == pytest.approx(mean_loss(task.ideal(x), x), abs=1e-5)
    assert len({tuple(row) for row in x.tolist()}) == 40


def test_a_few_sequences_are_judged_as_many_are(module_page: Page) -> None:
    """The page's own judgement, of weights that come without the Worker's, against torch."""
    config, task = recipe.TWO_LAYERS["volume"], recipe.RANDOM
    model = AttentionOnly(config, Generator().manual_seed(4)).requires_grad_(False)
    weights = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    found, x = module_page.evaluate(
        """async ([weights, task]) => {
          const lesson = saved.lessons['volume 2'];
          await widget.machines.prepare([lesson]);
          return [widget.judgedHere(widget.make(lesson, weights), task), widget.heldOut(task, 6)];
        }""",
        [weights, sent(task)],
    )
    expected = task.probe(model, torch.tensor(x))
    assert found["loss"] == pytest.approx(float(expected["loss"]), abs=1e-5)
    assert found["copied"] == pytest.approx(float(expected["accuracy"]), abs=1e-6)


def test_the_starting_points_are_the_models_own(module_page: Page) -> None:
    """Draws of the page, over many seeds, have the mean and spread of torch's starting weights."""
    drawn: dict[str, list[float]] = module_page.evaluate(
        """async () => {
          const { step, draws, tasks: [task] } = saved.lessons['angle 2'];
          const sums = {};
          for (let seed = 1; seed <= 12; seed++) {
            const setup = { program: step, draws, seed, rate: 1, steps: 1, warmup: 1,
              task: 'copying', options: { task, count: 1, every: 1 } };
            for (const [name, values] of Object.entries((await widget.learn(setup)).read())) {
              sums[name] ??= [0, 0, 0];
              for (const x of values) {
                sums[name][0] += 1;
                sums[name][1] += x;
                sums[name][2] += x * x;
              }
            }
          }
          return sums;
        }"""
    )
    config = recipe.TWO_LAYERS["angle"]
    models = [AttentionOnly(config, Generator().manual_seed(seed)) for seed in range(12)]
    assert sorted(drawn) == sorted(name for name, _ in models[0].named_parameters())
    for name, (count, total, squares) in drawn.items():
        torchs = torch.stack([dict(m.named_parameters())[name].detach() for m in models])
        spread = float(torchs.std())
        assert abs(total / count - float(torchs.mean())) <= 8 * spread / count**0.5 + 1e-9, name
        mean_square = float(torchs.square().mean())
        assert squares / count == pytest.approx(mean_square, rel=0.1), name


@pytest.mark.long
def test_weights_are_kept_and_taken_back(visit: Visit, widget: Locator) -> None:
    pick(widget, "angle")
    choose(widget, steps="100")
    train(widget)
    widget.get_by_role("button", name="Keep").click()
    visit.page.reload()
    pick(widget, "angle")
    expect(widget.get_by_role("button", name="Take back")).to_be_enabled()
    widget.get_by_role("button", name="Take back").click()
    assert told(widget)["score"] == "1.000"
    expect(widget.get_by_label("Model", exact=True)).to_have_value("")
    pick(widget, "6 to 12")  # what was kept has learnt another period
    expect(widget.get_by_role("button", name="Take back")).to_be_disabled()


@pytest.mark.long
@pytest.mark.parametrize("seeds", [2, 8])
def test_the_challenge_can_be_met(seeds: int, widget: Locator) -> None:
    """All but one copy in a thousand: with the angle at a rate that the page offers."""
    tally = widget.locator(".attn-challenge [role=status]")
    pick(widget, "6 to 12")
    widget.get_by_role("button", name="8 seeds").click()
    expect(tally).to_contain_text("one layer and one period")
    pick(widget, "12")
    pick(widget, "angle")
    choose(widget, **{"learning rate": "0.05", "steps": "200"})
    widget.get_by_role("button", name="8 seeds").click()
    met, tried = tallied(widget, seeds, 8)
    assert met == tried
