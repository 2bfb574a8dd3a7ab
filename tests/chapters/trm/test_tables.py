"""The chapter's tables, read as a reader reads them."""

from statistics import median

import pytest
from torch import Generator

from attn_notes.chapters.trm import claims, recipe, tables
from attn_notes.chapters.trm.puzzles import Puzzles
from attn_notes.chapters.trm.recipe import NO_HALTING, TASK, TRM_LIVE, TWO_CYCLES

from ...tables import rows as rows_of
from . import made_up
from .made_up import leave
from .test_claims import far_apart


def test_the_opponents() -> None:
    found = made_up.recorded()
    _, *rows = rows_of(tables.opponents(found))
    kinds = [
        *((recipe.EQUAL, 1, 1), (recipe.DEEP, 1, 1), (recipe.REREADING, 1, 1)),
        *((recipe.SHARING, 4, 1), (recipe.ONE_STEP, 4, 1)),
        (TRM_LIVE, 4, 8),
    ]
    for (_, solved, weights, layers, _), (kind, uses, looks) in zip(rows, kinds, strict=True):
        shares = [100 * m["minimal"]["right"][looks - 1] for m in found.members(kind)]
        assert weights == f"{1000 * len(kind):,}"
        assert layers == (f"{looks} × " if looks > 1 else "") + str(uses * len(kind))
        assert solved == f"{min(shares):.0f} to {max(shares):.0f} %"


def test_the_effects_are_those_of_the_test() -> None:
    """Six seeds against six, far apart: every pair's difference, and its middle."""
    found = far_apart(6)
    for kind, left in ((recipe.REREADING, 0.62), (recipe.DEEP, 0.81)):
        leave(found, kind, [left + i / 100 for i in range(6)], 1)
    _, *rows = rows_of(tables.effects(found))

    def right(kind: str, looks: int) -> list[float]:
        return [100 * m["minimal"]["right"][looks - 1] for m in found.members(kind)]

    live = right(TRM_LIVE, 8)
    pairs = {
        "eight steps than one": (live, right(recipe.ONE_STEP, 1)),
        "reading again than": (right(recipe.REREADING, 1), right(recipe.DEEP, 1)),
        "one set of weights": (right(recipe.SHARING, 1), right(recipe.REREADING, 1)),
        "keeping y and z": (right(recipe.ONE_STEP, 1), right(recipe.SHARING, 1)),
        "split up to names": (live, (100 * found.split("fresh")).tolist()),
        "stopping at": ((100 * found.stopped()[1]).tolist(), right(TRM_LIVE, 16)),
    }
    for (name, middle, interval), (begins, (ours, theirs)) in zip(rows, pairs.items(), strict=True):
        apart = [a - b for a in ours for b in theirs]
        found_, low, high = (float(x.replace("−", "-")) for x in (middle, *interval.split(" to ")))
        assert name.startswith(begins)
        assert found_ == pytest.approx(median(apart), abs=0.051)
        assert min(apart) - 0.051 <= low <= found_ <= high <= max(apart) + 0.051


def test_the_classes_held_out() -> None:
    found = made_up.recorded()
    for i, one in enumerate(found.stricter):
        one["by class"]["fresh"] = [[30, 0.9 + i / 100], [70, 0.99 - i / 50]]
    _, *rows = rows_of(tables.classes(found))
    shares = [[one["by class"]["fresh"][k][1] for one in found.stricter] for k in (0, 1)]
    assert rows == [
        [str(k + 1), count, f"{100 * min(each):.1f} to {100 * max(each):.1f} %"]
        for k, (count, each) in enumerate(zip(("30", "70"), shares, strict=True))
    ]


@pytest.mark.parametrize(("seeds", "words"), [(6, ("more", "fewer")), (4, ("cannot be told",) * 2)])
def test_the_parts_table_is_corrected_as_the_claims_are(seeds: int, words: tuple[str, str]) -> None:
    found = far_apart(seeds)
    for kind in (TWO_CYCLES, NO_HALTING):
        leave(found, kind, [0.01 + 0.001 * i for i in range(seeds)])
    _, *rows = rows_of(tables.parts_table(found))
    assert [row[0] for row in rows] == [*claims.NAMES.values()]
    tested = {q: claims.compared(found)[q.text].findings[found.name] for q in claims.QUESTIONS}
    for kind, (_, left, told) in zip(claims.NAMES, rows, strict=True):
        values = sorted(
            1 - (m[kind] if kind == recipe.WITHOUT_EMA else m)["minimal"]["right"][:8][-1]
            for m in found.members(TRM_LIVE if kind == recipe.WITHOUT_EMA else kind)
        )
        middle = (values[seeds // 2 - 1] + values[seeds // 2]) / 2
        assert left == f"{100 * middle:.1f} %"
        if kind == TRM_LIVE:
            assert not told
            continue
        asked = [q for q in tested if {q.ours, *q.theirs} == {claims.HERE, (kind, 8)}]
        asked += [q for q in tested if {q.ours, *q.theirs} == {claims.HERE, (kind, 1)}]
        p = tested[asked[0]].p
        assert p is not None and told.endswith(f"p = {p:#.2g}")
        fewer = kind in (TWO_CYCLES, NO_HALTING)
        pairs = seeds**2 if fewer else 0
        assert told.startswith(f"{words[fewer]}, {pairs} of {seeds**2} pairs")


# What is known before training


@pytest.fixture(scope="module")
def puzzles() -> Puzzles:
    some = {kind: TASK.sample(12, Generator().manual_seed(3), kind) for kind in made_up.KINDS}
    return Puzzles(TASK.sample(20, Generator().manual_seed(4), "mixed"), some, [1234.4, 56.6, 7.0])


def test_the_table_of_puzzles(puzzles: Puzzles) -> None:
    _, *rows = rows_of(tables.puzzles_table(puzzles))
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


def test_what_is_no_puzzle_is_refused(puzzles: Puzzles) -> None:
    _, *rows = rows_of(tables.refused_table(puzzles))
    reasons = ["has 35", "is not a cell", "stands twice", "more than one", "no solution"]
    assert all(reason in row[1] for reason, row in zip(reasons, rows, strict=True))
    assert tables.answer_to(TASK.write(puzzles.tests["minimal"][0][0])) == "a puzzle"


def test_what_things_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {(36, 1): 2e9, (81, 1): 5e9, (81, 16): 3001e9}
    monkeypatch.setattr(recipe, "operations", lambda r: costs[r.config.cells, r.config.summary])
    monkeypatch.setattr(recipe, "parameters", lambda config: 1000 * config.cells + config.summary)
    _, *rows = rows_of(tables.cost_table())
    assert [row[2:] for row in rows] == [["2.00", "1"], ["5.00", "2"], ["3001.00", "1,500"]]
    assert [row[1] for row in rows] == ["36,001", "81,001", "81,016"]


def test_the_tables_of_sizes_and_settings_are_the_recipes() -> None:
    sizes = {row[0]: row[1:] for row in rows_of(tables.model_table())}
    assert sizes["width"] == ["512", "512", "64"]
    assert sizes["norm after mixing is over"] == ["channels", "tokens", "tokens"]
    assert sizes["parameters"][0] == "4,856,833" and sizes["parameters"][2] == "103,169"
    settings = {row[0]: row[1:] for row in rows_of(tables.settings_table())}
    assert settings["seats"] == ["64", "768"] and settings["EMA, d"] == ["0.99", "0.999"]
    assert settings["supervision steps, at most"] == ["8", "16"]
    # 60,000 epochs of 1,000 puzzles, 768 at a time.
    assert settings["steps of the optimiser"] == ["900", "78,125"]
