"""Every verdict of the chapter, turned by turning the evidence."""

import math
import re
from typing import Any

import pytest
import torch

from attn_notes.analysis.statistics import Finding
from attn_notes.chapters.trm import claims, recipe
from attn_notes.chapters.trm.claims import ONE, PARTS, QUESTIONS, THINKING, Question
from attn_notes.chapters.trm.evidence import Recorded
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    NO_HALTING,
    ONE_STEP,
    REREADING,
    SHARING,
    TRM_LIVE,
    TWO_CYCLES,
)

from . import made_up
from .made_up import counted, leave, level, live, numbers

NAN = math.nan
SEEDS = 5
LOW = [0.1 + 0.01 * i for i in range(SEEDS)]
HIGH = [0.7 + 0.01 * i for i in range(SEEDS)]
BETWEEN = [0.05, 0.06, 0.07, 0.8, 0.81]  # around all of `LOW`


GUESSING = 0.3


def finding(found: Recorded, claim: str, where: str = "", run: Any = None) -> Finding:
    """What the pages say of the claim that begins so: the lesson, if a live run is given."""
    said = claims.lesson(run, found) if run else claims.every(found, GUESSING)
    (one,) = (c for c in said if c.text.startswith(claim))
    return one.findings[where or found.name]


# Comparisons of kinds


SIDES = [(LOW, HIGH, True, "25"), (HIGH, LOW, False, "0")]
OTHERS = [
    (LOW, BETWEEN, None, "10"),
    (LOW, LOW, None, "12.5"),
    ([NAN] * SEEDS, LOW, False, "0"),
    (LOW, [NAN] * SEEDS, True, "25"),
]
ONE_AND_MANY = [
    min(QUESTIONS, key=lambda q: len(q.theirs)),
    max(QUESTIONS, key=lambda q: len(q.theirs)),
]


@pytest.mark.parametrize(
    ("question", "ours", "theirs", "verdict", "pairs"),
    [
        *((question, *case) for question in QUESTIONS for case in SIDES),
        *((question, *case) for question in ONE_AND_MANY for case in OTHERS),
    ],
)
def test_a_comparison_turns(
    question: Question, ours: list[float], theirs: list[float], verdict: bool | None, pairs: str
) -> None:
    """The group's own step counts: at every other one it is the other way round."""
    found = level(SEEDS)
    groups = {question.ours: (ours, theirs)} | dict.fromkeys(question.theirs, (theirs, ours))
    for (kind, step), (values, other) in groups.items():
        for on in made_up.KINDS:
            for k in (1, 4, 7, 9, 16) if not kind.startswith("straight") else ():
                if kind != recipe.WITHOUT_EMA or k < 9:
                    leave(found, kind, other, k, on)
        leave(found, kind, other, 8, "mixed")
        leave(found, kind, values, step)
    told = claims.compared(found)[question.text].findings[found.name]
    many = len(question.theirs)
    if many == 1 or verdict is not None:
        assert told.verdict is verdict
    assert told.found.endswith(f"; {many * float(pairs):g} of {25 * many} pairs")
    if not any(map(math.isnan, ours + theirs)):
        middles = [100 * sorted(x)[2] for x in (ours, *([theirs] * many))]
        assert [f"{x:.1f}" for x in middles] == re.findall(r"(\S+) %", told.found)
    first, _, rest = told.found.removeprefix("unsolved: ").partition(" against ")
    assert first.startswith(claims.named(*question.ours))
    for group in question.theirs:
        assert f"{claims.named(*group)} " in rest


def test_what_looks_once_has_the_name_that_the_lesson_gives_it() -> None:
    assert {kind: claims.named(kind, 1) for kind in claims.OPPONENTS} == claims.OPPONENTS
    assert claims.named(ONE_STEP, 8) == claims.NAMES[ONE_STEP]
    assert claims.named(TRM_LIVE, 1) == claims.NAMES[TRM_LIVE]


def test_which_way_each_question_is_asked() -> None:
    eight = {kind: (kind, 8) for kind in claims.NAMES}
    here, one_look = eight[TRM_LIVE], (ONE_STEP, 1)
    equal, deep, again, shared = ((kind, 1) for kind in (EQUAL, DEEP, REREADING, SHARING))
    assert [(q.ours, q.theirs, q.family, q.whose) for q in QUESTIONS] == [
        (here, (one_look, equal, deep, again, shared), THINKING, "paper"),
        (here, (one_look,), THINKING, "paper"),
        (here, (equal,), THINKING, "paper"),
        (here, (deep,), THINKING, "paper"),
        (here, (again,), THINKING, "ours"),
        (here, (shared,), THINKING, "ours"),
        (again, (deep,), ONE, "ours"),
        (shared, (again,), ONE, "ours"),
        (one_look, (shared,), ONE, "ours"),
        (here, (eight[ONE_STEP],), PARTS, "paper"),
        (here, (eight[recipe.WITHOUT_EMA],), PARTS, "paper"),
        (eight[TWO_CYCLES], (here,), PARTS, "ours"),
        (here, (eight[CHANNELS],), PARTS, "ours"),
        (eight[recipe.STABLEMAX], (here,), PARTS, "official code"),
        (here, (eight[NO_HALTING],), PARTS, "ours"),
    ]


def far_apart(seeds: int) -> Recorded:
    """The live recipe best, one look next, everything else worst; all gain by thinking longer."""
    found = level(seeds)
    for i in range(seeds):
        for kind in made_up.ALL:
            for one in found.members(kind)[i : i + 1]:
                one["minimal"]["right"] = [0.2 - 0.01 * i] * len(one["minimal"]["right"])
        one_seed = found.members()[i]
        one_seed["minimal"]["right"] = [0.8 + 0.01 * i] * 8 + [0.9 + 0.01 * i] * 8
        one_seed["without EMA"]["minimal"]["right"] = [0.2 - 0.01 * i] * 8
        found.members(ONE_STEP)[i]["minimal"]["right"][0] = 0.5 + 0.01 * i
    return found


@pytest.mark.parametrize("seeds", [4, 6])
def test_holm_corrects_within_each_family_and_nothing_else(seeds: int) -> None:
    """By hand: the least p counts as often as its family has questions, the next once less.

    The first question pools four kinds, so its p is the least; thinking longer is a sign test.
    """
    found, texts = far_apart(seeds), [q.text for q in QUESTIONS]
    before = {q.text: claims.fewer(found, q.ours, q.theirs).p or 0.0 for q in QUESTIONS}
    least = 2 / math.comb(2 * seeds, seeds)
    assert before[claims.AGAIN] < least
    p = {c.text: f.p for c in claims.every(found, GUESSING) for f in c.findings.values()}
    for family, more in ((THINKING, [2 * 0.5**seeds]), (ONE, []), (PARTS, [])):
        own = [q.text for q in QUESTIONS if q.family == family]
        raw = sorted([before[text] for text in own] + more)
        wanted, largest = {}, 0.0
        for rank, value in enumerate(raw):
            largest = max(largest, min(1.0, (len(raw) - rank) * value))
            wanted[value] = max(largest, wanted.get(value, 0.0))
        for text in own:
            assert p[text] == pytest.approx(max(
                v for value, v in wanted.items() if value == before[text]
            ))  # fmt: skip
    assert sum(x is not None for x in p.values()) == len(texts) + 1
    assert [c.family for c in claims.compared(found).values()].count(THINKING) == 7


@pytest.mark.parametrize(("seeds", "few"), [(4, True), (6, False)])
def test_where_all_pairs_agree_and_the_seeds_are_too_few_it_says_so(seeds: int, few: bool) -> None:
    found = far_apart(seeds)
    told = {q: claims.compared(found)[q.text].findings[found.name] for q in QUESTIONS}
    said = [q for q, finding in told.items() if "too few seeds for the test; " in finding.found]
    assert bool(said) == few
    for question, finding in told.items():
        apart = claims.apart(found, question)
        assert (question in said) == (finding.verdict is None and apart)


def test_apart_is_every_seed_against_every_seed() -> None:
    (question,) = (q for q in QUESTIONS if q.text == claims.REREADS)
    found = level(SEEDS)
    assert not claims.apart(found, question)
    leave(found, REREADING, LOW, 1)
    leave(found, DEEP, HIGH, 1)
    assert claims.apart(found, question)
    leave(found, DEEP, [*HIGH[:-1], 0.12], 1)
    assert not claims.apart(found, question)


# Claims of their own


def between(low: float, high: float, digits: int = 1) -> str:
    """Per cents as verdicts have them: from the lowest seed to the highest."""
    ends = sorted({f"{low:.{digits}f}", f"{high:.{digits}f}"}, key=float)
    return f"{' to '.join(ends)} %"


@pytest.mark.parametrize(
    ("mixed", "minimal", "verdict"),
    [
        ([0.02] * 6, [0.05] * 6, True),
        ([0.02] * 5 + [0.04], [0.05] * 6, False),
        ([0.02] * 6, [0.05] * 5 + [0.11], False),
        ([0.02] * 5 + [NAN], [0.05] * 6, None),
        ([0.02] * 6, [0.05] * 5 + [NAN], None),
    ],
)
def test_what_every_recorded_seed_reaches(
    mixed: list[float], minimal: list[float], verdict: bool | None
) -> None:
    found = level()
    leave(found, TRM_LIVE, mixed, 16, "mixed")
    leave(found, TRM_LIVE, minimal, 16)
    told = finding(found, "It solves 97 %")
    assert told.verdict is verdict
    if verdict is not None:
        spans = [between(100 - 100 * max(x), 100 - 100 * min(x)) for x in (mixed, minimal)]
        assert told.found == " and ".join(spans)


@pytest.mark.parametrize(
    ("gained", "lost", "verdict"),
    [(9, 0, True), (0, 9, False), (5, 0, None), (5, 4, None), (0, 0, None), (12, 1, True)],
)
def test_looking_again_live(gained: int, lost: int, verdict: bool | None) -> None:
    right = counted(100, 50)
    right[7, 50 : 50 + gained] = True
    right[7, :lost] = False
    told = claims.of_boards(live(right), 1, 8)
    assert told.verdict is verdict
    assert told.found == f"{gained} boards gained, {lost} lost of 100"


@pytest.mark.parametrize(
    ("late", "verdict"),
    [([0.4] * 8, True), ([0.6] * 8, False), ([0.4] * 4 + [0.6] * 4, None), ([NAN] * 8, None)],
)
def test_thinking_longer_recorded(late: list[float], verdict: bool | None) -> None:
    found = far_apart(8)
    leave(found, TRM_LIVE, [0.5] * 8, 8)
    leave(found, TRM_LIVE, late, 16)
    told = finding(found, "Thinking longer")
    assert told.verdict is verdict
    if verdict is not None:
        assert numbers(told.found)[0] == 100 and told.found.count("-") == 2 * (not verdict)


@pytest.mark.parametrize(
    ("lost", "verdict"), [((0, 0), True), ((1, 0), False), ((0, 2), False), ((None, 0), None)]
)
def test_whether_a_solved_board_is_lost(lost: tuple[int, int], verdict: bool | None) -> None:
    found = level()
    for on, count in zip(made_up.KINDS, lost, strict=True):
        found.members()[3][on]["lost"] = NAN if count is None else count
    told = finding(found, "No board that is solved")
    assert told.verdict is verdict
    if verdict is not None:
        assert numbers(told.found) == [sum(lost), 2000 * 6, 16]


@pytest.mark.parametrize(
    ("off", "verdict"), [(0.0, True), (0.009, True), (-0.009, True), (0.02, False), (NAN, None)]
)
def test_whether_classes_held_out_by_names_are_harder(off: float, verdict: bool | None) -> None:
    found = level()
    for k, one in enumerate(found.members()):
        share = None if math.isnan(off) else 0.5 + off * (k == 2)
        one["seen"]["right"] = [0.1] * 7 + [share]
    told = finding(found, "Classes held out by names")
    assert told.verdict is verdict
    if verdict is not None:
        low, high = sorted((0.5, 0.5 + off))
        assert told.found == f"50.0 % against {between(100 * low, 100 * high)}"


@pytest.mark.parametrize(
    ("off", "verdict"), [(0.0, True), (0.019, True), (0.021, False), (-0.021, False), (NAN, None)]
)
def test_whether_classes_held_out_by_all_symmetries_are_harder(
    off: float, verdict: bool | None
) -> None:
    """One seed of four, after eight looks, on minimal puzzles; the page says it, too."""
    found = level()
    for k, one in enumerate(found.stricter):
        for part in ("fresh", "seen"):
            one[part]["minimal"]["right"] = [0.1] * 7 + [0.9] + [0.2] * 8
        if k == 2:
            one["fresh"]["minimal"]["right"][7] = None if math.isnan(off) else 0.9 - off
    for told in (
        finding(found, "Whole classes"),
        finding(found, "Whole classes", run=live()),
    ):
        assert told.verdict is verdict
    if verdict is not None:
        low, high = sorted((0.9, 0.9 - off))
        shares = f"{between(100 * low, 100 * high)} against 90.0 %"
        assert told.found == f"4 seeds, {shares} of minimal ones"


@pytest.mark.parametrize(
    ("above", "verdict"),
    [
        ([0.12] * 6, False),
        ([0.08] * 6, True),
        ([0.12] * 5 + [0.08], None),
        ([0.12] * 5 + [NAN], None),
    ],
)
def test_whether_what_is_in_mind_is_legible(above: list[float], verdict: bool | None) -> None:
    found = level()
    for one, more in zip(found.inside, above, strict=True):
        one["legible"]["mind"][2] = None if math.isnan(more) else GUESSING + more
    told = finding(found, "What is kept in mind")
    assert told.verdict is verdict
    if verdict is not None:
        guess = GUESSING
        ends = between(100 * (guess + min(above)), 100 * (guess + max(above)), 0)
        assert told.found.startswith(f"{ends} of blanks right after the first 3")
        assert told.found.endswith(f"guessing {100 * guess:.0f} %")


@pytest.mark.parametrize(
    ("wrong", "right", "verdict"), [(1, 99, True), (2, 98, False), (0, 5, True), (0, 0, None)]
)
def test_whether_it_knows(wrong: int, right: int, verdict: bool | None) -> None:
    found = level()
    found.members()[2]["certainty"]["minimal"] = [[50, 7], [wrong, right]]
    told = finding(found, "It knows")
    assert told.verdict is verdict
    if verdict is not None:
        ends = sorted((99.8, 100 * right / (right + wrong)))
        assert told.found == between(*ends)


@pytest.mark.parametrize(
    ("stopped", "verdict"), [(0.5, True), (0.7, True), (0.49, False), (None, None)]
)
def test_whether_stopping_costs(stopped: float | None, verdict: bool | None) -> None:
    found = level()
    for one in found.members():
        one["minimal"]["stopped"] = [2.0, 0.8]
    found.members()[4]["minimal"]["stopped"] = [1.5, stopped]
    told = finding(found, "Stopping where")
    assert told.verdict is verdict
    if stopped is not None:
        low, high = sorted((stopped, 0.8))
        assert told.found == (
            f"{between(100 * low, 100 * high)} of minimal against 50.0 %, after 1.50 to 2.00 steps"
        )


@pytest.mark.parametrize(
    ("held", "right", "verdict"), [(30, 30, True), (30, 29, False), (0, 0, None)]
)
def test_whether_the_live_run_knows(held: int, right: int, verdict: bool | None) -> None:
    run = live(counted(40, right))
    run.seen.halt[7] = torch.where(torch.arange(40) < held, 1.0, -1.0)
    told = finding(level(), "It knows", "live", run)
    assert told == (verdict, f"{right} of {held}", None)


def test_the_lesson_has_five_lines_and_the_evidence_every_claim() -> None:
    found = level()
    five = claims.lesson(live(), found)
    assert [c.text for c in five] == [
        claims.AGAIN, claims.REREADS, claims.SHARES, claims.SEEN_SO, claims.KNOWS
    ]  # fmt: skip
    assert [[*c.findings] for c in five] == [
        *[[found.name]] * 4, ["live", found.name]
    ]  # fmt: skip
    all_of_them = claims.every(found, GUESSING)
    texts = [c.text for c in all_of_them]
    assert {q.text for q in QUESTIONS} | {c.text for c in five} <= {*texts}
    assert len(texts) == len({*texts}) == len(QUESTIONS) + 8
    assert all([*c.findings] == [found.name] for c in all_of_them)
    assert {c.whose for c in all_of_them} == {"ours", "paper", "official code"}
