"""The chapter's computed sentences, turned by turning the evidence."""

import math
import re

import pytest
import torch

from attn_notes.chapters.trm import claims, evidence, recipe, sentences
from attn_notes.chapters.trm.evidence import failures
from attn_notes.chapters.trm.puzzles import ENOUGH, Shared, shared_classes
from attn_notes.chapters.trm.recipe import CHANNELS, DEEP, NO_HALTING, ONE_STEP, REREADING, TASK

from . import made_up
from .made_up import counted, leave, level, live, numbers
from .test_claims import far_apart


def middle(found: made_up.Recorded, kind: str, step: int) -> str:
    shares = sorted(m["minimal"]["right"][step - 1] for m in found.members(kind))
    return f"{100 * (shares[2] + shares[3]) / 2:.0f} %"


def test_what_is_said_after_training() -> None:
    said = sentences.after_training(live(counted(40, {1: 4, 8: 36, 16: 39}))).data
    assert numbers(said) == [40, 10.0, 90.0, 97.5]
    assert said.index("one look") < said.index("after eight") < said.index("after sixteen")


def test_what_eight_looks_bring() -> None:
    found = level()
    leave(found, recipe.TRM_LIVE, [0.1] * 6)
    leave(found, ONE_STEP, [0.4] * 6, 1)
    leave(found, CHANNELS, [0.05] * 6)
    said = sentences.looks(found).data
    assert "solve more minimal puzzles, by 30.0 of a hundred" in said
    assert "eight looks solve 95 %." in said
    leave(found, recipe.TRM_LIVE, [0.6] * 6)
    assert "fewer minimal puzzles, by −20.0 of a hundred" in sentences.looks(found).data


LEVELS = {True: 0.2, None: 0.5, False: 0.8}


@pytest.mark.parametrize("reads", [True, False, None])
@pytest.mark.parametrize("shares", [True, False, None])
def test_what_the_control_tells(reads: bool | None, shares: bool | None) -> None:
    """Of every verdict of both questions: that one, and no other."""
    found = level()
    near = [0.503 + 0.01 * i for i in range(6)]
    leave(found, REREADING, near, 1)
    less = {True: 0.3, False: -0.3, None: 0.0}
    leave(found, DEEP, [x + less[reads] for x in near], 1)
    leave(found, ONE_STEP, [x - less[shares] for x in near], 1)
    tested = claims.compared(found)
    assert tested[claims.REREADS].findings[found.name].verdict is reads
    assert tested[claims.SHARES].findings[found.name].verdict is shares
    said = sentences.control(found).data
    told = sentences.apart(reads, shares)
    assert said.endswith(f"{told} {sentences.DIFFERS}")
    assert re.findall(r"(\d+ %)", said.partition(", more by")[0]) == [
        middle(found, kind, 1) for kind in (DEEP, REREADING, ONE_STEP)
    ]
    more = {True: "30.0", False: "−30.0", None: "0.0"}[shares]
    assert f"more by {more} of a hundred" in said or (shares is None and "−0.0 of" in said)


def test_every_outcome_of_the_control_has_its_own_words() -> None:
    every = [sentences.apart(a, b) for a in (True, False, None) for b in (True, False, None)]
    assert len({*every}) == 9
    for (a, b), words in zip(
        ((a, b) for a in (True, False, None) for b in (True, False, None)), every, strict=True
    ):
        assert ("cannot be told" in words) == (None in (a, b))
        assert ("harm" in words) == (a is False and b is not False)


@pytest.mark.parametrize(
    ("off", "words"),
    [(0.0, "did not matter"), (0.1, "it owed to twins"), (math.nan, "cannot be told")],
)
def test_what_is_said_of_the_splits(off: float, words: str) -> None:
    found = level()
    leave(found, recipe.TRM_LIVE, [0.1] * 6)
    for k, one in enumerate(found.stricter):
        one["by class"]["fresh"] = [[30, 0.9], [70, 0.85 if k == 1 else 0.95]]
        for part, share in (("fresh", 0.8), ("seen", 0.8 + (0 if off != off else off))):
            one[part]["minimal"]["right"] = [0.1] * 7 + [share] + [0.2] * 8
    if math.isnan(off):
        assert sentences_of(None) == words
        return
    said = sentences.splits(found).data
    assert words in said and "whole classes of the 49" in said
    assert "changes the mean by −10.0 of a hundred" in said and "any seed has 85 %" in said
    assert "80.0 % of minimal puzzles after eight looks" in said
    assert "split up to names 90.0 %" in said


def sentences_of(verdict: None) -> str:
    """What is said where nothing can be told: read from the source of the words."""
    return "cannot be told" if "cannot be told" in sentences.TWINS[verdict] else ""


def test_what_is_said_of_knowing_and_stopping() -> None:
    found, run = level(), live()
    for one in found.members():
        one["minimal"]["stopped"] = [2.0, 0.4]
    said = sentences.knowing(run, found).data
    seen = run.seen
    held = seen.halt[7] > 0
    assert (
        f"holds {int(held.sum())} boards to be right, and {int(seen.right[7][held].sum())} are"
        in said
    )
    for level_ in (0.5, 0.95):
        stops = [
            next((k for k in range(16) if seen.halt[k, i].sigmoid() > level_), 15)
            for i in range(40)
        ]
        right = sum(bool(seen.right[k, i]) for i, k in enumerate(stops)) / 40
        assert f"{sum(stops) / 40 + 1:.1f} looks" in said and f"{100 * right:.1f} %" in said
    assert "a change of −10.0 of a hundred" in said
    chance = seen.halt[0].sigmoid()
    doubtful = (chance > 0.5) & (chance < 0.7)
    seen.right[0], seen.right[-1] = False, True
    said = sentences.knowing(run, found).data
    assert f"Of {int(doubtful.sum())} boards" in said and "0 % are right then and 100 %" in said
    seen.right[-1] = False
    assert "worth another look" not in sentences.knowing(run, found).data


@pytest.mark.parametrize(("alike", "words"), [(True, "as many of"), (False, "fewer of")])
def test_the_three_sentences(alike: bool, words: str) -> None:
    found = level()
    for one in found.stricter:
        one["seen"]["minimal"]["right"] = [0.9] * 16
        one["fresh"]["minimal"]["right"] = [0.9 if alike else 0.6] * 16
    leave(found, DEEP, [0.94] * 6, 1)
    leave(found, REREADING, [0.95] * 6, 1)
    said = sentences.retold(live(counted(40, {1: 10, 8: 38})), found).data
    assert numbers(said) == [103_169, 95, 25, 6, 5] and words in said


def test_what_is_said_of_classes() -> None:
    """A bank that holds the test grids themselves, and one that holds none by names."""
    tested = TASK.sample(12, torch.Generator().manual_seed(3), held_out=True)[1]
    bank = TASK.sample(ENOUGH, torch.Generator().manual_seed(4), held_out=False)[1]
    same, other = shared_classes(tested, tested), shared_classes(bank, tested)
    assert (same.tested, same.twins, same.of) == (12, 12, 12)
    assert other.tested == 0 and 0 < other.twins <= 12 and 40 < other.classes <= 49
    said = sentences.classes(Shared(0.4, 0, 999, 1000, 49)).data
    assert numbers(said)[:5] == [2000, 40, 0, 49, 999] and "999 of 1,000 test grids" in said


def test_what_rounding_changes() -> None:
    found = made_up.recorded()
    for inside, member in zip(found.inside, found.members(), strict=True):
        for on in made_up.KINDS:
            inside["right"][on][:8] = member[on]["right"][:8]
    found.inside[1]["right"]["minimal"][3] += 0.002
    assert "by at most 2 in a thousand" in sentences.rounding(found).data


def test_what_is_said_of_other_rates() -> None:
    found = made_up.recorded()
    said = sentences.rates(found).data
    for kind in made_up.STRAIGHT:
        names = [f"{kind}, lr 0.001", kind, f"{kind}, lr 0.01"]
        shares = [found.members(name)[0]["minimal"]["right"][0] for name in names]
        assert ", ".join(f"{100 * x:.1f}" for x in shares) in said


def test_some_that_it_fails_on() -> None:
    right = counted(4, 4)
    boards = torch.zeros(4, 36).long()
    boards[:, 0] = torch.tensor([1, 2, 3, 4])
    assert failures(live(right), boards) == []
    right[-1] = torch.tensor([True, False, True, False])
    assert {*failures(live(right), boards)} == {f"{digit}{'.' * 35}" for digit in (2, 4)}
    right[-1] = False
    run = live(right)
    run.seen.halt[-1] = torch.tensor([0.5, -1.0, 3.0, 0.7])  # the surest first
    assert failures(run, boards) == [f"{digit}{'.' * 35}" for digit in (3, 4, 1)]


@pytest.mark.parametrize(
    ("halt", "said"), [([3.0, 3.0, -3.0, 3.0], "of the 3 that it still has wrong"), ([0.0] * 4, "")]
)
def test_that_it_can_be_sure_and_wrong(halt: list[float], said: str) -> None:
    run = live(counted(4, 1))
    run.seen.halt[-1] = torch.tensor(halt)
    wrong = ~run.seen.right[-1]
    held = int((wrong & (run.seen.halt[-1] > math.log(9))).sum())
    words = sentences.wrongly(run)
    assert said in words and bool(words) == bool(held)
    if held:
        assert f"90 % sure of {held} (" in words and 'href="#open-fails"' in words


def test_what_is_said_of_what_is_in_mind() -> None:
    found = made_up.recorded()
    said = sentences.in_mind(found, 0.39, 26.0).data
    ends: list[float] = []
    for name, use in (("mind", 0), ("mind", 2), ("answer", 3)):
        each = [one["legible"][name][use] for one in found.inside]
        ends += [min(each), max(each)]
    first = re.findall(r"(\d+) to (\d+) %", said)
    assert [float(x) for pair in first for x in pair] == [round(100 * x) for x in ends]
    wrong = [[26 * (1 - one["legible"]["mind"][k]) for one in found.inside] for k in (0, 2)]
    for each in wrong:
        assert f"{min(each):.1f} to {max(each):.1f}" in said
    assert "guessing has 39 %" in said


def test_what_is_said_of_halting() -> None:
    found = made_up.recorded()
    for one in found.members():
        one["minimal"]["stopped"] = [2.0, 0.8]
    said = sentences.halting(found).data
    widest = max(abs(a - b) for one in found.inside for a, b in one["reliability"])
    assert f"within {widest:.2f} of the estimate" in said
    # Of each seed: 5 and 1 held to be wrong, 2 and 998 right.
    assert "hold 6,000 minimal boards to be right, and 5,988 of these are" in said
    assert "of the 36 others 6 are" in said
    late = [one["stops"]["minimal"][6] for one in found.inside]
    assert f"{100 * min(x for _, x in late):.1f} to {100 * max(x for _, x in late):.1f} %." in said


@pytest.mark.parametrize(
    ("left", "begins"),
    [
        ([0.7] * 6, "Early halting helps as well"),
        ([0.19] * 6, "Early halting may help as well, which cannot be told"),
        ([0.01] * 6, "“"),
    ],
)
def test_what_is_said_of_parts_follows_their_verdicts(left: list[float], begins: str) -> None:
    found = far_apart(6)
    if begins.startswith("Early halting may"):
        left = [1 - m["minimal"]["right"][7] for m in found.members()]
    leave(found, NO_HALTING, left)
    found.members(ONE_STEP)[2]["minimal"]["right"][1:] = [0.31] * 14 + [0.07]
    leave(found, CHANNELS, [0.21, 0.3, 0.3, 0.3, 0.3, 0.3])
    leave(found, recipe.STABLEMAX, [0.195] * 6)  # among the seeds of the live recipe: no thread
    said = sentences.one_step(found).data
    assert (begins in said) and ("Early halting" in said) == begins.startswith("Early")
    assert "(50 to 55 % of minimal puzzles, then 15 to 31 %)" in said
    assert "after 16 its seeds solve 7, 15, 16, 17, 19, 20 %" in said
    thread = "“norm over channels, as in the source” hangs by the thinnest thread: its best seed"
    assert f"{thread} leaves 21.0 % unsolved, the worst one of the live recipe 20.0 %." in said


def test_without_a_difference_there_is_no_thread() -> None:
    assert sentences.thinnest(level()) is None
    assert "thread" not in sentences.one_step(level()).data


def test_what_is_to_be_predicted_is_what_the_lesson_says() -> None:
    """Of a hundred: the live run's looks, and the median seed of the largest straight network."""
    found, seen = made_up.recorded(), live()
    parts = {part.name: part for part in evidence.predicted(seen, found)}
    assert parts["one look"].came == 100 * seen.solved(1)
    assert parts["eight looks"].came == 100 * seen.solved(recipe.TRAINED)
    once = parts["four times the weights, one look"].came
    assert once == pytest.approx(100 * found.solved(recipe.DEEP).quantile(0.5).item())
