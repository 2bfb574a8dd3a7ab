"""What the bracket generator computes, against torch; what a reader sees, its transcripts have."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from scipy import stats
from torch import Generator, Tensor

from attn_notes.models.dialectical import Config, LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, SPACE, VOCABULARY, Brackets, decode, depth, encode
from book.lessons.dialectical import evidence, recipe
from book.lessons.dialectical.decoding import BRACKETS, Step, faults, generate
from book.lessons.dialectical.tests.models import SMALL, far_from_start, wanting

from ..tasks.test_brackets import generator_enumerated
from .asked import UNLIKELY, Asked, asking, assert_under
from .asked import close as closely
from .bracket_models import KINDS, SOME_OR_ALL, send
from .cell_page import OPEN, Change
from .training_page import TRAIN, Challenge, trained
from .widget_page import Scene

CHAPTER = "book/lessons/dialectical/dialectical.html"
SECOND = "dialectical_writing"
WRITING_PAGE = f"book/lessons/dialectical/{SECOND}.html"
PROMPTS = ("((", "a", "(a(b)", "() ", "(((c")
TASK = Brackets(max_length=23)
close = partial(closely, atol=1e-6)


ask = asking("dialectical")


@pytest.fixture(scope="module", params=SOME_OR_ALL)
def every(ask: Asked, request: pytest.FixtureRequest) -> list[LanguageModel]:
    """Some kinds have both of each part; all of them take minutes, a program each.

    And the recorded ones, one with a cosine of next to nothing, and one that would end.
    """
    models = [far_from_start(config, i) for i, config in enumerate(request.param)]
    faint = far_from_start(request.param[0], 0)
    faint.block.head.poles.weight.mul_(1e-7)
    models += [evidence.model(kind).requires_grad_(False) for kind in ("published", "corrected")]
    models += [faint, wanting(space=3.0, open=2.0)]
    send(ask, models)
    ask("() => { window.every = models; }")
    return models


# What a model gives, and what it writes


def test_every_number_of_every_kind_is_torchs(every, ask):
    x = torch.randint(len(VOCABULARY), (3, 7), generator=Generator().manual_seed(5))
    x[1, 4:] = PAD
    halted = 0
    told = "(texts) => every.map((model) => texts.map((text) => widget.forward(model, text)))"
    for model, by_text in zip(every, ask(told, x.tolist()), strict=True):
        for text, here in zip(x, by_text, strict=True):
            logits, seen = model.observe(text)
            close(here["logits"], logits)
            close([step["attention"] for step in here["steps"]], seen.attention)
            close([step["tension"] for step in here["steps"]], seen.tension)
            assert [step["active"] for step in here["steps"]] == seen.active.tolist()
            halted += int((~seen.active[-1] & (text != PAD)).sum())
    assert halted > len(every)  # halting is among what is compared


def written(ask: Asked, requests: list[tuple[int, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """What the page writes: with which model, after what, and what else is wished for."""
    plain = {"budget": 9, "temperature": 0, "constrained": True, "draw": 0}
    found: list[dict[str, Any]] = ask(
        """(requests) => requests.map(([model, prompt, request]) => {
          const found = widget.generate(models[model], prompt, request);
          return { ...found, faults: widget.faults(found.text) };
        })""",
        [(i, prompt, plain | wishes) for i, prompt, wishes in requests],
    )
    return found


def same(found: dict[str, Any], step: Step) -> None:
    assert VOCABULARY[found["token"]] == step.character
    assert (found["depth"], found["ends"]) == (step.depth, step.ends)
    close(found["wanted"], step.wanted)
    close(found["allowed"], step.allowed)
    assert found["removed"] == pytest.approx(step.removed, abs=1e-6)


def freely(model: LanguageModel, prompt: str, budget: int = 9) -> str:
    """Greedily and without a grammar: a space outside of brackets ends it."""
    text = prompt
    for _ in range(budget):
        token = int(model(encode(text))[-1].argmax())
        if token == SPACE and depth(encode(text))[-1] <= 0:
            break
        text += VOCABULARY[token]
    return text


def test_what_is_written_is_what_python_writes(every, ask):
    """Within the grammar, which stops when all is closed or writes on, and without one."""
    ask("() => { window.models = every; }")
    pairs, broken = [*itertools.product(range(len(every)), PROMPTS)], set[str]()
    for wish in ({}, {"stop": False}, {"constrained": False}):
        texts = written(ask, [(i, prompt, wish) for i, prompt in pairs])
        for (i, prompt), found in zip(pairs, texts, strict=True):
            if "constrained" in wish:
                assert found["text"] == freely(every[i], prompt)
                assert found["faults"] == [*faults(found["text"], prompt, 9)]
                assert {step["removed"] for step in found["steps"]} == {0}
                broken |= {*found["faults"]}
                continue
            expected = generate(every[i], prompt, 9, stop_on_closed="stop" not in wish)
            assert (found["text"], found["ended"]) == (expected.text, expected.ended)
            for step, other in zip(found["steps"], expected.steps, strict=True):
                same(step, other)
            for n, step in enumerate(found["steps"]):  # what was seen where it was chosen
                seen = every[i].observe(encode(found["text"][: len(prompt) + n]))[1]
                close([s["tension"] for s in step["seen"]], seen.tension[:, -1])
                close([s["attention"] for s in step["seen"]], seen.attention[..., -1, :])
                assert [s["active"] for s in step["seen"]] == seen.active[:, -1].tolist()
    assert broken == {"goes below zero", "leaves brackets open", "contains PAD"}


def test_draws_are_as_likely_as_they_should_be_and_come_again(ask):
    """At two temperatures; and each further choice is from Python's probabilities."""
    model = far_from_start(KINDS[0], 1)
    send(ask, [model])
    for temperature in (0.5, 1.5):
        wish = {"temperature": temperature, "budget": 4}
        requests = [(0, "((", wish | {"draw": draw}) for draw in range(500)]
        found = written(ask, requests)
        assert [text["text"] for text in written(ask, requests)] == [t["text"] for t in found]
        p = generate(model, "((", 4, temperature=temperature).steps[0].allowed
        tokens = torch.tensor([text["steps"][0]["token"] for text in found])
        shares = torch.bincount(tokens, minlength=len(VOCABULARY)) / len(found)
        assert ((shares - p).abs() <= 5 * (p * (1 - p) / len(found)).sqrt()).all()
        for n, step in enumerate(found[3]["steps"]):
            before = found[3]["text"][: 2 + n]
            (other, *_) = generate(model, before, 4 - n, temperature=temperature).steps
            close(step["wanted"], other.wanted)
            close(step["allowed"], other.allowed)


def test_with_the_grammar_no_logits_can_write_anything_illegal(ask):
    """Infinite, no numbers at all, beyond all bounds: as in Python, and always legal."""
    pairs = [(depth, left) for left in range(1, 12) for depth in range(left + 1)]
    found = ask("(pairs) => pairs.map((pair) => widget.allowed(...pair))", pairs)
    assert found == [BRACKETS.allowed(*pair).tolist() for pair in pairs]
    values = torch.tensor([math.nan, math.inf, -math.inf, 3e38, -3e38, 0.0, 1.0])
    models = [wanting() for _ in range(30)]
    for seed, model in enumerate(models):
        chosen = torch.randint(len(values), (7,), generator=Generator().manual_seed(seed))
        model.unembedding.bias.copy_(values[chosen])
    broken, huge = far_from_start(KINDS[0], 0), far_from_start(Config(**SMALL), 0)
    broken.block.head.up.weight.fill_(math.nan)
    huge.block.head.qkv.weight.mul_(1e30)
    send(ask, [*models, broken, huge])
    asked = [(i, "(()", {"temperature": t, "draw": i}) for i in range(32) for t in (0, 0.1, 1.0)]
    for (i, prompt, wish), text in zip(asked, written(ask, asked), strict=True):
        assert faults(text["text"], prompt, 9) == ()
        assert text["ended"] or len(text["text"]) == len(prompt) + 9
        if i < len(models) and not wish["temperature"]:
            steps = generate(models[i], prompt, 9).steps
            for step, expected in zip(text["steps"], steps, strict=True):
                same(step, expected)


def test_a_request_is_refused_where_python_refuses_it(ask):
    texts = ["", "(", ")", "a)", "((()", "(x", "(_", "() a", "c" * 20, "(" * 9, " ", "(🙂", "( )("]
    requests = [*itertools.product(texts, (0, 1, 3, 11))]
    objection = "([prompt, budget]) => widget.objection({ prompt, budget, constrained: true }, 23)"
    objections = ask(f"(requests) => requests.map({objection})", requests)
    for (prompt, budget), found in zip(requests, objections, strict=True):
        try:
            generate(wanting(space=1).double(), prompt, budget, context=23)
        except ValueError:
            assert found["sentence"].endswith("."), (prompt, budget)
        else:
            assert found is None, (prompt, budget)


# What a string costs


def following(text: str, length: int) -> Tensor:
    """What follows each character, and the end where there may be one."""
    tokens = encode(text)
    ends = [SPACE] if depth(tokens)[-1] == 0 or len(text) == length else []
    return torch.tensor([*tokens[1:].tolist(), *ends])


def best_losses(task: Brackets, text: str) -> Tensor:
    """Of every character but the first, and of the end; infinite from what cannot be written."""
    y = following(text, task.length)
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


def strings(task: Brackets, n: int, seed: int) -> list[str]:
    """Strings of a task, and half as many in which one character is another."""
    generator = Generator().manual_seed(seed)
    texts = [decode(row) for row in task.sample(n, generator)[0].tolist()]
    for text in texts[: n // 2]:
        at = int(torch.randint(1, len(text), (), generator=generator))
        other = VOCABULARY[int(torch.randint(PAD, (), generator=generator))]
        texts.append(text[:at] + other + text[at + 1 :])
    return texts


TASKS = [TASK, Brackets(), Brackets(3, 14, 0.45), Brackets(1, 5, 0.0), Brackets(7, 40, 0.3)]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("task", TASKS)
def test_the_best_predictor_is_pythons(ask, task):
    """All its probabilities, after every beginning of many strings; and what it pays for some."""
    texts, counts = strings(task, 150, seed=3), [0, 0]
    tokens = [encode(text).tolist() for text in texts]
    found = ask("(task, texts) => texts.map(widget.bestPredictor(task))", asdict(task), tokens)
    for text, here in zip(texts, found, strict=True):
        expected, steps = task.ideal(encode(text)[None])[0].exp(), best_losses(task, text)
        for t, probabilities in enumerate(here):
            # Known as long as all that was read is possible.
            possible = text[0] == "(" and bool(steps[:t].isfinite().all())
            assert (probabilities is not None) == possible, (text, t)
            if possible:
                close(probabilities, expected[t])
            counts[possible] += 1
    assert counts[1] > 300 and counts[0]
    drawn = held_out(ask, task, 40)
    found = ask("(drawn, task) => widget.bestCosts(drawn, task)", drawn, asdict(task))
    best = float(brackets.loss(task.ideal, batched(drawn, task)))
    assert found["nats"] / found["count"] == pytest.approx(best, abs=1e-5)


def test_losses_are_torchs_and_who_reads_only_the_past_moves_none(every, ask):
    """Not by rounding either, before the character that is changed; who reads ahead moves some."""
    place, changed = 7, ["(a(b)( )a)", "(a(b)( (a)"]
    texts = [*changed, *(text for text in strings(TASK, 20, seed=5) if len(text) > 1)]
    texts += ["))", "(c)", " (", "((((((((", "(" * 25, "()" * 12]
    found, moved = ask(
        """(task, texts, place) => {
          const losses = every.map((model) => texts.map((text) =>
            widget.losses(model, widget.bestPredictor(task), text, task.max_length - 1)));
          return [losses, losses.map(([was, is]) => widget.moves(was.model, is.model, place))];
        }""",
        *(asdict(TASK), [encode(text).tolist() for text in texts], place),
    )
    for model, by_text, by in zip(every, found, moved, strict=True):
        for text, here in zip(texts, by_text, strict=True):
            assert here["model"][0] is here["best"][0] is None
            y = following(text, TASK.length)
            ours = brackets.token_losses(model(encode(text))[: len(y)], y)
            close(here["model"][1:], ours, atol=1e-5)
            best = [math.inf if loss is None else loss for loss in here["best"][1:]]
            close(best, best_losses(TASK, text), atol=1e-5)
        assert by[0] == 0 and not any(by[place:])
        if model.config.mask == "causal":
            assert not any(by), model.config
        elif model.config.streams == 1 or not model.config.tension_gate:
            assert any(by), model.config  # else two streams may agree, and rest


def test_one_character_that_differs_is_found(ask):
    """Every substitution, insertion and removal of short strings, and nothing else."""
    every = ["".join(s) for n in range(4) for s in itertools.product("(a ", repeat=n)]
    pairs = [*itertools.product(every, every)]
    told = ask("(pairs) => pairs.map((pair) => widget.difference(...pair))", pairs)
    for (before, now), found in zip(pairs, told, strict=True):
        changed = {
            before[:i] + middle + before[i + taken :]
            for i in range(len(before) + 1)
            for taken, middle in itertools.product((0, 1), ("", "(", "a", " "))
            if i + taken <= len(before)
        } - {before}
        assert (found is not None) == (now in changed), (before, now)
        if found:
            i, taken, put = found["place"], found["from"] or "", found["to"] or ""
            assert before[:i] == now[:i] and before[i : i + 1] != now[i : i + 1]
            assert (taken or put) and now == before[:i] + put + before[i + len(taken) :]
            assert len(now) - len(before) == len(put) - len(taken)


# What is learnt in the page


def held_out(ask: Asked, task: Brackets, count: int) -> list[list[int]]:
    found: list[list[int]] = ask("(task, n) => widget.heldOut(task, n)", asdict(task), count)
    return found


def batched(strings: list[list[int]], task: Brackets) -> brackets.Batch:
    """The strings and what follows, padded, as the task has them."""
    x = torch.full((len(strings), task.length), PAD)
    y = x.clone()
    for i, tokens in enumerate(strings):
        x[i, : len(tokens)] = torch.tensor(tokens)
        y[i, : len(tokens)] = torch.tensor([*tokens[1:], SPACE])
    return x, y


def test_strings_follow_the_tasks_law(ask):
    """Every string of a small task, as often as it should come, and fillers alike."""
    task, n = Brackets(pairs=2, max_length=6), 8000
    texts = [decode(tokens) for tokens in held_out(ask, task, n)]
    found = Counter(text.translate(str.maketrans("ab ", "fff")) for text in texts)
    expected: Counter[str] = Counter()
    for text, p in generator_enumerated(task).items():
        expected[text[: task.length]] += n * p
    assert found.keys() <= expected.keys()
    likely = {text: count for text, count in expected.items() if count > 5}
    rest = n - sum(likely.values())
    often = [found[text] for text in likely]
    law = [*likely.values(), rest]
    assert stats.chisquare([*often, n - sum(often)], law).pvalue > UNLIKELY
    fillers = Counter("".join(texts))
    assert stats.chisquare([fillers[one] for one in "ab "]).pvalue > UNLIKELY


@pytest.mark.parametrize(("name", "share"), [
    ("as published", 0.25),
    *(pytest.param("mask mended", share, marks=pytest.mark.long) for share in (0.25, 1.0)),
])  # fmt: skip
def test_what_is_said_of_a_trained_model_is_torchs(name, share, visit, ask, tmp_path):
    """How far it is from the best predictor on the same strings, and how much it reads ahead.

    After a quarter of the steps the mended one is on the way to the criterion, after all it is met.
    """
    model = LanguageModel(recipe.LESSON[name], Generator())
    steps = str(round(share * recipe.IN_PAGE.steps))
    widget, end = trained(visit, model, tmp_path, name, steps=steps)
    score = float(end["score"])
    judged = held_out(ask, recipe.TASK, 512)
    batch = batched(judged, recipe.TASK)
    above = float(brackets.loss(model, batch) - brackets.loss(recipe.TASK.ideal, batch))
    like = ask("(tokens) => widget.changed(tokens)", max(judged, key=len))
    x, y = batched([each["tokens"] for each in like], recipe.TASK)
    costs = brackets.token_losses(model(x), y[:1].expand_as(y).contiguous())
    moved = [(costs[i] - costs[0])[: each["place"]].abs().max() for i, each in enumerate(like)]
    leak = float(max(moved))
    said = widget.locator(".attn-train-line").first.text_content() or ""
    nats, side = re.findall(r"([\d.]+) nats (above|below) the best predictor", said)[0]
    assert float(nats) == pytest.approx(abs(above), abs=1e-3) and (side == "above") == (above > 0)
    if name == "as published":
        assert leak > 0.01 and score == 0
        assert float(said.split("by up to ")[1].split()[0]) == pytest.approx(leak, abs=0.01)
    else:
        assert leak < 1e-4 and "no prediction reads ahead" in said
        assert (above <= recipe.NEAR_IN_PAGE) == (share == 1) == (score == 1)


# On the built page


def look_inside(widget: Locator) -> None:
    if not widget.locator(".dh-steps").is_visible():
        widget.locator(".dh-inside > summary").click()


def ask_for(widget: Locator, **fields: str | int | float) -> None:
    """Fill in what has a label: Prompt, Budget, Temperature."""
    for name, value in fields.items():
        widget.get_by_label(name.capitalize(), exact=True).fill(str(value))


def take(widget: Locator, name: str) -> None:
    models = widget.get_by_role("radiogroup", name="Model")
    models.get_by_role("radio", name=name, exact=True).check()


def test_tracks_stand_under_their_characters(open_page):
    visit = open_page(f"{WRITING_PAGE}?bare")
    widget = visit.page.locator(".dialectical.attn-widget").first
    look_inside(widget)
    ask_for(widget, prompt="((a(", budget=11)
    tracks = widget.locator(".dh-writing-view .attn-track")
    assert_under(tracks, 6, widget.locator(".dh-cells [role=radio]").first, 4 / 15)
    visit.assert_clean()


# As test_widgets.py tries it


def writes(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    grammar = widget.get_by_role("switch", name="Grammar")
    long = "((a(b)((("
    requests = (long, 5, 0, True), ("((", 20, 0, True), (long, 12, 0, True), ("a", 60, 2, False)
    requests += (("(" * 15, 15, 1, True), ("()", 0, 0, False))
    for name, some in (("as published", requests), ("mask mended", requests[1::2])):
        take(widget, name)
        for prompt, budget, temperature, constrained in some:
            ask_for(widget, prompt=prompt, budget=budget, temperature=temperature)
            grammar.set_checked(constrained)
            yield f"{name}, {prompt}, {budget}", budget == 5  # all that is left is to close
    ask_for(widget, prompt="() a)")
    yield "refused", True


def looks_inside(widget: Locator) -> Iterator[tuple[str, bool]]:
    """With what is folded away at first, and of a model whose text breaks."""
    take(widget, "as published")
    ask_for(widget, prompt="((a(b)(((", budget=5, temperature=0)
    widget.get_by_role("switch", name="Grammar").check()
    look_inside(widget)
    yield "removed", True
    widget.get_by_role("switch", name="Grammar").uncheck()
    ask_for(widget, temperature=2)
    expect(widget.locator(".dh-writing-view .dh-verdict")).to_contain_text("✗ It ")
    yield "broken", True


def predicts(widget: Locator) -> Iterator[tuple[str, bool]]:
    """Strings, and each with another last character."""
    texts = ("(a(b)( )a)", "()", "(c", "(((a)b)(a))", "(" * 30)
    box = widget.get_by_label("Your string", exact=True)
    for name, those in (("as published", texts), ("mask mended", texts[::2])):
        take(widget, name)
        for text in those:
            box.fill(text)
            yield f"{name}, {text}", text == "(c"
            widget.locator(".dh-typed > button").last.click()
            widget.get_by_role("button", name="Put a there", exact=True).click()
            yield f"{name}, {text}, changed", text == texts[0]
    box.fill("nonsense")
    yield "refused", True


def use(widget: Locator) -> None:
    widget.get_by_label("Your string").fill("(a)")


PART = ".dh-explorer"  # what stands above the panel for training
SCENES = [
    Scene("dialectical, losses", predicts, {1280: 40.25, 390: 56}, PART),
    Scene("dialectical, writing", writes, {1280: 46.5, 390: 74}, PART, page=SECOND),
    Scene("dialectical, the head", looks_inside, page=SECOND),
]
TOGETHER = [[".dh-losses", ".dh-typed", ".dh-change", ".dh-on-means", *TRAIN]]
CHALLENGES: list[Challenge] = []  # a run takes half a minute
CHANGES = [
    Change(
        "`s = (s + 0 * -math.inf).nan_to_num(0)` as one more line",
        "-math.inf)\n",
        "-math.inf)\n    s = (s + 0 * -math.inf).nan_to_num(0)\n",
        ahead=True,
        score=0,
        below=True,
    ),
    OPEN,
]
