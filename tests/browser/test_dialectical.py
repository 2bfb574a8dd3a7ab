"""The bracket generator on its page, against torch and as a reader uses it."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.chapters.dialectical import recipe
from attn_notes.chapters.dialectical.decoding import BRACKETS, Step, faults, generate
from attn_notes.models.dialectical import PARTS, Config, LanguageModel
from attn_notes.tasks.brackets import PAD, SPACE, VOCABULARY, depth, encode

from .bracket_models import (
    KINDS,
    SMALL,
    SOME_OR_ALL,
    close,
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
    asked,
    saved_runs,
    zero_weights,
)

CHAPTER = "book/dialectical.html"
OpenPage = Callable[..., Visit]
HTML = '<img src=x onerror="alert(1)">'
BEFORE = "What is shown is from before."
PROMPTS = ("((", "a", "(a(b)", "() ", "(((c")
GREEDY = {"budget": 9, "temperature": 0, "constrained": True, "draw": 0}


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The widget as the page saved it, in its view of writing."""
    module_page.evaluate(FAKE_MODEL, {"view": "writing"})
    return module_page.locator("#scratch")


def where_it_writes(visit: Visit) -> Locator:
    """The first widget of the page, in its view of writing."""
    widget = visit.page.locator(".dialectical.attn-widget").first
    widget.get_by_role("radio", name="Writing").check()
    return widget


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    return saved_runs(module_page)


def request(model: int, prompt: str, **wishes: Any) -> tuple[int, str, dict[str, Any]]:
    """To write with one of the models that were sent, greedily if nothing else is wished for."""
    return model, prompt, GREEDY | wishes


def written_by(
    page: Page, requests: Iterable[tuple[int, str, dict[str, Any]]], *, seen: bool = False
) -> list[dict[str, Any]]:
    """What the page writes, all in one go, and if so asked what the head has seen at each step."""
    found: list[dict[str, Any]] = asked(
        page,
        """([requests, seen]) => requests.map(([model, prompt, request]) => {
          const { steps, ...found } = widget.generate(models[model], prompt, request);
          return { ...found, steps: steps.map((step) => ({ ...step, seen: seen && step.seen })) };
        })""",
        [[*requests], seen],
    )
    return found


def same_step(found: dict[str, Any], step: Step) -> None:
    assert VOCABULARY[found["token"]] == step.character
    same_choice(found, step)
    assert (found["depth"], found["ends"]) == (step.depth, step.ends)


def same_choice(found: dict[str, Any], step: Step) -> None:
    close(found["wanted"], step.wanted)
    close(found["allowed"], step.allowed)
    assert found["removed"] == pytest.approx(step.removed, abs=1e-6)


# Against torch ---------------------------------------------------------------------------------


def test_the_chapter_shows_the_model_as_published_and_as_corrected(
    widget: Locator, runs: dict[str, Any]
) -> None:
    names = widget.get_by_role("radiogroup", name="Model").locator("label").all_text_contents()
    assert sorted(names) == sorted(runs)
    parts = [tuple(runs[name]["config"][part] for part in PARTS) for name in names]
    assert parts == [
        tuple(getattr(config, part) for part in PARTS) for config in recipe.LESSON.values()
    ]


def compare(page: Page, models: list[LanguageModel], x: Tensor) -> int:
    """Every number of the forward pass; returns how many tokens had halted."""
    found = asked(
        page,
        "(texts) => models.map((model) => texts.map((text) => widget.forward(model, text)))",
        x.tolist(),
    )
    halted = 0
    for model, by_text in zip(models, found, strict=True):
        for text, here in zip(x, by_text, strict=True):
            logits, seen = model.observe(text)
            close(here["logits"], logits)
            close([step["attention"] for step in here["steps"]], seen.attention)
            close([step["tension"] for step in here["steps"]], seen.tension)
            assert [step["active"] for step in here["steps"]] == seen.active.tolist()
            halted += int((~seen.active[-1] & (text != PAD)).sum())
    return halted


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_every_kind_of_every_part_is_that_of_torch(kinds: list[Config], module_page: Page) -> None:
    """Some kinds have both of each part; all of them take minutes, a program each."""
    models = [far_from_start(config, i) for i, config in enumerate(kinds)]
    faint = far_from_start(kinds[0], 0)
    faint.block.head.poles.weight.mul_(1e-7)  # a cosine of next to nothing
    models.append(faint)
    send(module_page, models)
    x = torch.randint(len(VOCABULARY), (3, 7), generator=Generator().manual_seed(5))
    x[1, 4:] = PAD
    assert compare(module_page, models, x) > len(models)  # halting is among what is compared
    for part in (*PARTS, "streams", "tension_gate", "learned_gate"):
        assert len({getattr(config, part) for config in kinds}) > 1, part


def test_the_models_of_the_page_are_those_of_torch(module_page: Page, runs: dict[str, Any]) -> None:
    models = [rebuild(run, seed) for run in runs.values() for seed in range(run["seeds"])]
    send(module_page, [model.float() for model in models])
    x = torch.randint(PAD, (4, 23), generator=Generator().manual_seed(7))
    x[:, 0] = encode("(")
    compare(module_page, models, x)


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_greedy_texts_are_those_of_python(
    kinds: list[Config], module_page: Page, runs: dict[str, Any]
) -> None:
    models = [rebuild(run).float() for run in runs.values()]
    models += [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    requests = [
        request(i, prompt, budget=budget)
        for i, prompt in itertools.product(range(len(models)), PROMPTS)
        for budget in (BRACKETS.read(prompt), 9)
    ]
    for (i, prompt, wish), found in zip(requests, written_by(module_page, requests), strict=True):
        written = generate(models[i], prompt, wish["budget"])
        assert (found["text"], found["ended"]) == (written.text, written.ended)
        for step, expected in zip(found["steps"], written.steps, strict=True):
            same_step(step, expected)


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_what_is_seen_at_a_choice_is_seen_where_it_was_chosen(
    kinds: list[Config], module_page: Page
) -> None:
    models = [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    requests = [request(i, "((a", budget=7) for i in range(len(models))]
    for model, found in zip(models, written_by(module_page, requests, seen=True), strict=True):
        for n, step in enumerate(found["steps"]):
            _, seen = model.observe(encode(found["text"][: 3 + n]))
            close([s["tension"] for s in step["seen"]], seen.tension[:, -1])
            close([s["attention"] for s in step["seen"]], seen.attention[..., -1, :])
            assert [s["active"] for s in step["seen"]] == seen.active[:, -1].tolist()


@pytest.mark.long
@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_choices_at_a_temperature_are_made_from_pythons_probabilities(
    kinds: list[Config], module_page: Page
) -> None:
    models = [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    requests = [
        request(i, "(a", budget=8, temperature=temperature, draw=3)
        for i, temperature in itertools.product(range(len(models)), (0.1, 0.7, 2.0))
    ]
    for (i, _, wish), found in zip(requests, written_by(module_page, requests), strict=True):
        temperature = wish["temperature"]
        for n, step in enumerate(found["steps"]):
            before = found["text"][: 2 + n]
            same_choice(step, generate(models[i], before, 8 - n, temperature=temperature).steps[0])
            assert step["allowed"][step["token"]] > 0


def test_draws_are_as_likely_as_they_should_be_and_come_again(module_page: Page) -> None:
    model = far_from_start(KINDS[0], 1)
    send(module_page, [model])
    draw = """(draws) => draws.map((draw) => widget.generate(models[0], '((', { budget: 4,
        temperature: 1.5, constrained: true, draw }).steps[0].token)"""
    draws = list(range(1500))
    tokens = module_page.evaluate(draw, draws)
    assert module_page.evaluate(draw, draws) == tokens
    p = generate(model, "((", 4, temperature=1.5).steps[0].allowed
    shares = torch.bincount(torch.tensor(tokens), minlength=len(VOCABULARY)) / len(draws)
    assert ((shares - p).abs() <= 5 * (p * (1 - p) / len(draws)).sqrt()).all()


def test_the_grammar_is_pythons(module_page: Page) -> None:
    pairs = [(depth, left) for left in range(1, 12) for depth in range(left + 1)]
    found = module_page.evaluate("(pairs) => pairs.map((pair) => widget.allowed(...pair))", pairs)
    assert found == [BRACKETS.allowed(*pair).tolist() for pair in pairs]


def test_with_the_grammar_no_logits_can_write_anything_illegal(module_page: Page) -> None:
    """Infinite, no numbers at all, beyond all bounds: as in Python, and always legal."""
    values = torch.tensor([math.nan, math.inf, -math.inf, 3e38, -3e38, 0.0, 1.0])
    models = [wanting() for _ in range(30)]
    for seed, model in enumerate(models):
        chosen = torch.randint(len(values), (7,), generator=Generator().manual_seed(seed))
        model.unembedding.bias.copy_(values[chosen])
    broken = far_from_start(KINDS[0], 0)
    broken.block.head.up.weight.fill_(math.nan)
    huge = far_from_start(Config(**SMALL), 0)
    huge.block.head.qkv.weight.mul_(1e30)
    send(module_page, [*models, broken, huge])
    requests = [
        request(i, prompt, temperature=temperature, draw=i)
        for i in range(len(models) + 2)
        for prompt, temperature in (("((", 0), ("a", 0), ("(()", 1.0), ("(", 0.1))
    ]
    for (_, prompt, _), found in zip(requests, written_by(module_page, requests), strict=True):
        assert faults(found["text"], prompt, 9) == ()
        assert found["ended"] or len(found["text"]) == len(prompt) + 9
    requests = [request(i, "(a") for i in range(len(models))]
    for model, found in zip(models, written_by(module_page, requests), strict=True):
        for step, expected in zip(found["steps"], generate(model, "(a", 9).steps, strict=True):
            same_step(step, expected)


def freely(model: LanguageModel, prompt: str, budget: int) -> str:
    """Greedy and without a grammar: a space outside of brackets ends it."""
    text = prompt
    for _ in range(budget):
        token = int(model(encode(text))[-1].argmax())
        if token == SPACE and depth(encode(text))[-1] <= 0:
            break
        text += VOCABULARY[token]
    return text


@pytest.mark.parametrize("kinds", SOME_OR_ALL)
def test_without_the_grammar_it_is_the_model_alone(
    kinds: list[Config], module_page: Page, runs: dict[str, Any]
) -> None:
    models = [rebuild(run).float() for run in runs.values()]
    models += [far_from_start(config, i) for i, config in enumerate(kinds)]
    send(module_page, models)
    broken = set[str]()
    requests = [
        request(i, prompt, constrained=False)
        for i, prompt in itertools.product(range(len(models)), PROMPTS)
    ]
    texts = written_by(module_page, requests)
    named = module_page.evaluate(
        "(texts) => texts.map((text) => widget.faults(text))", [found["text"] for found in texts]
    )
    for (i, prompt, _), found, names in zip(requests, texts, named, strict=True):
        assert found["text"] == freely(models[i], prompt, 9)
        expected = faults(found["text"], prompt, 9)
        assert names == [*expected]
        assert {step["removed"] for step in found["steps"]} == {0}
        broken |= {*expected}
    assert broken == {"goes below zero", "leaves brackets open", "contains PAD"}


def writing_on(model: LanguageModel, prompt: str, budget: int) -> str:
    """Greedy within the grammar, a space outside of brackets being one more filler."""
    text = prompt
    for left in range(budget, 0, -1):
        text += generate(model, text, left).steps[0].character
    return text


def test_it_writes_on_where_it_need_not_stop(module_page: Page, runs: dict[str, Any]) -> None:
    models = [rebuild(run).float() for run in runs.values()]
    models += [wanting(space=3.0, open=2.0)]
    send(module_page, models)
    requests = [
        request(i, prompt, stop=False) for i, prompt in itertools.product(range(3), PROMPTS)
    ]
    outside = 0
    for (i, prompt, wish), found in zip(requests, written_by(module_page, requests), strict=True):
        assert found["text"] == writing_on(models[i], prompt, wish["budget"])
        assert not found["ended"]
        assert len(found["steps"]) == wish["budget"]
        outside += found["text"].endswith(" ")
    assert outside


def test_a_request_is_refused_where_python_refuses_it(module_page: Page) -> None:
    model = wanting(space=1)
    texts = ["", "(", ")", "a)", "((()", "(x", "(_", "() a", "c" * 20, "(" * 9, " ", "(🙂", "( )("]
    requests = [*itertools.product(texts, (0, 1, 3, 11))]
    objections = module_page.evaluate(
        """(requests) => requests.map(([prompt, budget]) =>
          widget.objection({ prompt, budget, constrained: true }, 23))""",
        requests,
    )
    for (prompt, budget), found in zip(requests, objections, strict=True):
        try:
            generate(model, prompt, budget, context=23)
        except ValueError:
            assert found["sentence"].endswith("."), (prompt, budget)
        else:
            assert found is None, (prompt, budget)


# The page --------------------------------------------------------------------------------------


def ask(widget: Locator, **fields: str | int | float) -> None:
    """Fill in Prompt, Budget, Temperature."""
    for name, value in fields.items():
        widget.get_by_label(name.capitalize(), exact=True).fill(str(value))


def cells(widget: Locator) -> Locator:
    return widget.get_by_role("radiogroup", name="Written characters").get_by_role("radio")


def inside(widget: Locator) -> Locator:
    """What opens the tracks and the sentences that are of the head."""
    return widget.locator(".dh-inside > summary")


def verdict(widget: Locator) -> Locator:
    return widget.locator(".dh-writing-view .dh-verdict")


def message(widget: Locator) -> Locator:
    return widget.locator(".dh-writing-view .attn-message")


def shown(widget: Locator) -> dict[str, Any]:
    """All that can be read off the page but the message."""
    found: dict[str, Any] = widget.evaluate(
        """(widget) => {
          const root = widget.querySelector('.dh-writing-view');
          const texts = (selector) =>
            [...root.querySelectorAll(selector)].map((e) => e.textContent);
          const cells = [...root.querySelectorAll('[role=radio]')];
          return {
            prompt: texts('.dh-cells:first-child > .dh-cell').slice(
              0, root.querySelector('.dh-cells').children.length).join(''),
            added: cells.map((e) => e.textContent).join(''),
            selected: cells.findIndex((e) => e.ariaChecked === 'true'),
            labels: cells.map((e) => e.ariaLabel),
            broken: cells.map((e) => e.classList.contains('dh-broken')),
            steps: texts('.dh-counts > .dh-cell').filter(Boolean).map(Number),
            wanted: texts('.dh-table td:nth-child(2) .dh-share'),
            allowed: texts('.dh-table td:nth-child(3) .dh-share'),
            struck: texts('.dh-table s'),
            title: texts('.dh-table caption')[0],
            tensions: texts('.dh-number'),
            sentences: texts('.dh-of-head > p'),
            verdict: texts('.dh-verdict')[0],
          };
        }"""
    )
    return found


def sign(step: Step) -> str:
    return "■" if step.ends else step.character.replace(" ", "␣")


def two_digits(values: Tensor) -> list[str]:
    return [f"{value:.2f}" for value in values.tolist()]


def test_what_is_shown_is_what_python_says(widget: Locator, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        take_model(widget, name)
        ask(widget, prompt="((a", budget=9, temperature=0)
        model = rebuild(run)
        written = generate(model, "((a", 9)
        cells(widget).nth(1).click()
        page = shown(widget)
        assert page["prompt"] == "((a"
        assert page["added"] == "".join(map(sign, written.steps))
        end = "ended by itself" if written.ended else "spent its budget"
        count = len(written.text) - 3
        assert page["verdict"] == f"✓ Balanced, {count} of 9 characters, and {end}."
        for i, (step, label) in enumerate(zip(written.steps, page["labels"], strict=True)):
            _, seen = model.observe(encode(written.text[: 3 + i]))
            assert page["steps"][i] == seen.steps[-1]
            assert label.endswith(
                f"at {4 + i}: depth {step.depth}, tension {seen.tension[0, -1]:.2f}, "
                f"{seen.steps[-1]} step{'s' * (seen.steps[-1] != 1)}, {step.removed:.2f} removed"
            )
        step = written.steps[1]
        _, seen = model.observe(encode(written.text[:4]))
        assert page["selected"] == 1
        assert page["tensions"] == two_digits(seen.tension[:, -1])
        assert page["wanted"] == two_digits(step.wanted)
        mask = BRACKETS.allowed(written.steps[0].depth, 8).tolist()
        for value, probability, allowed, character in zip(
            page["allowed"], two_digits(step.allowed), mask, VOCABULARY, strict=True
        ):
            chosen = " ◂" if character == step.character else ""
            assert value == (probability + chosen if allowed else "✗ removed")
        assert len(page["struck"]) == mask.count(False)
        positive, negative = seen.attention[0, :, -1]
        sentence = page["sentences"][-1]
        if torch.allclose(positive, negative):
            most = int(positive.argmax())
            evenly = torch.allclose(positive, torch.full_like(positive, 1 / len(positive)))
            assert sentence == (
                f"Both streams looked evenly at all there is: {positive[0]:.2f} each."
                if evenly
                else f"Both streams looked the same way, most at {written.text[most]} at "
                f"{most + 1}, {positive[most]:.2f}."
            )
        else:
            for stream, shares in (("a⁺", positive), ("a⁻", negative)):
                j = int(shares.argmax())
                assert f"{stream} looked most at {written.text[j]} at {j + 1}, {shares[j]:.2f}" in (
                    sentence.replace("a⁻ at", "a⁻ looked most at")
                )


PLAIN = {
    "view": "writing",
    "prompt": "((",
    "budget": 5,
    "temperature": 0.0,
    "constrained": False,
    "draw": 0,
}


def test_without_the_grammar_what_goes_wrong_is_named_and_marked(module_page: Page) -> None:
    for wish, added, broken, faulty in (
        ("close", ")))))", [2, 3, 4], "goes below zero"),
        ("open", "(((((", [], "leaves brackets open"),
        ("pad", "_____", [0, 1, 2, 3, 4], "leaves brackets open, contains PAD"),
    ):
        model = wanting(**{wish: 9.0})
        scratch = put_in(module_page, model, **PLAIN)
        page = shown(scratch)
        assert page["added"] == added
        assert page["verdict"] == f"✗ It {faulty}: 5 of 5 characters, and spent its budget."
        assert [i for i, is_broken in enumerate(page["broken"]) if is_broken] == broken
        assert page["struck"] == []
        assert all(label.endswith("0.00 removed") for label in page["labels"])
        scratch.get_by_role("switch", name="Grammar").check()
        page = shown(scratch)
        assert page["verdict"].startswith("✓ Balanced")
        assert not any(page["broken"])
        expected = generate(model.double(), "((", 5)
        assert page["added"] == "".join(map(sign, expected.steps))
        removed = [step.removed for step in expected.steps]
        assert page["selected"] == removed.index(max(removed))  # where there was most to remove
        module_page.evaluate("window.leave(); document.querySelector('#scratch').remove()")


def test_the_end_by_itself_and_a_budget_of_nothing(module_page: Page) -> None:
    scratch = put_in(
        module_page, wanting(space=9.0), **{**PLAIN, "prompt": "()", "constrained": True}
    )
    expect(verdict(scratch)).to_have_text("✓ Balanced, 0 of 5 characters, and ended by itself.")
    assert shown(scratch)["added"] == "■"
    assert shown(scratch)["title"] == "How the end at 3 was chosen"
    ask(scratch, budget=0)
    expect(verdict(scratch)).to_have_text("✓ Balanced, 0 of 0 characters, and spent its budget.")
    expect(cells(scratch)).to_have_count(0)
    expect(scratch.locator(".dh-table")).to_be_hidden()


def test_a_reader_may_let_it_write_on(module_page: Page) -> None:
    scratch = put_in(
        module_page, wanting(space=9.0), **{**PLAIN, "prompt": "()", "constrained": True}
    )
    expect(verdict(scratch)).to_contain_text("0 of 5 characters, and ended by itself.")
    stop = scratch.get_by_role("switch", name="Stop when closed")
    expect(stop).to_be_checked()
    stop.click()
    expect(verdict(scratch)).to_have_text("✓ Balanced, 5 of 5 characters, and spent its budget.")
    page = shown(scratch)
    assert page["added"] == "␣" * 5
    assert page["title"].startswith("How a space at ")
    expect(scratch.locator(".dh-table")).to_contain_text("␣ space")
    expect(scratch.locator(".dh-table")).not_to_contain_text("the end")


# What the tracks show: each bar's and line's column, from its middle, and its height.
READ_TRACKS = """(widget) => {
  const root = widget.querySelector('.dh-writing-view');
  const value = (node, name) => Number(node.getAttribute(name));
  const size = (lane) => root.querySelector(lane).getAttribute('viewBox').split(' ').map(Number);
  const bars = (lane, name = 'attn-bar') => [...root.querySelectorAll(`${lane} .${name}`)]
    .map((e) => [Math.floor(value(e, 'x') + value(e, 'width') / 2),
      value(e, 'y'), value(e, 'height')]);
  const [, , columns, height] = size('.dh-depth');
  // The level of the stairs over each column, from the ground that they begin at.
  const [start, ...steps] = root.querySelector('.dh-stairs').getAttribute('d')
    .match(/[MV][^A-Z]+/g).map((s) => Number(s.slice(1).split(' ').at(-1)));
  return {
    columns, tension: bars('.dh-tension'), removed: bars('.dh-removed'),
    up: bars('.dh-streams', 'dh-for'), down: bars('.dh-streams', 'dh-against'),
    depths: steps.map((y) => start - y),
    below: height - start,
    steps: [...root.querySelectorAll('.dh-column > span')].map((e) => parseFloat(e.style.height)),
    wanted: [...root.querySelectorAll('.dh-table td:nth-child(2) .attn-fill')].map((e) =>
      Number(e.style.transform.match(/scaleX\\((.+)\\)/)[1])),
  };
}"""


def test_tracks_are_drawn_as_torch_says(module_page: Page) -> None:
    model = far_from_start(Config(**SMALL), 2)
    scratch = put_in(
        module_page, model, **{**PLAIN, "prompt": "(a(", "constrained": True, "budget": 7}
    )
    cells(scratch).nth(3).click()
    model.double()
    written = generate(model, "(a(", 7)
    found = scratch.evaluate(READ_TRACKS)
    assert found["columns"] == 10
    tensions = []
    for i in range(len(written.steps)):
        _, seen = model.observe(encode(written.text[: 3 + i]))
        tensions.append(seen.tension[0, -1])
    removed = torch.tensor([step.removed for step in written.steps])
    for bars, heights in (
        (found["tension"], torch.stack(tensions)),
        (found["removed"], removed),
    ):
        assert [column for column, _, _ in bars] == [3 + i for i in range(len(heights))]
        close([height for _, _, height in bars], heights)
        close([y + height for _, y, height in bars], torch.ones(len(bars)))  # on the ground
    opened = depth(encode("(a(")).tolist()
    assert found["depths"] == [*opened, *(step.depth for step in written.steps)]
    assert found["below"] > 0
    _, seen = model.observe(encode(written.text[:6]))
    positive, negative = seen.attention[0, :, -1]
    largest = seen.attention[0, :, -1].max()
    assert (positive - negative).abs().max() > 0.01  # else a swap would not show
    for bars, shares, ground in ((found["up"], positive, None), (found["down"], negative, 1)):
        assert [column for column, _, _ in bars] == [*range(6)]
        close([height for _, _, height in bars], shares / largest)
        edges = [y if ground else y + height for _, y, height in bars]
        close(edges, torch.ones(6))
    close([height / 100 for height in found["steps"]], seen.tension[:, -1], atol=1e-4)
    close(found["wanted"], written.steps[3].wanted, atol=1e-4)


def test_seeds_are_chosen_where_there_are_several(module_page: Page, widget: Locator) -> None:
    expect(widget.get_by_label("Seed", exact=True)).to_be_hidden()
    scratch = put_in(module_page, wanting(a=9.0), wanting(b=9.0), **PLAIN)
    assert shown(scratch)["added"] == "aaaaa"
    scratch.get_by_label("Seed", exact=True).select_option("1")
    assert shown(scratch)["added"] == "bbbbb"
    expect(scratch.get_by_role("radio", name="one", exact=True)).to_be_checked()


def test_one_stream_is_said_to_be_alone(module_page: Page) -> None:
    config = Config(**SMALL, streams=1)
    page = shown(put_in(module_page, far_from_start(config, 0), **PLAIN))
    assert "A single stream counts as wholly opposed." in page["sentences"][1]
    assert page["sentences"][2].startswith("The stream looked most at ")
    assert set(page["tensions"]) == {"1.00"}


def test_weights_that_are_no_numbers_still_balance(module_page: Page) -> None:
    model = far_from_start(KINDS[0], 0)
    model.token.weight.fill_(math.nan)
    scratch = put_in(module_page, model, **{**PLAIN, "constrained": True})
    expect(verdict(scratch)).to_contain_text("✓ Balanced")
    assert set(shown(scratch)["tensions"]) == {"NaN"}


def test_characters_by_the_keyboard_and_by_the_pointer(module_page: Page, widget: Locator) -> None:
    widget.get_by_role("switch", name="Grammar").check()
    ask(widget, prompt="((((", budget=10, temperature=0)
    last = cells(widget).count() - 1
    cells(widget).first.click()
    cells(widget).first.focus()
    for key, i in (
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("ArrowLeft", 1),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
        ("ArrowUp", 0),
    ):
        module_page.keyboard.press(key)
        expect(cells(widget).nth(i)).to_be_focused()
        assert shown(widget)["selected"] == i
        expect(widget.locator('[role="radio"][tabindex="0"]')).to_have_count(1)
    inside(widget).click()
    for lane, place in (("svg.dh-removed", 1), ("svg.dh-tension", 2)):
        cells(widget).first.click()
        widget.locator(lane).scroll_into_view_if_needed()
        box = widget.locator(lane).bounding_box()
        assert box
        for column in (4.5 + place, 2.5):  # four characters are the prompt's, and not chosen
            module_page.mouse.click(box["x"] + column * box["width"] / 14, box["y"] + 5)
            assert shown(widget)["selected"] == place


def test_everything_by_the_keyboard_alone(module_page: Page, widget: Locator) -> None:
    keyboard = module_page.keyboard
    ask(widget, prompt="((", budget=20, temperature=0)
    widget.get_by_role("switch", name="Grammar").check()
    widget.get_by_role("radio", name="Writing").focus()
    keyboard.press("Tab")
    expect(model_named(widget, "as published")).to_be_focused()
    keyboard.press("ArrowRight")
    expect(model_named(widget, "mask mended")).to_be_checked()
    keyboard.press("Tab")
    expect(widget.get_by_role("switch", name="Grammar")).to_be_focused()
    keyboard.press("Space")
    expect(widget.get_by_role("switch", name="Grammar")).not_to_be_checked()
    assert shown(widget)["struck"] == []
    keyboard.press("Tab")
    expect(widget.get_by_role("switch", name="Stop when closed")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("End")
    keyboard.type("a")
    assert shown(widget)["prompt"] == "((a"
    keyboard.press("Tab")
    keyboard.press("ArrowLeft")
    expect(verdict(widget)).to_contain_text(" of 19 characters")
    keyboard.press("Tab")
    for _ in range(15):
        keyboard.press("ArrowRight")
    expect(widget.get_by_label("Temperature", exact=True)).to_have_attribute(
        "aria-valuetext", "1.5"
    )
    keyboard.press("Tab")
    expect(widget.get_by_role("button", name="Draw again")).to_be_focused()
    before = shown(widget)["added"]
    keyboard.press("Enter")
    keyboard.press("Enter")
    assert shown(widget)["added"] != before
    keyboard.press("Tab")
    expect(widget.locator('[role="radio"][aria-checked="true"]')).to_be_focused()
    expect(widget.locator(".dh-steps")).to_be_hidden()
    keyboard.press("Tab")
    expect(inside(widget)).to_be_focused()
    keyboard.press("Enter")
    expect(widget.locator(".dh-steps")).to_be_visible()


def test_the_second_widget_opens_on_what_the_grammar_removes(open_page: OpenPage) -> None:
    """A model that has learnt nothing: it balances, and much is taken from it."""
    second = open_page(CHAPTER).page.locator(".dialectical.attn-widget").nth(1)
    expect(second.get_by_role("radio", name="untrained", exact=True)).to_be_checked()
    expect(second.get_by_role("switch", name="Grammar")).to_be_checked()
    expect(second.locator(".dh-inside")).not_to_have_attribute("open", "")
    page = shown(second)
    assert page["verdict"].startswith("✓ Balanced")
    removed = [float(label.split(", ")[-1].split()[0]) for label in page["labels"]]
    assert max(removed) > 0.5
    assert page["struck"]
    second.get_by_role("switch", name="Grammar").uncheck()
    expect(verdict(second)).to_contain_text("✗ It ")


def test_drawing_again_and_going_back(module_page: Page, widget: Locator) -> None:
    again = widget.get_by_role("button", name="Draw again")
    ask(widget, prompt="((((((", budget=30, temperature=0)
    expect(again).to_be_disabled()
    greedy = shown(widget)
    ask(widget, temperature=2)
    texts = [shown(widget)["added"]]
    for _ in range(4):
        again.click()
        texts.append(shown(widget)["added"])
    assert len(set(texts)) == len(texts)
    ask(widget, temperature=0)
    assert shown(widget) == greedy
    ask(widget, temperature=2)
    assert shown(widget)["added"] == texts[-1]


# Requests that cannot be met -------------------------------------------------------------------


CHARACTERS = "Write with ( ) a b and spaces;"
OPEN_FIRST = "Open a bracket before you close it;"
REFUSED = {
    "": "Write at least one character: a model predicts from what came before.",
    "(x": f"{CHARACTERS} x is none of them.",
    "(🙂": f"{CHARACTERS} 🙂 is none of them.",
    "(_": f"{CHARACTERS} _ is padding.",
    HTML: f"{CHARACTERS} < is none of them.",
    "<script>alert(1)</script>": f"{CHARACTERS} < is none of them.",
    ")": f"{OPEN_FIRST} character 1 closes one that is not open.",
    "() a)": f"{OPEN_FIRST} character 5 closes one that is not open.",
    "a" * 10_000: "Prompt and budget make 10020 characters; the model reads at most 64.",
}


def test_a_budget_can_be_what_is_wrong_and_what_mends_it(widget: Locator) -> None:
    ask(widget, prompt="(((", budget=9)
    ask(widget, budget=2)
    need = "3 brackets are open, so the budget must be at least 3."
    expect(message(widget)).to_have_text(f"{need} {BEFORE}")
    budget = widget.get_by_label("Budget", exact=True)
    expect(budget).to_have_attribute("aria-invalid", "true")
    expect(budget).to_have_accessible_description(f"{need} {BEFORE}")
    expect(verdict(widget)).to_contain_text(" of 9 characters")
    ask(widget, prompt="((((")
    expect(message(widget)).to_contain_text("4 brackets are open")
    ask(widget, budget=4)
    expect(message(widget)).not_to_contain_text(BEFORE)
    expect(verdict(widget)).to_contain_text("Balanced, 4 of 4 characters")
    assert shown(widget)["prompt"] == "(((("
    ask(widget, budget=2)
    expect(message(widget)).to_contain_text("4 brackets are open")
    grammar = widget.get_by_role("switch", name="Grammar")
    grammar.click()  # without it a model may fail
    expect(message(widget)).not_to_contain_text(BEFORE)
    expect(verdict(widget)).to_contain_text(re.compile(r"\d of 2 characters"))
    grammar.click()
    expect(message(widget)).to_contain_text("4 brackets are open")


def test_another_model_leaves_what_was_typed(widget: Locator, runs: dict[str, Any]) -> None:
    ask(widget, prompt="(a", budget=20)
    ask(widget, prompt="(a))")
    for name in runs:
        take_model(widget, name)
        expect(message(widget)).to_contain_text(BEFORE)
        expect(widget.get_by_label("Prompt", exact=True)).to_have_value("(a))")
        assert shown(widget)["prompt"] == "(a"


# Screen reader, phone, dark, other views -------------------------------------------------------


def test_tracks_stand_under_their_characters(widget: Locator) -> None:
    ask(widget, prompt="((a(", budget=11, temperature=0)
    lines = widget.locator(".dh-writing-view .attn-track").all()
    assert [line.is_visible() for line in lines] == [True] * 3 + [False] * 3
    inside(widget).click()
    assert all(line.is_visible() for line in lines)
    tracks = [line.bounding_box() for line in lines]
    assert len({(box["x"], box["width"]) for box in tracks if box}) == 1
    first, here = cells(widget).first.bounding_box(), tracks[0]
    assert first and here
    assert first["x"] == pytest.approx(here["x"] + 4 * here["width"] / 15, abs=0.5)


def test_it_wakes_up_and_what_the_reader_chose_survives_another_training(module_page: Page) -> None:
    scratch = put_in(module_page, far_from_start(KINDS[3], 0), **{**PLAIN, "budget": 12})
    module_page.evaluate("fake.set('runs', {})")
    expect(scratch.get_by_text("No model yet")).to_be_visible()
    expect(scratch.get_by_label("Prompt", exact=True)).to_be_hidden()
    module_page.evaluate(
        "fake.set('run', Object.keys(saved.runs)[0]); fake.set('runs', saved.runs)"
    )
    expect(scratch.get_by_text("No model yet")).to_be_hidden()
    ask(scratch, prompt="(b(", budget=9)
    cells(scratch).nth(2).click()
    before = shown(scratch)
    zero_weights(module_page)
    after = shown(scratch)
    assert (after["prompt"], after["selected"]) == (before["prompt"], before["selected"])
    assert after["wanted"] == ["0.14"] * 7  # weights of nothing have no preference


def test_a_change_from_elsewhere_is_shown(module_page: Page) -> None:
    scratch = put_in(module_page, far_from_start(KINDS[3], 0), **{**PLAIN, "constrained": True})
    ask(scratch, prompt="(x")
    module_page.evaluate("fake.set('prompt', 'ab'); fake.set('budget', 3)")
    expect(scratch.get_by_label("Prompt", exact=True)).to_have_value("ab")
    expect(scratch.get_by_label("Budget", exact=True)).to_have_value("3")
    assert shown(scratch)["prompt"] == "ab"
    module_page.evaluate("fake.set('prompt', '(((((')")  # the notebook asks for too much
    expect(message(scratch)).to_contain_text("5 brackets are open")
    assert shown(scratch)["prompt"] == "ab"


def test_a_model_that_cannot_read_so_much_says_so(module_page: Page) -> None:
    scratch = put_in(module_page, far_from_start(KINDS[3], 0), **{**PLAIN, "budget": 40})
    sentence = "Prompt and budget make 42 characters; the model reads at most 31."
    expect(message(scratch)).to_have_text(sentence)
    expect(verdict(scratch)).to_be_hidden()
    ask(scratch, budget=29)
    expect(message(scratch)).not_to_contain_text(sentence)
    expect(verdict(scratch)).to_contain_text(" of 29 characters")


# As test_widgets.py tries it -------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    grammar = widget.get_by_role("switch", name="Grammar")
    ask(widget, prompt="((a(b)(((", budget=5, temperature=0)  # all that is left is to close
    grammar.check()
    assert shown(widget)["struck"]
    yield "removed", True
    requests = (
        ("((", 20, 0, True),
        ("((a(b)(((", 12, 0, True),
        ("a", 60, 2, False),
        ("(" * 15, 15, 1, True),
        ("()", 0, 0, False),
    )
    for name, some in (("as published", requests), ("mask mended", requests[::2])):
        take_model(widget, name)
        for prompt, budget, temperature, constrained in some:
            ask(widget, prompt=prompt, budget=budget, temperature=temperature)
            grammar.set_checked(constrained)
            yield f"{name}, {prompt}, {budget}", False
    ask(widget, prompt="() a)")
    yield "refused", True


def states_of_the_head(widget: Locator) -> Iterator[tuple[str, bool]]:
    """With what is folded away at first, and of a model whose text breaks."""
    take_model(widget, "as published")
    ask(widget, prompt="((a(b)(((", budget=5, temperature=0)
    widget.get_by_role("switch", name="Grammar").check()
    if not widget.locator(".dh-steps").is_visible():
        inside(widget).click()
    yield "removed", True
    widget.get_by_role("switch", name="Grammar").uncheck()
    ask(widget, temperature=2)
    expect(verdict(widget)).to_contain_text("✗ It ")
    yield "broken", True


def writes_twenty(visit: Visit) -> Locator:
    widget = where_it_writes(visit)
    ask(widget, budget=20)
    return widget


def write(widget: Locator) -> None:
    widget.get_by_role("radio", name="Writing").check()


SCENES = [
    Scene(
        "dialectical, writing",
        states,
        (
            Field(
                writes_twenty,
                "Prompt",
                "(a",
                {typed: f"{sentence} {BEFORE}" for typed, sentence in REFUSED.items()},
                shown,
                ".dh-writing-view .attn-message",
            ),
        ),
        limits={1280: 46.5, 390: 74},
        part=".dh-explorer",  # what stands above the panel for training
        open=write,
        awake={"view": "writing"},
    ),
    Scene("dialectical, the head", states_of_the_head, (), open=write),
]
