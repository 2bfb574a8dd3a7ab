"""What the records do not reach: verdicts and titles that turn, a tie, and what no page prints."""

from copy import deepcopy
from dataclasses import replace
from math import nan
from typing import Any
from unittest.mock import Mock, call

import pytest
import torch
from torch import Generator

from attn_notes.models.dialectical import PUBLISHED, LanguageModel
from attn_notes.tasks.brackets import Brackets
from attn_notes.training.ensemble import Run
from book.lessons.dialectical import claims, evidence, figures, recipe, tables
from book.lessons.dialectical.evidence import Live, Recorded
from book.lessons.dialectical.widget import BracketGenerator
from tests.tables import rows

EIGHT, MIXED = [i / 10 for i in range(1, 9)], [s * i / 10 for i in (1, 2, 3, 4) for s in (1, -1)]
MINUS = [-x for x in EIGHT]
LOWER = "logits lower by 30"


# fmt: off
FINDINGS = [
    *((claims.never_below, [0.2, x], ok) for x, ok in (
        (-9e-4, True), (-2e-3, False), (nan, False))),
    *((claims.near, [0.01, x], ok) for x, ok in (
        (0.029, True), (0.031, False), (-0.2, False), (nan, False))),
    *((claims.reads_no_future, [0.0, x], False) for x in (1e-9, nan)),
    *((claims.streams_differ, [0.2, x], False) for x in (0.0, nan)),
    *((claims.halts, [4.0, x], False) for x in (6.0, nan)),
    *((claims.follows_doubt, v, ok) for v, ok in (
        (EIGHT, True), (MINUS, False), (MIXED, None), ([*EIGHT[1:], nan], None))),
    *((claims.loses_less, v, ok) for v, ok in (
        (MINUS, True), (EIGHT, False), (MIXED, None), ([*MINUS[1:], nan], None))),
    *((claims.falls, [[0.5, 0.9, 0.5 - x] for x in v], ok) for v, ok in (
        (EIGHT, True), (MINUS, False), (MIXED, None), (EIGHT[:5], None))),
]
PROMISES = [
    ("as trained", "published", "unbalanced", ["“a constrained decoder"]),
    *((logits, "grammar", fault, [f"By the grammar: {said}"]) for logits in ("as trained", LOWER)
      for fault, said in (("unbalanced", "balanced"), ("contain PAD", "no PAD"),
                          ("exceed the budget", "within"))),
    (LOWER, "published", "unbalanced", []),
]
RUNS = [
    ({}, "As published the loss falls through the floor; mask mended"),
    ({"published": 0.2}, "No loss ends below the floor"),
    ({"mended": -0.1}, "Every loss falls through the floor"),
]
# fmt: on


@pytest.mark.parametrize(("finding", "values", "verdict"), FINDINGS)
def test_a_finding_follows_its_numbers(finding, values, verdict):
    assert finding(torch.tensor(values)).verdict is verdict


def live(published: float = -0.2, mended: float = 0.02) -> Live:
    ends = {"as published": [published, published, published - 0.1]}
    ends["mask mended"] = [0.02, mended, 0.01]
    curves = {kind: torch.tensor([[0.7] * 3, end]) for kind, end in ends.items()}
    return Live(torch.tensor([0, 50]), curves)


@pytest.mark.parametrize(("run", "title"), RUNS)
def test_a_title_follows_the_readers_own_runs(run, title):
    assert figures.falling(live(**run)).title.startswith(title)
    assert not evidence.falls_below(torch.tensor([nan, -0.1]))
    alike = figures.removals({"trained": [0.5, 0.4], "untrained": [0.5, 0.6]}, "((")
    assert "takes about as much from either model" in alike.title


def changed(where: str, *path: Any, to: Any) -> Recorded:
    found = evidence.recorded()
    record = at = deepcopy(getattr(found, where))
    for key in ("runs", *path[:-1]):
        at = at[key]
    at[path[-1]] = to
    return replace(found, **{where: record})


def moved(after: Recorded) -> list[str]:
    """The claims of which something else is found than in the records."""
    pairs = zip(claims.evidence(evidence.recorded()), claims.evidence(after), strict=True)
    return [old.text for old, new in pairs if old.findings != new.findings]


NAMED = ("published", "As published"), ("published, masked", "Mask mended"), ("corrected", "Corr")


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_what_is_said_of_a_model_is_read_off_that_model(kind, name):
    for what, said in (("leak", "a prediction depends"), ("streams apart", "“Opposed streams”")):
        (text,) = moved(made := changed("inside", kind, "members", 3, what, to=99.0))
        assert text.startswith(name) and said in text
        (line,) = claims.lesson(made)[2].findings.values()
        assert line.verdict is not ((kind, what) == ("published, masked", "leak"))


PAID = (4.0, "much more"), (1.9, "about 1.95"), (1.31, "about 1.3,")


@pytest.mark.parametrize(("paid", "answer"), PAID)
def test_a_guess_is_scored_by_what_the_record_has(paid, answer):
    members = [{"loss on prefixes": paid}] * recipe.RECORDED.seeds
    (part,) = evidence.predicted(changed("inside", "published", "members", to=members))
    (words,) = (w for w, value in evidence.ALONE.options.items() if value == part.came)
    assert words.startswith(answer)


@pytest.mark.parametrize("kind", ["published", "corrected"])
@pytest.mark.parametrize(("logits", "decoder", "fault", "told"), PROMISES)
def test_one_wrong_text_turns_one_promise(kind, logits, decoder, fault, told):
    texts = moved(changed("inside", kind, "written", 1, logits, "40", decoder, fault, to=99))
    assert [text[: len(said)] for text, said in zip(texts, told, strict=True)] == told


def test_kinds_that_end_alike_cannot_be_told_apart():
    whole = evidence.recorded().parts["runs"]["corrected"]["members"]
    made = changed("parts", "one step", "members", to=whole)
    tie = claims.about_parts(made)["corrected", "one step"].findings["recorded"]
    assert tie.verdict is None and tie.found == "lower in 32 of 64 pairs of seeds"
    (row,) = (row for row in rows(tables.compared(made)) if row[:2] == ["corrected", "one step"])
    assert row[2] == "0.0" and row[4] == "p = 1"


def test_a_widget_gets_the_first_seed_and_trains_as_the_recipe_says(monkeypatch):
    load, teach = Mock(), Mock()
    monkeypatch.setattr(BracketGenerator, "load", load)
    monkeypatch.setattr(BracketGenerator, "teach", teach)
    widget, model = BracketGenerator(), LanguageModel(recipe.MENDED, Generator())
    seeds = {name: torch.stack([p, p + 1]).detach() for name, p in model.named_parameters()}
    figures.put_in({"mask mended": Run(seeds, {}, torch.tensor([0]), {}, 0.0, model)}, widget)
    name, first, config = load.call_args.args
    assert (name, config) == ("mask mended", recipe.MENDED)
    assert all(first[key].equal(p[:1]) for key, p in seeds.items())
    figures.teach(widget)
    kinds = {**recipe.LESSON, "all five mended": recipe.WHOLE}
    asked = {key: getattr(recipe.IN_PAGE, key) for key in ("steps", "batch", "warmup")}
    asked |= {"rate": recipe.IN_PAGE.lr, "near": recipe.NEAR_IN_PAGE}
    assert teach.mock_calls == [call(*each, recipe.TASK, **asked) for each in kinds.items()]


def test_it_has_the_settings_of_its_task_and_refuses_a_model_of_another():
    widget = BracketGenerator(Brackets(pairs=3, max_length=20, filler=0.1))
    assert widget.task == dict(pairs=3, max_length=20, filler=0.1, fewest=1)
    for name, value, said in (("vocabulary", 11, "7 tokens, not 11"), ("pad", 0, "6, not 0")):
        with pytest.raises(ValueError, match=said):
            widget.load("one", {}, replace(PUBLISHED, **{name: value}))
    assert widget.runs == {}
