"""Every verdict and computed sentence of chapter 5, turned by turning the evidence."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator

from attn_notes.analysis.statistics import Finding
from attn_notes.chapters.trm import claims, recipe
from attn_notes.chapters.trm.claims import PARTS, QUESTIONS, RECURSION, Question
from attn_notes.chapters.trm.evidence import Puzzles, Recorded
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    NO_HALTING,
    ONE_STEP,
    TASK,
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


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def finding(found: Recorded, claim: str, where: str = "", run: Any = None) -> Finding:
    """What the page says of the claim that begins so."""
    (one,) = (c for c in claims.on_page(run or live(), found) if c.text.startswith(claim))
    return one.findings[where or found.name]


def cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    return [[plain(x) for x in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


# Comparisons of kinds


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.text[:40])
@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "pairs"),
    [
        (LOW, HIGH, True, "25"),
        (HIGH, LOW, False, "0"),
        (LOW, BETWEEN, None, "10"),
        (LOW, LOW, None, "12.5"),
        ([NAN] * SEEDS, LOW, False, "0"),
        (LOW, [NAN] * SEEDS, True, "25"),
    ],
    ids=["held", "did not", "between", "level", "ours is no number", "theirs is none"],
)
def test_a_comparison_turns(
    question: Question, ours: list[float], theirs: list[float], verdict: bool | None, pairs: str
) -> None:
    """The group's own step counts: at every other one it is the other way round."""
    found = level(SEEDS)
    for (kind, step), values, other in (
        (question.ours, ours, theirs),
        (question.theirs, theirs, ours),
    ):
        for on in made_up.KINDS:
            for k in (1, 4, 7, 9, 16) if not kind.startswith("straight") else ():
                if kind != recipe.WITHOUT_EMA or k < 9:
                    leave(found, kind, other, k, on)
        leave(found, kind, other, 8, "mixed")
        leave(found, kind, values, step)
    told = claims.compared(found)[question.text].findings[found.name]
    assert told.verdict is verdict
    assert told.found.endswith(f"; {pairs} of 25 pairs")
    if not any(map(math.isnan, ours + theirs)):
        middles = [100 * sorted(x)[2] for x in (ours, theirs)]
        assert [f"{x:.1f}" for x in middles] == re.findall(r"(\S+) %", told.found)
    said = told.found.split(" against ")
    for (kind, step), part in zip((question.ours, question.theirs), said, strict=True):
        assert part.startswith(claims.NAMES[kind])
        assert ("after one step" in part) == (step == 1)


def test_which_way_each_question_is_asked() -> None:
    eight = {kind: (kind, 8) for kind in claims.NAMES}
    here, one_look = eight[TRM_LIVE], (ONE_STEP, 1)
    assert [(q.ours, q.theirs, q.family, q.whose) for q in QUESTIONS] == [
        (here, eight[EQUAL], RECURSION, "paper"),
        (here, eight[DEEP], RECURSION, "paper"),
        (one_look, eight[DEEP], RECURSION, "ours"),
        (here, one_look, RECURSION, "paper"),
        (here, eight[ONE_STEP], PARTS, "paper"),
        (here, eight[recipe.WITHOUT_EMA], PARTS, "paper"),
        (eight[TWO_CYCLES], here, PARTS, "ours"),
        (here, eight[CHANNELS], PARTS, "ours"),
        (eight[recipe.STABLEMAX], here, PARTS, "official code"),
        (here, eight[NO_HALTING], PARTS, "ours"),
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
def test_holm_corrects_within_both_families_and_nothing_else(seeds: int) -> None:
    """By hand: the least p, 2 of all ways to deal, counts as often as its family has questions.

    The fifth of the first family is a sign test of the seeds, whose p is the largest there.
    """
    least, sign = 2 / math.comb(2 * seeds, seeds), 2 * 0.5**seeds
    found = claims.on_page(live(), far_apart(seeds))
    p = {c.text: f.p for c in found for name, f in c.findings.items() if name != "live"}
    first = [p[q.text] for q in QUESTIONS if q.family == RECURSION]
    second = [p[q.text] for q in QUESTIONS if q.family == PARTS]
    assert first == pytest.approx([5 * least] * 4)
    assert second == pytest.approx([6 * least] * 6)
    (longer,) = (x for text, x in p.items() if text.startswith("Thinking longer"))
    assert longer == pytest.approx(max(sign, 5 * least))
    assert sum(x is not None for x in p.values()) == 11
    told = {f.verdict for c in found for n, f in c.findings.items() if c.family and n != "live"}
    assert told == ({None} if seeds == 4 else {True, False})
    said = plain(claims.families(far_apart(seeds)).data)
    assert f"{RECURSION} (5 questions) and {PARTS} (6)." in said
    assert ("the least p is 0.029" in said) == ("all 16 pairs agree" in said) == (seeds == 4)


# Claims of their own


def trained(mixed: int, minimal: int) -> Callable[[Recorded], Any]:
    return lambda found: live(
        {"mixed": counted(100, {16: mixed}), "minimal": counted(100, {16: minimal})}
    )


@pytest.mark.parametrize(
    ("mixed", "minimal", "verdict"),
    [(97, 90, True), (96, 90, False), (97, 89, False), (100, 100, True)],
)
def test_what_the_live_run_reaches(mixed: int, minimal: int, verdict: bool) -> None:
    told = finding(level(), "Trained live", "live", trained(mixed, minimal)(level()))
    assert told == (verdict, f"{mixed}.0 and {minimal}.0 %", None)


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
    told = finding(found, "Trained live")
    assert told.verdict is verdict
    if verdict is not None:
        spans = [
            f"{100 - 100 * max(x):.1f} to {100 - 100 * min(x):.1f} %" for x in (mixed, minimal)
        ]
        assert told.found == " and ".join(spans)


@pytest.mark.parametrize(
    ("gained", "lost", "verdict"),
    [(9, 0, True), (0, 9, False), (5, 0, None), (5, 4, None), (0, 0, None), (12, 1, True)],
)
def test_thinking_longer_live(gained: int, lost: int, verdict: bool | None) -> None:
    right = counted(100, 50)
    right[-1, 50 : 50 + gained] = True
    right[-1, :lost] = False
    run = live({"mixed": counted(100, 50), "minimal": right})
    told = finding(level(), "Thinking longer", "live", run)
    assert told.verdict is verdict
    assert told.found == f"{gained} boards gained, {lost} lost of 100"


@pytest.mark.parametrize(
    ("late", "verdict"),
    [([0.4] * 6, True), ([0.6] * 6, False), ([0.4] * 3 + [0.6] * 3, None), ([NAN] * 6, None)],
)
def test_thinking_longer_recorded(late: list[float], verdict: bool | None) -> None:
    found = far_apart(6)
    leave(found, TRM_LIVE, [0.5] * 6, 8)
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
        assert numbers(told.found) == [sum(lost), 80 * 6, 16]


@pytest.mark.parametrize(
    ("familiar", "verdict"),
    [(0.8, True), (0.81, True), (0.792, True), (0.815, False), (0.78, False), (NAN, None)],
)
def test_whether_classes_never_seen_are_harder(familiar: float, verdict: bool | None) -> None:
    right = {"mixed": counted(1000, {8: 800}), "minimal": counted(1000, 300)}
    run = live(right, familiar=familiar + 1e-9)
    told = finding(level(), "Puzzles of classes never seen", "live", run)
    assert told.verdict is verdict
    if verdict is not None:
        assert told.found == f"80.0 % against {100 * familiar:.1f} % of 1,000 mixed"


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
    found, run = level(), live()
    for one, more in zip(found.inside, above, strict=True):
        one["legible"]["mind"][2] = None if math.isnan(more) else run.mind.guessing + more
    told = finding(found, "What is kept in mind", run=run)
    assert told.verdict is verdict
    if verdict is not None:
        guess = run.mind.guessing
        ends = [f"{100 * (guess + x):.0f}" for x in (min(above), max(above))]
        assert told.found.startswith(f"{ends[0]} to {ends[1]} % of blanks right after the first 3")
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
        assert told.found == f"{ends[0]:.1f} to {ends[1]:.1f} %"


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
            f"{100 * low:.1f} to {100 * high:.1f} % of minimal against 50.0 to 50.0 %, after 1.50 "
            "to 2.00 steps"
        )


def test_the_table_has_every_claim_in_the_order_of_the_page() -> None:
    header, *rows = cells(claims.claims_table(live(), level()).data)
    assert header == ["claim or question", "live", "recorded, 6 seeds"]
    endings = [re.search(r" \((paper|official code)\)$", row[0]) for row in rows]
    whose = [ending[1] if ending else "ours" for ending in endings]
    assert [(who, bool(row[1]), bool(row[2])) for who, row in zip(whose, rows, strict=True)] == [
        ("ours", True, True),
        ("paper", False, True),
        ("paper", False, True),
        ("ours", False, True),
        ("paper", False, True),
        ("paper", False, True),
        ("ours", True, True),
        ("ours", False, True),
        ("ours", True, False),
        ("paper", False, True),
        ("ours", False, True),
        ("ours", False, True),
        ("official code", False, True),
        ("ours", False, True),
        ("paper", False, True),
        ("ours", False, True),
        ("ours", False, True),
    ]
    beginnings = ["Trained", "Recursion", "It beats", "One rec", "Eight", "Deep", "Thinking"]
    assert all(row[0].startswith(x) for row, x in zip(rows, beginnings, strict=False))
    assert all(
        re.match("held|did not hold|could not be told", x) for row in rows for x in row[2:] if x
    )


# Tables and sentences


@pytest.mark.parametrize(("seeds", "words"), [(6, ("more", "fewer")), (4, ("cannot be told",) * 2)])
def test_the_parts_table_is_corrected_as_the_claims_are(seeds: int, words: tuple[str, str]) -> None:
    found = far_apart(seeds)
    for kind in (TWO_CYCLES, NO_HALTING):
        leave(found, kind, [0.01 + 0.001 * i for i in range(seeds)])
    header, *rows = cells(claims.parts_table(found).data)
    pairs, least = seeds**2, 2 / math.comb(2 * seeds, seeds)
    p = {name: f"p = {m * least:.2g}" for name, m in ((RECURSION, 5), (PARTS, 6))}
    assert header[2] == f"than the live recipe, {pairs} pairs of seeds"
    assert [row[0] for row in rows] == [*claims.NAMES.values()]
    for kind, (_, left, told) in zip(claims.NAMES, rows, strict=True):
        values = sorted(
            1 - (m[kind] if kind == recipe.WITHOUT_EMA else m)["minimal"]["right"][:8][-1]
            for m in found.members(TRM_LIVE if kind == recipe.WITHOUT_EMA else kind)
        )
        middle = (values[seeds // 2 - 1] + values[seeds // 2]) / 2
        assert left == f"{100 * middle:.1f} %"
        if kind == TRM_LIVE:
            assert not told
        elif kind in (TWO_CYCLES, NO_HALTING):
            assert told == f"{words[1]}, {pairs} of {pairs} pairs, {p[PARTS]}"
        else:
            family = RECURSION if kind in (DEEP, EQUAL) else PARTS
            assert told == f"{words[0]}, 0 of {pairs} pairs, {p[family]}"


def test_what_is_said_of_the_controls() -> None:
    found = made_up.recorded()

    def middle(kind: str, step: int) -> str:
        shares = sorted(m["minimal"]["right"][step - 1] for m in found.members(kind))
        return f"{100 * (shares[2] + shares[3]) / 2:.0f} %"

    def at(kind: str) -> str:
        names = [f"{kind}, lr 0.001", kind, f"{kind}, lr 0.01"]
        shares = [found.members(name)[0]["minimal"]["right"][0] for name in names]
        return ", ".join(f"{100 * x:.1f}" for x in shares)

    said = claims.controls(found).data
    assert f"deeper straight network solves {middle(DEEP, 1)}, one look" in said
    assert f"one look of the recursive one {middle(ONE_STEP, 1)}, eight" in said
    assert f"trained to look again {middle(TRM_LIVE, 8)}." in said
    assert "medians of 6 seeds" in said and "rates of 0.001, 0.003, 0.01 (one seed)" in said
    assert f"solve {at(DEEP)} % (equal depth) and {at(EQUAL)} % (equal parameters)" in said


def test_what_is_said_after_training() -> None:
    run = live({"mixed": counted(50, {16: 49}), "minimal": counted(40, {16: 37})}, changed=5)
    said = claims.after_training(run).data
    assert numbers(said) == [16, 5, 400, 8, 90, 16, 98.0, 92.5]


def test_some_that_it_fails_on_are_shown() -> None:
    right = counted(4, 4)
    run = live({"mixed": right, "minimal": right})
    boards = torch.zeros(4, 36).long()
    boards[:, 0] = torch.tensor([1, 2, 3, 4])
    puzzles = Puzzles((boards, boards), dict.fromkeys(made_up.KINDS, (boards, boards)))
    assert claims.unsolved(run, puzzles).data == "It failed on none of these."
    right[-1] = torch.tensor([True, False, True, False])
    text = claims.unsolved(run, puzzles).data
    assert re.findall(r"^[\d.]{36}$", text, re.M) == [f"{digit}{'.' * 35}" for digit in (2, 4)]
    right[-1] = False
    assert len(re.findall(r"^[\d.]{36}$", claims.unsolved(run, puzzles).data, re.M)) == 3


def test_what_is_said_of_what_is_in_mind() -> None:
    found, run = made_up.recorded(), live()
    run.mind.legible.mind[2] = run.mind.guessing + 0.11
    said = claims.in_mind(run, found).data
    here = [run.mind.legible.mind[0], run.mind.legible.mind[2], run.mind.legible.answer[3]]
    ends: list[float] = []
    for name, use in (("mind", 0), ("mind", 2), ("answer", 3)):
        each = [one["legible"][name][use] for one in found.inside]
        ends += [min(each), max(each)]
    wanted = [f"{100 * float(x):.0f}" for x in (*here, *ends)]
    wanted.insert(1, "3")
    assert [f"{x:.0f}" for x in numbers(said)] == [*wanted, "47"]
    run.mind.legible.mind[2] = run.mind.guessing + 0.09
    said = claims.in_mind(run, found).data
    assert said.startswith("In this run z is not legible")
    wanted = [3, 100 * float(run.mind.legible.mind[2]), 100 * run.mind.guessing]
    assert numbers(said) == [round(x) for x in wanted]


def test_what_is_said_of_halting() -> None:
    found, run = made_up.recorded(), live()
    said = claims.halting(run, found).data
    widest = max(abs(a - b) for one in found.inside for a, b in one["reliability"])
    held = held_right = others_right = doubted = first = last = 0
    for seen in run.seen.values():
        for i in range(40):
            sure = seen.halt[7, i].item() > 0
            held += sure
            held_right += sure and bool(seen.right[7, i])
            others_right += not sure and bool(seen.right[7, i])
            if 0.5 < 1 / (1 + math.exp(-seen.halt[0, i].item())) < 0.7:
                doubted += 1
                first += bool(seen.right[0, i])
                last += bool(seen.right[-1, i])
    minimal, ends = run.seen["minimal"], []
    for level_ in (0.5, 0.95):
        steps = []
        for i in range(40):
            said_so = [k for k in range(16) if minimal.halt[k, i].sigmoid() > level_]
            steps.append(said_so[0] if said_so else 15)
        share = sum(bool(minimal.right[k, i]) for i, k in enumerate(steps)) / 40
        ends.append((f"{sum(steps) / 40 + 1:.2f}", f"{100 * share:.1f}"))
    assert f"share is within {widest:.2f} of the estimate" in said
    assert f"holds {held} of the 80 boards to be right, and {held_right} of these" in said
    assert f"of the {80 - held} others {others_right} are" in said
    assert f"{ends[0][1]} % of the minimal puzzles are solved after {ends[0][0]} steps" in said
    assert f"thinking on solves {100 * minimal.right[-1].float().mean():.1f} %" in said
    assert f"0.95 takes {ends[1][0]} steps on average, and solves {ends[1][1]} %." in said
    assert doubted and ("worth more thought" in said) == (last > first)
    for seen in run.seen.values():  # now every board in doubt is right in the end, or none is
        seen.right[0], seen.right[-1] = False, True
    said = claims.halting(run, found).data
    assert f"Of the {doubted} boards" in said and "0 % are right and 100 % are after 16" in said
    for seen in run.seen.values():
        seen.right[-1] = False
    assert "worth more thought" not in claims.halting(run, found).data


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
    said = claims.one_step(found).data
    assert (begins in said) and ("Early halting" in said) == begins.startswith("Early")
    assert "(50 to 55 % of minimal puzzles, then 15 to 31 %)" in said
    assert "after 16 its seeds solve 7, 15, 16, 17, 19, 20 %" in said
    thread = "“norm over channels, as in the source” hangs by the thinnest thread: its best seed"
    assert f"{thread} leaves 21.0 % unsolved, the worst one of the live recipe 20.0 %." in said


def test_without_a_difference_there_is_no_thread() -> None:
    assert claims.thinnest(level()) is None
    assert "thread" not in claims.one_step(level()).data


# What is known before training


@pytest.fixture(scope="module")
def puzzles() -> Puzzles:
    some = {kind: TASK.sample(12, Generator().manual_seed(3), kind) for kind in made_up.KINDS}
    return Puzzles(TASK.sample(20, Generator().manual_seed(4), "mixed"), some, [1234.4, 56.6, 7.0])


def test_the_table_of_puzzles(puzzles: Puzzles) -> None:
    _, *rows = cells(claims.puzzles_table(puzzles).data)
    names = ["training, mixed", "held out, mixed", "held out, minimal"]
    assert [row[:2] for row in rows] == [
        [name, speed] for name, speed in zip(names, ("1,234", "57", "7"), strict=True)
    ]
    for row, (boards, _) in zip(rows, puzzles.sets.values(), strict=True):
        clues = [sum(cell > 0 for cell in board) for board in boards.tolist()]
        rounds = [int(TASK.rounds(board[None])) for board in boards]
        taken = [k for k in rounds if k > 0]
        assert row[2:] == [
            f"{sum(clues) / len(clues):.1f} ({min(clues)} to {max(clues)})",
            f"{sum(taken) / len(taken):.1f} (to {max(taken)})",
            f"{100 * rounds.count(-1) / len(rounds):.1f} %",
            f"{len(clues)} of {len(clues)}",
        ]


def test_what_is_said_of_classes(puzzles: Puzzles) -> None:
    """A bank that holds the test grids themselves, and one that holds none."""
    tested = puzzles.tests["mixed"]
    both = Puzzles(tested, puzzles.tests)
    assert "of the held-out test grids, 12." in claims.classes(both).data
    known = set(TASK.class_key(puzzles.bank[1]).tolist())
    assert not known & set(TASK.class_key(tested[1]).tolist())
    assert "of the held-out test grids, 0." in claims.classes(puzzles).data


def test_what_is_no_puzzle_is_refused(puzzles: Puzzles) -> None:
    _, *rows = cells(claims.refused_table(puzzles).data)
    reasons = ["has 35", "is not a cell", "stands twice", "more than one", "no solution"]
    assert all(reason in row[1] for reason, row in zip(reasons, rows, strict=True))
    assert claims.answer_to(TASK.write(puzzles.tests["minimal"][0][0])) == "a puzzle"


def test_what_things_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {(36, 1): 2e9, (81, 1): 5e9, (81, 16): 3001e9}
    monkeypatch.setattr(recipe, "operations", lambda r: costs[r.config.cells, r.config.summary])
    monkeypatch.setattr(recipe, "parameters", lambda config: 1000 * config.cells + config.summary)
    _, *rows = cells(claims.cost_table().data)
    assert [row[2:] for row in rows] == [["2.00", "1"], ["5.00", "2"], ["3001.00", "1,500"]]
    assert [row[1] for row in rows] == ["36,001", "81,001", "81,016"]


def test_the_tables_of_sizes_and_settings_are_the_recipes() -> None:
    sizes = {row[0]: row[1:] for row in cells(claims.model_table().data)}
    assert sizes["width"] == ["512", "512", "64"]
    assert sizes["norm after mixing is over"] == ["channels", "tokens", "tokens"]
    assert sizes["parameters"][0] == "4,856,833" and sizes["parameters"][2] == "103,169"
    settings = {row[0]: row[1:] for row in cells(claims.settings_table().data)}
    assert settings["seats"] == ["64", "768"] and settings["EMA, d"] == ["0.99", "0.999"]
    assert settings["supervision steps, at most"] == ["8", "16"]
    assert settings["steps of the optimiser"][0] == "900"
