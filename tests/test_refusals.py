"""What cannot be is refused by its name, at once, and not by what happens to break later."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator, nn

from attn_notes import allowed, doubt, programs
from attn_notes.analysis import cost, leaks, statistics
from attn_notes.models import attention, deep_qkv, dialectical, equilibrium, triple_product, trm
from attn_notes.programs.forward import forward
from attn_notes.tasks import brackets, copying, prediction, sorting, sudoku, text
from attn_notes.training import comparison, ensemble, schedules

NAN, INF = math.nan, math.inf
TEXT = text.Text("abracadabra" * 10)
SUDOKU = sudoku.Sudoku(2, 2)
RELAX = equilibrium.Relaxation(2, 0.5)


def generator() -> Generator:
    return Generator().manual_seed(1)


def whole(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.long)


def sorter(**change: Any) -> deep_qkv.Sorter:
    return deep_qkv.Sorter(deep_qkv.Config(**change), generator())


def settling(**change: Any) -> equilibrium.LanguageModel:
    sizes = {"vocabulary": 5, "context": 7, "width": 6, "heads": 2, "relaxation": RELAX}
    return equilibrium.LanguageModel(equilibrium.Config(**sizes | change), generator())


def thinker(**change: Any) -> trm.TRM:
    sizes = {"vocabulary": 5, "cells": 16, "width": 8, "multiple": 4, "heads": 2, "layers": 1}
    return trm.TRM(trm.Config(**sizes | change), generator())


def train(**change: Any) -> object:
    """A model of one number, trained for no step."""
    model = nn.Linear(1, 1, bias=False)
    settings = {"steps": 0, "optimizer": partial(torch.optim.SGD, lr=0.1), **change}
    return ensemble.train([model], lambda m, x: m(x).sum(), torch.ones(1, 1), **settings)


def train_kinds(**change: Any) -> object:
    settings = {"seeds": 1, "steps": 0, "lr": 0.1, "loss": lambda m, x: m(x).sum(), **change}
    return comparison.train_kinds(
        {"one": lambda generator: nn.Linear(1, 1)}, sample=lambda g: torch.ones(1, 1), **settings
    )


REFUSED: dict[str, list[tuple[Callable[[], object], str]]] = {
    "sorting": [
        (lambda: sorting.decode([1, -1]), "ids must lie between 0 and 3, not between -1 and 1"),
        (lambda: sorting.decode([4]), "ids must lie between 0 and 3"),
        (lambda: sorting.sample(-1, generator()), "n must be at least 0, not -1"),
        (lambda: sorting.sample(10**12, generator()), "n must be at most 1,000,000"),
        (lambda: sorting.sample_weights(0, generator()), "n must be at least 1, not 0"),
        (lambda: sorting.entropies(torch.zeros(0, 7).long()), "sequences must have at least one"),
        (
            lambda: sorting.loss(
                lambda x: torch.zeros(*x.shape, 4), sorting.population(), predictions=slice(0, 0)
            ),
            "predictions must have at least one of 6",
        ),
    ],
    "copying": [
        (lambda: copying.loss(lambda x: x, whole([1])), "predicted must have at least one"),
        (lambda: copying.Copying(vocabulary=10**12), "vocabulary must be at most"),
        (lambda: copying.Copying().sample(-1, generator()), "n must be at least 0, not -1"),
        (lambda: copying.Copying(3, 4, (2,)).ideal(whole([0, 3])), "x must lie between 0 and 2"),
        (lambda: copying.Copying(3, 4, (2,)).ideal(whole([0, -1])), "x must lie between 0 and 2"),
        (
            lambda: copying.Copying(3, 4, (2,)).probe(lambda x: x, whole([0, 1])),
            "nothing can be known in 1 sequences of 2 tokens",
        ),
        (
            lambda: copying.Copying(3, 4, (2,)).probe(lambda x: x, torch.zeros(0, 4).long()),
            "nothing can be known in 0 sequences",
        ),
    ],
    "brackets": [
        (lambda: brackets.Brackets(pairs=40), "pairs must be at most 8, not 40"),
        (lambda: brackets.Brackets(max_length=10**9), "max_length must be at most 1,024"),
        (lambda: brackets.Brackets(filler=NAN), "below 1, not nan"),
        (lambda: brackets.Brackets(pairs=2, fewest=3), "fewest must be at most 2, not 3"),
        (lambda: brackets.Brackets(fewest=0), "fewest must be at least 1, not 0"),
        (lambda: brackets.Brackets().sample(-1, generator()), "n must be at least 0"),
        (lambda: brackets.Brackets().ideal(whole([0, -1])), "x must lie between 0 and 6"),
        (lambda: brackets.Brackets().ideal(whole([0, 7])), "x must lie between 0 and 6"),
        (lambda: brackets.Brackets().entropies(whole([0, 7])), "x must lie between 0 and 6"),
        (lambda: brackets.Brackets().ideal(torch.zeros(2, 0).long()), "at least one token"),
        (lambda: brackets.decode([-1]), "ids must lie between 0 and 6"),
        (lambda: brackets.trim((torch.zeros(0, 3).long(),) * 2), "strings must have at least one"),
    ],
    "text": [
        (lambda: TEXT.decode([-1]), "numbers must lie between 0 and 4"),
        (lambda: TEXT.decode([5]), "numbers must lie between 0 and 4"),
        (lambda: TEXT.sample(-1, 3, generator()), "n must be at least 0"),
        (lambda: TEXT.sample(1, 0, generator()), "length must be at least 1"),
        (lambda: TEXT.held_out(0), "length must be at least 1"),
        (lambda: TEXT.count_losses(10**9), "an order of 1000000000 cannot be counted"),
        (lambda: text.groups_of(whole([1, 2])[0], 0, 3), "k must be at least 1"),
        (lambda: text.groups_of(whole([1, 2])[0], 3, 3), "k must be at most 2"),
    ],
    "sudoku": [
        (lambda: sudoku.Sudoku(5, 5), "2 to 16 cells, not 5 × 5"),
        (lambda: sudoku.Sudoku(1, 35), "2 to 16 cells, not 1 × 35"),
        (lambda: sudoku.Sudoku(2, 2, held_out_share=NAN), "held out, not nan"),
        (lambda: SUDOKU.grids(-1, generator()), "n must be at least 0"),
        (lambda: SUDOKU.place(whole([5] * 16)), "boards must lie between 0 and 4"),
        (lambda: SUDOKU.rounds(whole([-1] * 16)), "boards must lie between 0 and 4"),
        (lambda: SUDOKU.solve(whole([5] * 16)), "boards must lie between 0 and 4"),
        (lambda: SUDOKU.solve(whole([0] * 16), limit=0), "limit must be at least 1"),
        (lambda: SUDOKU.class_key(whole([0] * 16)), "grids must lie between 1 and 4"),
        (lambda: SUDOKU.held_out(whole([0] * 16)), "grids must lie between 1 and 4"),
        (lambda: SUDOKU.write(whole([5] * 16)[0]), "board must lie between 0 and 4"),
        (
            lambda: SUDOKU.augment((whole([0] * 16), whole([5] * 16)), generator()),
            "boards must lie between 0 and 4",
        ),
        (lambda: SUDOKU.drawer((torch.zeros(0, 16).long(),) * 2), "bank must have at least one"),
        (
            lambda: SUDOKU.drawer((whole([0] * 16),) * 2)(-1, generator()),
            "n must be at least 0",
        ),
    ],
    "attention": [
        (lambda: attention.rotate(torch.ones(2, 4), base=NAN), "base must be positive"),
        (lambda: attention.rotate(torch.ones(2, 4), base=0.0), "base must be positive"),
        (lambda: attention.StandardAttention(4, 0, 2, generator()), "heads must be at least 1"),
        (lambda: attention.dot_scores(*torch.ones(2, 1, 3, 0)), "at least one dimension"),
        (lambda: attention.linear(0, 3, generator()), "inputs must be at least 1"),
    ],
    "deep_qkv": [
        (lambda: deep_qkv.Config(heads=0), "heads must be at least 1, not 0"),
        (lambda: deep_qkv.Config(embedding=0), "embedding must be at least 1"),
        (lambda: deep_qkv.Config(vocabulary=0), "vocabulary must be at least 1"),
        (lambda: deep_qkv.Config(vocabulary=10**12), "vocabulary must be at most"),
        (lambda: deep_qkv.Config(context=0), "context must be at least 1"),
        (lambda: deep_qkv.Config(temperature=INF), "temperature must be positive and finite"),
        (lambda: sorter()(whole([1] * 9)), "at most 7 tokens, not 9"),
        (lambda: sorter(vocabulary=3).sort("cab"), "sorting takes 4 tokens, the model has 3"),
        (lambda: sorter(context=5).sort("cab"), "at most 5 tokens, not 6"),
        (lambda: sorter(variant="plain").block.attention.q.gate(), "plain has no gate"),
    ],
    "dialectical": [
        *(
            (partial(dialectical.Config, **{size: 0}), f"{size} must be at least 1")
            for size in ("vocabulary", "context", "width", "head_dim")
        ),
        *(
            (partial(dialectical.Config, **{name: value}), f"{name} must be 0 or more and finite")
            for name in ("halt_eps", "tension_tau")
            for value in (NAN, INF, -0.1)
        ),
        (lambda: dialectical.Config(steps=10**12), "steps must be at most"),
    ],
    "equilibrium": [
        *(
            (partial(settling, **{size: 0}), f"{size} must be at least 1")
            for size in ("vocabulary", "context", "width", "heads")
        ),
        *(
            (partial(settling, **{name: NAN}), f"{name} must be")
            for name in ("strength", "damping", "embedding_std")
        ),
        (lambda: equilibrium.Relaxation(1, INF), "a step is positive, not inf"),
        (lambda: equilibrium.Relaxation(10**12, 0.1), "steps must be at most"),
        (lambda: settling().settle(torch.zeros(0, 3).long()), "x must have at least one"),
        (lambda: settling()(whole([1] * 8)), "at most 7 tokens, not 8"),
    ],
    "triple_product": [
        (lambda: triple_product.Config(vocabulary=0), "vocabulary must be at least 1"),
        (lambda: triple_product.Config(width=10**12), "width must be at most"),
        (
            lambda: triple_product.TripleProductAttention(4, 0, 2, generator()),
            "heads must be at least 1",
        ),
    ],
    "trm": [
        *(
            (partial(trm.Config, expansion=value), "expansion must be positive and finite")
            for value in (NAN, INF, 0.0)
        ),
        (lambda: thinker(expansion=1e-9), "inner must be at least 1"),
        (lambda: trm.Config(width=10**12), "width must be at most"),
        (lambda: thinker().start(-1), "batch must be at least 0"),
    ],
    "training": [
        (lambda: train(steps=-1), "steps must be at least 0"),
        (lambda: train(probe_every=0), "probe_every must be at least 1"),
        *((partial(train, clip=clip), "clip must be positive") for clip in (NAN, INF, 0.0)),
        *((partial(train_kinds, lr=lr), "lr must be positive") for lr in (NAN, INF, 0.0, -1.0)),
        (lambda: train_kinds(lr={"one": NAN}), "lr must be positive"),
        (lambda: train_kinds(lr={"two": 0.1}), "a learning rate is missing: of one"),
        (lambda: train_kinds(loss={}), "a loss is missing: of one"),
        (lambda: train_kinds(seeds=0), "seeds must be at least 1"),
        (lambda: schedules.warmup_cosine(-1, 0), "steps must be at least 0"),
        (lambda: schedules.warmup_cosine(1, 0, NAN), "last must be 0 or more and finite"),
    ],
    "programs": [
        (
            lambda: programs.export(lambda t: t, {}),
            "a program has at least one input, and there is none",
        ),
        (
            lambda: programs.export(lambda t: {}, {"x": torch.ones(1)}),
            "a program has at least one output, and there is none",
        ),
        (
            lambda: forward(nn.Linear(1, 1), {"weight": torch.ones(1)}, ("y",)),
            "weight: name of an input and of a parameter",
        ),
        (
            lambda: forward(nn.Linear(1, 1), {"x": torch.ones(1)}, ("y", "z")),
            "forward returns 1 tensors, and 2 names are given",
        ),
        (lambda: sorting.counted(slice(6, None)), "predictions must have at least one of 6"),
    ],
    "doubt": [
        (lambda: doubt.causal(nn.Embedding(3, 3), whole([0]), 3), "two tokens or more, not"),
        (lambda: doubt.causal(nn.Embedding(3, 3), whole([0, 3]), 3), "between 0 and 2"),
        (lambda: doubt.floor(whole([0, 1]), whole([0]), 3), "test must have at least one"),
        (lambda: doubt.twins([], [1]), "train must have at least one"),
        (lambda: doubt.proper(lambda x: x, whole([0]), 1), "vocabulary must be at least 2"),
        (lambda: doubt.slope(nn.ReLU(), lambda m: torch.ones(())), "no parameter of the model"),
        (lambda: doubt.compare(lambda r, s: s, lambda r, s: s, []), "rates must have at least"),
    ],
    "the rest": [
        (lambda: statistics.shift(torch.ones(0)), "differences must have at least one"),
        (lambda: statistics.could_show_in_pairs(torch.tensor([NAN])), "values must be finite"),
        (lambda: text.count_losses(whole([3])[0], whole([0])[0], 3, 1), "train must lie between"),
        (lambda: cost.seconds({}, repeats=0), "repeats must be at least 1"),
        (lambda: leaks.influence(lambda x: x, whole([0, 1]), 10**9), "at most 10,000"),
        (lambda: leaks.on_prefixes(lambda x: x, torch.zeros(0, 3).long(), 0), "tokens must have"),
        (
            lambda: statistics.compare(torch.ones(201), torch.ones(200)),
            "pairs must be at most 40,000, not 40,200",
        ),
    ],
}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        pytest.param(ask, message, id=f"{where}-{i}")
        for where, asked in REFUSED.items()
        for i, (ask, message) in enumerate(asked)
    ],
)
def test_what_cannot_be_is_refused_by_name(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_the_largest_that_are_allowed_can_be() -> None:
    x, y = brackets.Brackets(pairs=brackets.MOST_PAIRS).sample(2, generator())
    assert x.shape == y.shape == (2, 95)
    task = sudoku.Sudoku(4, 4)
    grids = task.grids(1, generator())
    assert task.rounds(grids).tolist() == [0]


def test_nothing_can_be_drawn() -> None:
    assert sorting.sample(0, generator()).shape == (0, 7)
    assert copying.Copying().sample(0, generator()).shape == (0, 32)
    assert [part.shape for part in brackets.Brackets().sample(0, generator())] == [(0, 95)] * 2
    assert TEXT.sample(0, 3, generator()).shape == (0, 4)
    assert SUDOKU.grids(0, generator()).shape == (0, 16)
    assert text.look_up(whole([])[0], whole([])[0], whole([3])[0]).tolist() == [0]


def test_a_board_that_cannot_be_decided_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6 × 6 an empty board has 28,200,960 solutions, and each takes a try."""
    monkeypatch.setattr(sudoku, "MOST_TRIES", 2)
    task, empty = sudoku.Sudoku(2, 3), torch.zeros(1, 36, dtype=torch.long)
    with pytest.raises(ValueError, match=r"after 2 tries a board .* give more digits"):
        task.solve(empty, limit=2)
    grid = task.grids(1, generator())
    assert task.solve(grid)[0].tolist() == [1]  # which one look decides


def test_tokens_of_a_longer_sorter_are_read() -> None:
    model = deep_qkv.Sorter(replace(deep_qkv.Config(), context=9), generator())
    assert model(whole([1] * 9)).shape == (1, 9, 4)


def test_prediction_of_nothing_is_nothing() -> None:
    losses = prediction.token_losses(torch.zeros(0, 3, 4), torch.zeros(0, 4).long())
    assert losses.shape == (0, 3)


def test_what_is_not_installed_is_asked_for_by_name() -> None:
    assert allowed.needed("math", "doubt") is math
    with pytest.raises(
        ModuleNotFoundError, match=r"no_such, which comes with: .*'attn-notes\[a\]'"
    ) as e:
        allowed.needed("no_such", "a")
    assert e.value.name == "no_such"


def test_a_setting_of_another_kind_is_refused_outside_the_tests_too() -> None:
    """Here the hook that checks types comes first; a reader has none, and meets these."""
    path = importlib.util.find_spec("attn_notes.allowed").origin
    spec = importlib.util.spec_from_file_location("without_hook", path)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    for wrong in (2.5, "2", None, NAN):
        with pytest.raises(ValueError, match="heads must be a whole number, not"):
            plain.whole(heads=wrong)
    for check in (plain.number, plain.positive, plain.not_negative):
        check(lr=1), check(lr=0.5)
        for wrong in ("1", None, NAN, INF, -INF):
            with pytest.raises(ValueError, match="lr must be"):
                check(lr=wrong)
    plain.number(lr=-1.0), plain.not_negative(lr=0.0)
    for check in (plain.positive, plain.not_negative):
        with pytest.raises(ValueError, match="lr must be"):
            check(lr=-1e-300)
    with pytest.raises(ValueError, match="lr must be"):
        plain.positive(lr=0)
    plain.whole(2, 4, a=2, b=4)
    for wrong, message in ((1, "at least 2, not 1"), (5, "at most 4, not 5")):
        with pytest.raises(ValueError, match=f"a must be {message}"):
            plain.whole(2, 4, a=wrong)
