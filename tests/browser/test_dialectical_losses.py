"""What the bracket generator shows of a string's losses, against torch and as a reader uses it."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.models.dialectical import PUBLISHED as AS_PUBLISHED
from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks.brackets import (
    PAD,
    SPACE,
    VOCABULARY,
    Brackets,
    decode,
    depth,
    encode,
    token_losses,
)

from .bracket_models import (
    SMALL,
    SOME_OR_ALL,
    far_from_start,
    model_named,
    put_in,
    rebuild,
    send,
    take_model,
    wanting,
)
from .conftest import Visit
from .widget_page import (
    FAKE_MODEL,
    Field,
    Scene,
    saved_runs,
)

CHAPTER = "book/dialectical.html"
OpenPage = Callable[..., Visit]
HTML = '<img src=x onerror="alert(1)">'
BEFORE = "What is shown is from before."
WHOLE = "(a(b)( )a)"  # all its brackets are closed
TASK = Brackets(max_length=23)
PUBLISHED, CAUSAL = replace(AS_PUBLISHED, **SMALL), Config(**SMALL)


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The widget as the page saved it."""
    module_page.evaluate(FAKE_MODEL, {})
    return module_page.locator("#scratch")


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    return saved_runs(module_page)


def targets(text: str, length: int) -> list[int]:
    """What follows each character, and the end where there may be one."""
    tokens = encode(text)
    ends = [SPACE] if depth(tokens)[-1] == 0 or len(text) == length else []
    return [*tokens[1:].tolist(), *ends]


def model_losses(model: LanguageModel, text: str, length: int) -> Tensor:
    """Of every character but the first, and of the end."""
    y = torch.tensor(targets(text, length))
    return token_losses(model(encode(text))[: len(y)], y)


def best_losses(task: Brackets, text: str) -> Tensor:
    """As `model_losses`, of the best predictor; infinite from what the task cannot write."""
    y = torch.tensor(targets(text, task.length))
    found = -task.ideal(encode(text)[None, : task.length])[0]
    known = min(len(y), task.length)
    losses = torch.full((len(y),), math.inf, dtype=torch.float64)
    losses[:known] = found[torch.arange(known), y[:known]].double()
    # After what cannot be, its prediction is even; else PAD never comes.
    impossible = (found[:, PAD] < 40).nonzero().flatten().tolist()
    impossible += (losses > 40).nonzero().flatten().add(1).tolist()  # the end, if it is the last
    if len(text) > task.length:
        impossible.append(task.length)
    if impossible:
        losses[max(0, min(impossible) - 1) :] = math.inf
    return losses


# Against Python --------------------------------------------------------------------------------


def strings(task: Brackets, n: int, seed: int) -> list[str]:
    """Strings of a task, and as many in which one character is another."""
    generator = Generator().manual_seed(seed)
    x, _ = task.sample(n, generator)
    texts = [decode(row) for row in x.tolist()]
    for text in texts[: n // 2]:
        at = int(torch.randint(1, len(text), (), generator=generator))
        texts.append(text[:at] + VOCABULARY[int(torch.randint(PAD, (), generator=generator))])
        texts[-1] += text[at + 1 :]
    return texts


TASKS = [TASK, Brackets(), Brackets(3, 14, 0.45), Brackets(1, 5, 0.0), Brackets(7, 40, 0.3)]


@pytest.mark.now("task2", "task3")
@pytest.mark.parametrize("task", TASKS)
def test_the_best_predictor_is_pythons(module_page: Page, task: Brackets) -> None:
    """All its probabilities, after every beginning of many strings that the task can write."""
    texts = strings(task, 150, seed=3)
    found = module_page.evaluate(
        """([task, texts]) => {
          const predict = widget.bestPredictor(task);
          return texts.map((text) => predict(text));
        }""",
        [asdict(task), [encode(text).tolist() for text in texts]],
    )
    compared = broken = 0
    for text, here in zip(texts, found, strict=True):
        expected = task.ideal(encode(text)[None])[0].exp()
        steps = best_losses(task, text)
        for t, probabilities in enumerate(here):
            # Known as long as all that was read is possible.
            possible = text[0] == "(" and bool(steps[:t].isfinite().all())
            assert (probabilities is not None) == possible, (text, t)
            if possible:
                p = torch.tensor(probabilities, dtype=torch.float32)
                torch.testing.assert_close(p, expected[t], atol=1e-6, rtol=0)
            compared += possible
            broken += not possible
    assert compared > 300
    assert broken


def test_the_best_predictors_mean_loss_is_the_floor(module_page: Page) -> None:
    """Over many strings drawn in Python, within what chance allows."""
    x, _ = TASK.sample(4000, Generator().manual_seed(11))
    texts = [row[row != PAD].tolist() for row in x]
    sums = module_page.evaluate(
        """([task, texts, end]) => {
          const predict = widget.bestPredictor(task);
          return texts.map((text) => predict(text).reduce((sum, p, t) =>
            sum - Math.log(p[text[t + 1] ?? end]), 0));
        }""",
        [asdict(TASK), texts, SPACE],
    )
    lengths = torch.tensor([float(len(text)) for text in texts])
    sums = torch.tensor(sums)
    mean = sums.sum() / lengths.sum()
    deviation = (sums - mean * lengths).std() * len(texts) ** 0.5 / lengths.sum()
    assert abs(mean - TASK.floor) < 4 * deviation


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_losses_are_torchs(kinds: list[Config], module_page: Page) -> None:
    models = [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    texts = [text for text in strings(TASK, 20, seed=5) if len(text) > 1]
    texts += [WHOLE, "))", "(c)", " (", "((((((((", "(" * 25, "()" * 12]
    found = module_page.evaluate(
        """([task, texts]) => {
          const predict = widget.bestPredictor(task);
          return models.map((model) => texts.map((text) =>
            widget.losses(model, predict, text, task.max_length - 1)));
        }""",
        [asdict(TASK), [encode(text).tolist() for text in texts]],
    )
    for model, by_text in zip(models, found, strict=True):
        for text, here in zip(texts, by_text, strict=True):
            assert here["model"][0] is here["best"][0] is None
            expected = model_losses(model, text, TASK.length)
            ours = torch.tensor(here["model"][1:], dtype=torch.float64)
            torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-6)
            best = best_losses(TASK, text)
            theirs = [math.inf if loss is None else loss for loss in here["best"][1:]]
            torch.testing.assert_close(
                torch.tensor(theirs, dtype=torch.float64), best, atol=1e-5, rtol=0
            )


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_who_reads_only_the_past_moves_nothing_at_all(
    kinds: list[Config], module_page: Page
) -> None:
    """Not by rounding either; who reads ahead moves."""
    models = [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    moved = module_page.evaluate(
        """([task, text, changed, place]) => {
          const predict = widget.bestPredictor(task);
          return models.map((model) => {
            const [before, now] = [text, changed].map((tokens) =>
              widget.losses(model, predict, tokens, task.max_length - 1).model);
            return widget.moves(before, now, place);
          });
        }""",
        [asdict(TASK), encode(WHOLE).tolist(), encode("(a(b)( (a)").tolist(), 7],
    )
    assert {model.config.mask for model in models} == {"published", "causal"}
    for model, by in zip(models, moved, strict=True):
        assert by[0] == 0
        assert by[7:] == [0] * len(by[7:])
        config = model.config
        if config.mask == "causal":
            assert not any(by), config
        elif config.streams == 1 or not config.tension_gate:  # else two streams may agree, and rest
            assert any(by), config


# What is drawn ---------------------------------------------------------------------------------


def losses_shown(widget: Locator) -> dict[str, Any]:
    """All that the view shows, bars and lines in nats, by the column they stand in."""
    found: dict[str, Any] = widget.evaluate(
        """(widget) => {
          const root = widget.querySelector('.dh-losses-view');
          const all = (selector) => [...root.querySelectorAll(selector)];
          const text = (selector) => root.querySelector(selector).textContent;
          const value = (node, name) => Number(node.getAttribute(name));
          const box = (selector) => {
            const [, , columns, height] =
              root.querySelector(selector).getAttribute('viewBox').split(' ').map(Number);
            return { columns, height };
          };
          const lane = box('.dh-losses');
          // column -> height of what stands on the ground there
          const each = (name, read) => Object.fromEntries(all(`.dh-losses .${name}`).map(read));
          const bars = (name) => each(name, (bar) => {
            const bottom = value(bar, 'y') + value(bar, 'height');
            if (Math.abs(bottom - lane.height) > 1e-9) throw new Error('it hangs in the air');
            return [Math.floor(value(bar, 'x')), value(bar, 'height')];
          });
          const levels = (name) => each(name, (line) => {
            const [, x, y] = line.getAttribute('d').match(/^M([\\d.]+) (-?[\\d.e-]+)h/);
            return [Math.floor(x), lane.height - y];
          });
          const middle = box('.dh-moves').height / 2;
          return {
            string: all('.dh-typed > button').map((e) => e.textContent).join(''),
            end: all('.dh-unspent').map((e) => e.textContent).join(''),
            labels: all('.dh-typed > button, .dh-unspent > span').map((e) => e.ariaLabel),
            model: bars('dh-model-loss'),
            best: bars('dh-best-loss'),
            line: levels('dh-best-line'),
            was: levels('dh-was'),
            nats: all('.dh-losses .dh-nat').map((line) =>
              lane.height - Number(line.getAttribute('d').match(/^M0 ([\\d.]+)H/)[1])),
            top: lane.height,
            columns: lane.columns,
            colour: root.querySelector('.dh-model-loss')
              && getComputedStyle(root.querySelector('.dh-model-loss')).fill,
            sides: ['dh-model-loss', 'dh-best-loss'].map((name) => all(`.${name}`).map((bar) =>
              value(bar, 'x') % 1 + value(bar, 'width') / 2 < 0.5)).map((s) => [...new Set(s)]),
            // up where it has grown
            moved: Object.fromEntries(all('.dh-move').filter((bar) => value(bar, 'height') > 0)
              .map((bar) => {
                const up = value(bar, 'y') < middle;
                return [Math.floor(value(bar, 'x')),
                  up ? middle - value(bar, 'y') : -value(bar, 'height')];
              })),
            marked: all('.dh-typed > button').flatMap((e, i) =>
              e.classList.contains('dh-moved') ? [i] : []),
            changed: all('.dh-typed > button').findIndex((e) => e.classList.contains('dh-changed')),
            taken: all('.dh-typed > button').findIndex((e) => e.ariaPressed === 'true'),
            means: all('.dh-key strong').map((e) => e.textContent),
            names: all('.dh-key-name').map((e) => e.textContent),
            unit: text('.dh-keys > .attn-help'),
            verdict: text('.dh-verdict'),
            effect: text('.dh-effect'),
            alarm: [...root.querySelectorAll('.attn-wrong')].map((e) => e.className.split(' ')[0]),
            scale: all('.attn-caption span').map((e) => e.textContent).filter(Boolean),
          };
        }"""
    )
    return found


def columns(losses: Tensor) -> dict[str, float]:
    """By column, as JSON has it; the first stands under the second character."""
    return {
        str(i): pytest.approx(loss, abs=1e-5)
        for i, loss in enumerate(losses.tolist(), 1)
        if math.isfinite(loss)
    }


def type_in(widget: Locator, text: str) -> None:
    widget.get_by_label("Your string", exact=True).fill(text)


def typed(widget: Locator) -> Locator:
    return widget.get_by_role("toolbar", name="The string").get_by_role("button")


def message(widget: Locator) -> Locator:
    return widget.locator(".dh-losses-view .attn-message")


def page_task(page: Page) -> Brackets:
    """The task that the page's best predictor knows."""
    return Brackets(**page.evaluate("window.saved.task"))


COLOURS = {"published": "rgb(213, 94, 0)", "causal": "rgb(0, 114, 178)"}


@pytest.mark.parametrize("text", [WHOLE, "(()a(b", "((((a)))) ", "()"])
def test_bars_and_means_are_what_torch_and_the_task_say(
    text: str, widget: Locator, module_page: Page, runs: dict[str, Any]
) -> None:
    task = page_task(module_page)
    type_in(widget, text)
    for name, run in runs.items():
        take_model(widget, name)
        model = rebuild(run)
        page = losses_shown(widget)
        ours, best = model_losses(model, text, task.length), best_losses(task, text)
        assert page["string"] == text.replace(" ", "␣")
        assert page["end"] == "■" * (len(ours) == len(text))
        assert page["columns"] == len(ours) + 1
        assert page["model"] == columns(ours)
        assert page["best"] == columns(best)
        assert page["line"] == columns(best)
        assert page["sides"] == [[True], [False]]  # the model's at the left
        assert page["nats"] == pytest.approx(range(1, math.ceil(page["top"])))
        assert page["top"] >= max(2, ours.max(), best.max())
        assert page["means"] == [f"{ours.mean():.2f}", f"{best.mean():.2f}"]
        assert page["names"] == [f"the model, {name}", "the best predictor"]
        assert page["unit"] == f"nats a character, mean of {len(ours)}"
        assert page["colour"] == COLOURS[run["config"]["mask"]]
        assert page["labels"][0].endswith(" at 1: nothing predicts it")
        for i, (loss, least) in enumerate(zip(ours, best, strict=True), 1):
            told = f"the model's loss {loss:.2f} nats, the best predictor's {least:.2f}"
            assert page["labels"][i].endswith(told)
        if ours.mean() < best.mean():
            assert "On a single string that may be luck" in page["verdict"]
            published = run["config"]["mask"] == "published"  # else it is luck, and no alarm
            assert page["alarm"] == ["dh-verdict"] * published
        else:
            gap = f"{ours.mean() - best.mean():.2f}"
            assert page["verdict"] == (
                f"The model pays {gap} nats a character more than the best predictor must."
            )
            assert page["alarm"] == []
        assert page["moved"] == page["was"] == {}
        assert page["marked"] == []


def change(widget: Locator, place: int, character: str) -> None:
    typed(widget).nth(place).click()
    name = {" ": "a space"}.get(character, character)
    widget.get_by_role("button", name=f"Put {name} there", exact=True).click()


@pytest.mark.parametrize(("place", "character"), [(9, "a"), (5, ")"), (7, " "), (2, "b")])
def test_a_change_moves_what_torch_says_and_nothing_where_nothing_is_read_ahead(
    place: int,
    character: str,
    widget: Locator,
    module_page: Page,
    runs: dict[str, Any],
) -> None:
    text = WHOLE
    after = text[:place] + character + text[place + 1 :]
    assert after != text
    task = page_task(module_page)
    type_in(widget, text)
    change(widget, place, character)
    reads_ahead = {}
    for name, run in runs.items():
        take_model(widget, name)
        model = rebuild(run)
        old, new = (model_losses(model, each, task.length) for each in (text, after))
        page = losses_shown(widget)
        assert page["string"] == after.replace(" ", "␣")
        assert (page["changed"], page["taken"]) == (place, place)
        assert page["model"] == columns(new)
        assert page["best"] == columns(best_losses(task, after))
        by = (new[: place - 1] - old[: place - 1]).masked_fill(
            (new[: place - 1] - old[: place - 1]).abs() < 1e-9, 0
        )
        moved = {i: value for i, value in enumerate(by.tolist(), 1) if value}
        assert page["marked"] == [*moved]
        scale = max(map(abs, moved.values()), default=1)
        assert page["moved"] == {
            str(i): pytest.approx(value / scale, abs=1e-4) for i, value in moved.items()
        }
        assert page["was"] == {str(i): pytest.approx(old[i - 1].item(), abs=1e-5) for i in moved}
        earlier = f"earlier prediction{'s' * (place != 2)} moved"
        names = {" ": "a space"}
        start = (
            f"Character {place + 1}: {names.get(text[place], text[place])} became "
            f"{names.get(character, character)}. {len(moved)} of {place - 1} {earlier}"
        )
        end = f", the most by {scale:.2f} nats: the model had read ahead." if moved else "."
        assert page["effect"] == start + end
        assert ("dh-effect" in page["alarm"]) == bool(moved)
        for i in moved:
            assert page["labels"][i].endswith(f", {old[i - 1]:.2f} before the change")
        assert page["scale"][-1] == (f"up to {scale:.2f} nats" if moved else "before the change")
        reads_ahead[run["config"]["mask"]] = bool(moved)
    assert reads_ahead == {"published": True, "causal": False}
    widget.get_by_role("button", name="Put back").click()
    page = losses_shown(widget)
    assert page["string"] == text.replace(" ", "␣")
    assert page["effect"] == "Change a late character: does any prediction before it move?"


def test_what_stands_first_was_predicted_by_nothing(widget: Locator) -> None:
    for place in (0, 1):
        type_in(widget, "()a")
        change(widget, place, "b")
        assert losses_shown(widget)["effect"].endswith("Nothing was predicted before it.")


def test_a_loss_of_nothing_and_one_that_is_no_number_are_drawn(module_page: Page) -> None:
    """A certain and right model has bars of no height; a broken one has none at all."""
    put = put_in(module_page, wanting(open=900.0), text="((((((")
    assert set(losses_shown(put)["model"].values()) == {0}
    broken = far_from_start(PUBLISHED, 0)
    broken.unembedding.bias.fill_(math.nan)
    page = losses_shown(put_in(module_page, broken, text="(())"))
    assert set(page["model"].values()) == {0}
    assert page["means"][0] == "NaN"
    assert all("loss NaN nats" in label for label in page["labels"][1:])


# What the task cannot write ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        (")(", 1, ")"),
        ("())", 3, ")"),
        ("(aaa)", 3, "a"),
        ("(  )", 3, "a space"),
        ("(((((((", 7, "("),
    ],
)
def test_what_the_task_cannot_write_has_no_best_loss(
    text: str, place: int, what: str, widget: Locator
) -> None:
    """A seventh pair, filler that has not grown, a bracket that nothing opened."""
    type_in(widget, text)
    page = losses_shown(widget)
    expect(message(widget)).to_have_text(
        f"The task cannot write this: {what} cannot be character {place}. "
        "From there on there is no best loss."
    )
    known = [str(i) for i in range(1, place - 1)]
    assert [*page["best"]] == [*page["line"]] == known
    assert len(page["model"]) >= len(text) - 1
    assert all(label.endswith("no best loss") for label in page["labels"][max(1, place - 1) :])
    if known:
        assert page["unit"] == f"nats a character, mean of {len(known)}"
    else:
        assert page["means"] == ["–", "–"]
        assert page["verdict"] == "There is no best loss to hold the model's against."


def test_no_string_of_the_task_holds_a_c(widget: Locator) -> None:
    """Nothing invites to type one; who does is told why there is no best loss."""
    expect(message(widget)).to_have_text("Write with ( ) a b and spaces; ␣ is a space, ■ the end.")
    type_in(widget, "(c)")
    expect(message(widget)).to_have_text(
        "The task cannot write this: c is in the vocabulary, and no string holds it. "
        "From there on there is no best loss."
    )


def test_a_string_longer_than_the_tasks_has_no_best_loss_there(module_page: Page) -> None:
    task = asdict(Brackets(max_length=7))
    put = put_in(module_page, far_from_start(CAUSAL, 0), text="(()())", task=task)
    page = losses_shown(put)
    assert page["end"] == "■"
    assert page["best"]["6"] == 0  # a string is cut there, and its end is certain
    type_in(put, "(()()()")
    expect(message(put)).to_contain_text("its strings end after 6 characters.")


# As a reader uses it -----------------------------------------------------------------------------


def test_everything_by_the_keyboard_alone(module_page: Page, widget: Locator) -> None:
    keyboard = module_page.keyboard
    widget.get_by_role("radio", name="Losses").focus()
    keyboard.press("Tab")
    expect(model_named(widget, "as published")).to_be_focused()
    keyboard.press("Tab")
    expect(widget.get_by_label("Your string", exact=True)).to_be_focused()
    keyboard.press("ControlOrMeta+a")
    keyboard.type("((a)b)")
    keyboard.press("Tab")
    buttons = typed(widget)
    expect(buttons.first).to_be_focused()
    for key, i in (("ArrowRight", 1), ("End", 5), ("ArrowRight", 5), ("ArrowLeft", 4), ("Home", 0)):
        keyboard.press(key)
        expect(buttons.nth(i)).to_be_focused()
        expect(widget.locator('.dh-typed [tabindex="0"]')).to_have_count(1)
    keyboard.press("End")
    keyboard.press("ArrowLeft")
    assert losses_shown(widget)["taken"] == -1  # to go along takes nothing
    keyboard.press("Space")  # a space takes the place of the b
    page = losses_shown(widget)
    assert page["string"] == "((a)␣)"
    assert page["changed"] == page["taken"] == 4
    assert "Character 5: b became a space. 3 of 3 earlier predictions moved" in page["effect"]
    expect(buttons.nth(4)).to_be_focused()
    keyboard.press("ArrowLeft")
    expect(buttons.nth(3)).to_be_focused()
    assert losses_shown(widget)["changed"] == 4  # to look elsewhere keeps the change
    keyboard.press("Escape")
    assert losses_shown(widget)["string"] == "((a)b)"
    keyboard.press("x")
    assert losses_shown(widget)["string"] == "((a)b)"
    keyboard.press("Enter")
    assert losses_shown(widget)["taken"] == 3
    keyboard.press("Tab")
    expect(widget.get_by_role("button", name="Put ( there")).to_be_focused()
    keyboard.press("Enter")
    assert losses_shown(widget)["string"] == "((a(b)"
    model_named(widget, "as published").focus()
    keyboard.press("ArrowRight")
    expect(model_named(widget, "mask mended")).to_be_checked()
    assert "0 of 2 earlier predictions moved." in losses_shown(widget)["effect"]


def test_a_column_is_taken_by_the_pointer(module_page: Page, widget: Locator) -> None:
    type_in(widget, "((a)b)")
    box = widget.locator(".dh-losses").bounding_box()
    assert box
    module_page.mouse.click(box["x"] + 2.5 * box["width"] / 7, box["y"] + 5)
    assert losses_shown(widget)["taken"] == 2
    change(widget, 4, "a")
    assert losses_shown(widget)["string"] == "((a)a)"
    typed(widget).nth(1).click()  # another character: the change is dropped
    page = losses_shown(widget)
    assert (page["string"], page["taken"], page["changed"]) == ("((a)b)", 1, -1)
    change(widget, 4, "b")  # what stands there already
    assert losses_shown(widget)["changed"] == -1
    change(widget, 4, "a")
    type_in(widget, "((a)b)a")
    page = losses_shown(widget)
    assert (page["string"], page["taken"]) == ("((a)b)a", -1)


def differences(page: Page, pairs: list[tuple[str, str]]) -> list[Any]:
    found: list[Any] = page.evaluate(
        "(pairs) => pairs.map(([before, now]) => widget.difference(before, now))", pairs
    )
    return found


def test_one_character_that_differs_is_found(module_page: Page) -> None:
    """Every substitution, insertion and removal of short strings, and nothing else."""
    every = ["".join(s) for n in range(4) for s in itertools.product("(a ", repeat=n)]
    pairs = [(before, now) for before in every for now in every]
    for (before, now), found in zip(pairs, differences(module_page, pairs), strict=True):
        changed = {
            before[:i] + middle + before[i + taken :]
            for i in range(len(before) + 1)
            for taken, middle in itertools.product((0, 1), ("", "(", "a", " "))
            if i + taken <= len(before)
        } - {before}
        assert (found is not None) == (now in changed), (before, now)
        if found:
            i = found["place"]
            assert before[:i] == now[:i] and before[i : i + 1] != now[i : i + 1]
            taken, put = found["from"] or "", found["to"] or ""
            assert (taken or put) and now == before[:i] + put + before[i + len(taken) :]
            assert len(now) - len(before) == len(put) - len(taken)


TYPED = [
    ("(a(b)( )b)", 8, "Character 9: a became b."),
    ("(a(b)( )a", 9, "Character 10: ) was taken out."),
    ("(a(b)( )a)b", 10, "Character 11: b was put in."),
    ("(a(b)a( )a)", 5, "Character 6: a was put in."),
    ("(a(b)()a)", 6, "Character 7: a space was taken out."),
]


@pytest.mark.parametrize(("after", "place", "what"), TYPED)
def test_what_is_typed_is_a_change(
    after: str, place: int, what: str, widget: Locator, module_page: Page, runs: dict[str, Any]
) -> None:
    """What is predicted before it moves, or not, as torch says."""
    task = page_task(module_page)
    type_in(widget, "bbb")
    type_in(widget, WHOLE)
    type_in(widget, after)
    told = dict[str, bool]()
    for name, run in runs.items():
        take_model(widget, name)
        model = rebuild(run)
        old, new = (model_losses(model, each, task.length) for each in (WHOLE, after))
        page = losses_shown(widget)
        assert page["string"] == after.replace(" ", "␣")
        assert page["model"] == columns(new)
        by = [i for i in range(1, place) if abs(new[i - 1] - old[i - 1]) > 1e-9]
        assert page["marked"] == by
        assert page["was"] == {str(i): pytest.approx(old[i - 1].item(), abs=1e-5) for i in by}
        count = f"{len(by)} of {place - 1} earlier predictions moved"
        assert page["effect"].startswith(f"{what} {count}")
        assert page["changed"] == (-1 if "out" in what else place)
        told[run["config"]["mask"]] = bool(by)
    assert told == {"published": True, "causal": False}
    widget.get_by_role("button", name="Put back").click()
    page = losses_shown(widget)
    assert page["string"] == WHOLE.replace(" ", "␣")
    assert page["effect"] == "Change a late character: does any prediction before it move?"
    expect(widget.get_by_label("Your string", exact=True)).to_have_value(WHOLE)


def test_a_change_is_kept_until_another_is_made(module_page: Page, widget: Locator) -> None:
    box = widget.get_by_label("Your string", exact=True)
    type_in(widget, "((a)b)")
    change(widget, 4, "a")
    expect(box).to_have_value("((a)a)")
    moved = losses_shown(widget)
    assert "Character 5: b became a." in moved["effect"]
    box.fill("nonsense")
    box.fill("((a)a)")  # as it was: the change stands
    assert losses_shown(widget) == moved
    box.press("End")
    box.press("Backspace")  # now from the changed string
    page = losses_shown(widget)
    assert page["string"] == "((a)a"
    assert "Character 6: ) was taken out." in page["effect"]
    module_page.keyboard.type("b")
    assert "Character 6: b was put in." in losses_shown(widget)["effect"]
    box.fill("(b)")  # another string altogether
    page = losses_shown(widget)
    assert page["effect"] == "Change a late character: does any prediction before it move?"
    assert page["moved"] == page["was"] == {}
    expect(widget.get_by_role("button", name="Put back")).to_be_disabled()
    box.fill("(x")
    change(widget, 1, "a")  # what was refused gives way
    expect(box).to_have_value("(a)")
    expect(widget.locator("[aria-invalid]")).to_have_count(0)
    assert "Nothing was predicted before it." in losses_shown(widget)["effect"]


def test_what_happens_is_said_politely(widget: Locator) -> None:
    spoken = widget.locator("[aria-live=polite]").last
    type_in(widget, "((a)b)")
    expect(spoken).to_contain_text("the model, as published: ")
    change(widget, 4, "a")
    expect(spoken).to_have_text(losses_shown(widget)["effect"])
    expect(message(widget)).to_have_attribute("role", "status")


LETTERS = "Write with ( ) a b and spaces;"
TWO = "Write at least two characters: nothing comes before the first to predict it from."
REFUSED = {
    "": TWO,
    "(": TWO,
    "(x": f"{LETTERS} x is none of them.",
    "(🙂": f"{LETTERS} 🙂 is none of them.",
    "(_": f"{LETTERS} _ is padding.",
    HTML: f"{LETTERS} < is none of them.",
    "<script>alert(1)</script>": f"{LETTERS} < is none of them.",
    "a" * 10_000: "Write at most 64 characters: the model reads no more.",
}


def test_the_switch_has_only_what_is_loaded(module_page: Page) -> None:
    put = put_in(module_page, far_from_start(CAUSAL, 0), text="(a)")
    expect(put.get_by_role("radiogroup", name="Model").get_by_role("radio")).to_have_count(1)


def test_it_opens_on_what_python_says(module_page: Page) -> None:
    put = put_in(module_page, far_from_start(PUBLISHED, 0), text="(a)b", place=2, replacement="b")
    page = losses_shown(put)
    assert (page["string"], page["changed"]) == ("(abb", 2)
    assert "1 of 1 earlier prediction moved" in page["effect"]
    module_page.evaluate("fake.set('text', '((b))')")
    expect(put.get_by_label("Your string", exact=True)).to_have_value("((b))")
    assert losses_shown(put)["string"] == "((b))"  # a b stands there already
    module_page.evaluate("fake.set('place', 9)")
    assert losses_shown(put)["taken"] == -1
    module_page.evaluate("fake.set('before', '((b)a')")  # as if it had been typed
    assert "Character 5: a became )." in losses_shown(put)["effect"]
    for other in ("", "(", "((b)?", "((b)_"):  # which no string can have been
        module_page.evaluate("(before) => fake.set('before', before)", other)
        assert losses_shown(put)["effect"].startswith("Change a late character")
    module_page.evaluate("fake.set('view', 'writing')")
    expect(put.locator(".dh-losses-view")).to_be_hidden()
    expect(put.get_by_label("Prompt", exact=True)).to_be_visible()


def test_what_is_refused_takes_every_word_along(widget: Locator) -> None:
    """None is left that might be of what is typed."""
    type_in(widget, "(a)")
    assert losses_shown(widget)["verdict"]
    type_in(widget, "(x")
    page = losses_shown(widget)
    assert (page["verdict"], page["effect"], page["alarm"]) == ("", "", ["attn-message"])


# As test_widgets.py tries it ---------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    texts = (WHOLE, "()", "(c", "(((a)b)(a))", "(" * 30)
    for name, those in (("as published", texts), ("mask mended", texts[::2])):
        take_model(widget, name)
        for text in those:
            type_in(widget, text)
            yield f"{name}, {text}", text == "(c"
            change(widget, len(text) - 1, "a")
            yield f"{name}, {text}, changed", text == WHOLE
    type_in(widget, "nonsense")
    yield "refused", True


def drawn_of_the_string(widget: Locator) -> dict[str, Any]:
    """All but the words that go."""
    page = losses_shown(widget)
    return {name: page[name] for name in page.keys() - {"verdict", "effect", "alarm"}}


def losses(widget: Locator) -> None:
    widget.get_by_role("radio", name="Losses").check()


SCENES = [
    Scene(
        "dialectical, losses",
        states,
        (
            Field(
                lambda visit: visit.page.locator(".dialectical.attn-widget").first,
                "Your string",
                "(a)",
                {typed: f"{sentence} {BEFORE}" for typed, sentence in REFUSED.items()},
                drawn_of_the_string,
                ".dh-losses-view .attn-message",
            ),
        ),
        limits={1280: 40.25, 390: 56},
        part=".dh-explorer",  # what stands above the panel for training
        open=losses,
    )
]
