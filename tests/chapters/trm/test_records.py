"""What the chapter says in words, held against its records and against short runs of its own."""

import json
import math
import re
from dataclasses import asdict
from functools import cache, partial

import pytest
import torch
from experiments import trm as recorded
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import claims, evidence, measure, recipe, tables
from attn_notes.models.trm import OFFICIAL, PUBLISHED, TRM
from attn_notes.tasks.sudoku import Batch, Sudoku

from ... import exercises

CHAPTER = exercises.ROOT / "book" / "trm.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "trm.ipynb"

RECORDED = evidence.recorded()
unsolved = RECORDED.unsolved


def entry(kind: str) -> results.Record:
    return RECORDED.kinds[kind]


def members(kind: str) -> list[results.Record]:
    return RECORDED.members(kind)


def test_a_look_takes_as_long_as_the_lessons_own() -> None:
    """Which trained for what it took beyond all that a run of it takes that does not train."""
    runs = results.load("trm_runs")["runs"]
    trained = runs["trained"]["seconds"] - runs["FAST=1"]["seconds"]
    looks = recipe.LIVE.steps * recipe.LIVE.settings.seats
    assert pytest.approx(trained / looks, rel=0.05) == recipe.LOOK


@cache
def judged() -> dict[str, Batch]:
    return recorded.tests(recipe.SIZES["tests"])


def rounds_of_all() -> Tensor:
    return torch.cat([recipe.TASK.rounds(judged()[kind][0]) for kind in ("mixed", "minimal")])


def test_the_chapter_trains_what_was_recorded() -> None:
    """What is trained live stands in no cell of the notebook: it is the recipe's."""
    sources = exercises.cells(CHAPTER)
    assert sources["data"].startswith("bank = recipe.BANK.sample(task=TASK)")
    assert "TASK = recipe.TASK" in sources["setup"]
    (call,) = re.findall(r"measure\.learn\((.*)\n\)", sources["train-live"], re.DOTALL)
    given = ("recipe.LIVE", "TASK", "bank", "seed=recipe.SEED")
    assert [part.strip() for part in call.split(",")][:4] == [*given]
    assert "probed}, recipe.TRAINED)" in sources["setup"]
    assert recipe.SEED == 0


@pytest.mark.slow
def test_the_sets_of_puzzles_are_those_of_the_records() -> None:
    """The numbers with which the records were made."""
    assert recipe.BANK == (20_000, "mixed", 1, False)
    assert recipe.VALIDATION == {
        "mixed": (1000, "mixed", 2, True),
        "minimal": (1000, "minimal", 3, True),
    }
    assert recipe.SEEN == (1000, "mixed", 4, False)
    assert recipe.FRESH == {
        "mixed": (1000, "mixed", 21, True),
        "minimal": (1000, "minimal", 22, True),
    }
    assert recipe.FAMILIAR == (1000, "minimal", 23, False)
    assert recipe.THINK == 16 and recipe.TRAINED == 8
    some = recipe.Drawn(4, "minimal", 3, held_out=True)
    wanted = recipe.TASK.sample(4, Generator().manual_seed(3), "minimal", held_out=True)
    for found, right in zip(some.sample(), wanted, strict=True):
        assert found.equal(right)
    assert len(some.sample(2)[0]) == 2
    boards = torch.arange(300)[:, None].expand(300, 36)
    assert [part[:, 0].tolist() for part in recipe.probed((boards, boards))] == [[*range(200)]] * 2


@pytest.mark.long
def test_grids_are_those_of_the_puzzles() -> None:
    for held_out in (True, False):
        some = recipe.Drawn(300, "mixed", 5, held_out=held_out)
        assert some.grids().equal(some.sample()[1])


@pytest.mark.slow
def test_the_stricter_split_holds_out_five_classes_of_forty_nine() -> None:
    """Of grids of either set, none of whose classes the bank has."""
    record = results.load("trm_symmetries")
    settings = record["settings"]
    assert (settings["seeds"], settings["guises in training"]) == (recipe.SEEDS, "labels")
    run = record["runs"]["TRM"]
    made = {"shares": False} | run["recipe"]
    assert made == json.loads(json.dumps(asdict(recipe.LIVE)))
    grids = recipe.STRICTER.grids(3000, Generator().manual_seed(1))
    keys = recipe.STRICTER.class_key(grids)
    held = recipe.STRICTER.held_out(grids)
    assert len(keys[held].unique()) == 5 and not set(keys[held].tolist()) & set(
        keys[~held].tolist()
    )
    for one in run["members"]:
        counts = [count for count, _ in one["by class"]["fresh"]]
        assert len(counts) == 5 and sum(counts) == recipe.SIZES["tests"]
        solved = sum(count * share for count, share in one["by class"]["fresh"]) / sum(counts)
        assert solved == pytest.approx(one["fresh"]["minimal"]["right"][7], abs=1e-3)
        assert 40 <= len(one["by class"]["seen"]) <= 44  # some are rare


@pytest.mark.slow
def test_no_class_that_is_held_out_is_shown() -> None:
    bank = recipe.Drawn(400, "mixed", 1, held_out=False).sample(task=recipe.STRICTER)[1]
    fresh = recipe.Drawn(100, "minimal", 22, held_out=True).sample(task=recipe.STRICTER)[1]
    key = recipe.STRICTER.class_key
    assert not torch.isin(key(fresh), key(bank)).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", recipe.RECORDS)
def test_a_record_holds_the_recipes_of_its_experiment(name: str) -> None:
    record = results.load(name)
    seeds = {"trm_rates": 1, "trm_rereading": recipe.REREADING_SEEDS}.get(name, recipe.SEEDS)
    settings = dict(record["settings"])
    # Older records do not say it: they were judged on the puzzles by which settings were chosen.
    assert settings.pop("judged on", recorded.JUDGED_ON).startswith(recorded.JUDGED_ON)
    assert settings == recipe.SIZES | {"seeds": seeds, "lr": recipe.LIVE.lr}
    recipes = recipe.RECORDS[name]()
    assert list(record["runs"]) == list(recipes)
    for kind, trained in recipes.items():
        run = record["runs"][kind]
        # Older records are of networks none of which reads again.
        assert {"rereads": False, "shares": False} | run["recipe"] == json.loads(
            json.dumps(asdict(trained))
        )
        assert run["operations"] == recipe.operations(trained)
        assert run["operations"] * trained.steps == pytest.approx(
            recipe.operations(recipe.LIVE) * recipe.LIVE.steps, rel=2e-3
        )
        assert len(run["members"]) == seeds


@pytest.mark.slow
def test_what_is_said_of_sizes() -> None:
    assert recipe.SEEDS == 4
    live = recipe.LIVE.config
    assert recipe.parameters(live) == 103_169
    assert recipe.parameters(PUBLISHED) == 4_856_833
    text = exercises.cells(CHAPTER)
    assert "103,169" in text["title"]
    assert live.tokens == 37  # of which one is the summary
    uses = live.latent_steps + 1
    assert recipe.SIZES["think"] * uses * live.layers == 128
    deep, equal = (entry(f"straight, equal {what}") for what in ("depth", "parameters"))
    assert deep["recipe"]["config"]["layers"] == uses * live.layers == 8
    assert deep["parameters"] / recipe.parameters(live) == pytest.approx(4, abs=0.05)
    assert equal["parameters"] == recipe.parameters(live)
    assert equal["recipe"]["steps"] / recipe.LIVE.steps == pytest.approx(4, abs=0.05)
    assert 0.999**recipe.LIVE.steps == pytest.approx(0.41, abs=0.005)
    assert OFFICIAL.summary == 16
    # The official code has no summary tokens among them, and a second output beside q.
    own = recipe.parameters(OFFICIAL) - OFFICIAL.summary * OFFICIAL.width + OFFICIAL.width + 1
    assert own == 5_028_866 and "5,028,866" in tables.model_table().data
    assert recipe.parameters(PUBLISHED) / recipe.parameters(live) == pytest.approx(47, abs=0.5)


def test_the_settings_that_the_text_names() -> None:
    settings = recipe.LIVE.settings
    lesson, doubts = (" ".join(exercises.cells(page)[cell].split()) for page, cell in
                      ((CHAPTER, "train"), (EVIDENCE, "supervision")))  # fmt: skip
    for text in (lesson, doubts):
        assert "64 seats" in text.replace("[seats](reference/glossary.md#term-seat)", "seats")
        assert "at half weight" in text and "a tenth of the seats" in text
    assert "after eight looks, or earlier" in lesson and "had its eight steps" in doubts
    assert (settings.seats, settings.steps) == (64, 8)
    assert (settings.halt_weight, settings.exploration) == (0.5, 0.1)
    assert "a tenth of them is held out" in exercises.cells(CHAPTER)["puzzles"]
    assert recipe.TASK.held_out_share == 0.1


def test_the_first_verdict_counts_the_seeds_exactly() -> None:
    """All pairs agree: two deals of that many, and the least p of seven counts seven times."""
    (asked,) = (q for q in claims.QUESTIONS if q.text == claims.AGAIN)
    ours, others = len(members("TRM")), sum(len(members(kind)) for kind, _ in asked.theirs)
    finding = claims.compared(RECORDED)[claims.AGAIN].findings[RECORDED.name]
    assert finding.p == pytest.approx(7 * 2 / math.comb(ours + others, ours), rel=1e-12)
    assert f"; {ours * others} of {ours * others} pairs" in finding.found


def test_the_record_of_what_is_inside() -> None:
    record = results.load("trm_inside")
    assert record["settings"] == recipe.SIZES | recipe.INSIDE | {
        "seeds": recipe.SEEDS,
        "lr": recipe.LIVE.lr,
    }
    made = {"rereads": False, "shares": False} | record["runs"]["TRM"]["recipe"]
    assert made == json.loads(json.dumps(asdict(recipe.LIVE)))
    found = record["runs"]["TRM"]["members"]
    assert len(found) == recipe.SEEDS
    uses = recipe.INSIDE["thoughts"] * (recipe.LIVE.config.latent_steps + 1)
    for member, rough in zip(found, members("TRM"), strict=True):
        # The same seeds; rounding to 16 bits changes a few boards in a thousand.
        for on in ("mixed", "minimal"):
            assert member["right"][on] == pytest.approx(rough[on]["right"], abs=0.01)
            assert member["stops"][on][recipe.INSIDE["levels"].index(0.5)] == pytest.approx(
                rough[on]["stopped"], abs=0.05
            )
        assert {len(shares) for shares in member["legible"].values()} == {uses}
        assert all(len(shares) == recipe.SIZES["think"] for shares in member["by rounds"].values())


@pytest.mark.slow
def test_what_is_inside_is_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that answers at random, of which the record is to say what loops say."""
    puzzles = recorded.tests(40)
    generator = Generator().manual_seed(0)
    think, few, some = 16, 12, 2
    monkeypatch.setitem(recipe.SIZES, "probed", few)
    monkeypatch.setitem(recipe.INSIDE, "thoughts", some)
    monkeypatch.setitem(recipe.INSIDE, "fewest", 10)
    kinds = ("mixed", "minimal")
    seen = {
        on: measure.Solving(
            right=torch.rand(think, 40, generator=generator) < 0.3 + 0.4 * k,
            cells=torch.zeros(think, 40),
            halt=2 * torch.randn(think, 40, generator=generator) - 1.5,
        )
        for k, on in enumerate(kinds)
    }
    read = measure.Thoughts(*torch.randn(2, 8, few, 36, 7, generator=generator))
    model = recipe.LIVE.model(0)
    rounded = measure.half_precision(model).state_dict()

    def solve(given: TRM, batch: Batch, steps: int) -> measure.Solving:
        assert steps == think
        assert all(value.equal(rounded[key]) for key, value in given.state_dict().items())
        return next(seen[on] for on in kinds if batch[0].equal(puzzles[on][0]))

    def thoughts(given: TRM, boards: Tensor, steps: int) -> measure.Thoughts:
        assert steps == some and boards.equal(puzzles["minimal"][0][:few])
        assert all(value.equal(rounded[key]) for key, value in given.state_dict().items())
        return read

    monkeypatch.setattr(measure, "solve", solve)
    monkeypatch.setattr(measure, "thoughts", thoughts)
    found = recorded.inside(model, puzzles)

    rounds = {on: recipe.TASK.rounds(puzzles[on][0]).tolist() for on in kinds}
    for name, shares in found["by rounds"].items():
        wanted = {"1–2": {1, 2}, "7+": set(range(7, 99)), "never": {-1}}.get(name)
        of = [
            (on, i) for on in kinds for i in range(40) if rounds[on][i] in (wanted or {int(name)})
        ]
        for k in range(think if of else 0):
            right = sum(bool(seen[on].right[k, i]) for on, i in of) / len(of)
            assert shares[k] == pytest.approx(right, abs=1e-3)
    clues, solution = (part[:few] for part in puzzles["minimal"])
    for name, logits in read._asdict().items():
        for use, share in enumerate(found["legible"][name]):
            digits = logits[use].argmax(-1)
            right = (digits == solution)[clues == 0].float().mean().item()
            assert share == pytest.approx(right, abs=1e-3)
    edges = recipe.INSIDE["edges"]
    bins: list[list[tuple[float, bool]]] = [[] for _ in edges[1:]]
    for on in kinds:
        for k in range(some):
            for q, right in zip(seen[on].halt[k].tolist(), seen[on].right[k].tolist(), strict=True):
                said = 1 / (1 + math.exp(-q))
                bins[sum(said >= edge for edge in edges[1:-1])].append((said, right))
    enough = [rows for rows in bins if len(rows) >= 10]
    assert 2 <= len(enough) < len(bins) and len(found["reliability"]) == len(enough)
    for (estimate, share), rows in zip(found["reliability"], enough, strict=True):
        assert estimate == pytest.approx(sum(said for said, _ in rows) / len(rows), abs=1e-3)
        assert share == pytest.approx(sum(right for _, right in rows) / len(rows), abs=1e-3)
    for on in kinds:
        assert found["right"][on] == pytest.approx(
            seen[on].right.float().mean(1).tolist(), abs=1e-3
        )
        for level, (steps, share) in zip(recipe.INSIDE["levels"], found["stops"][on], strict=True):
            ends = []
            for i in range(40):
                sure = [1 / (1 + math.exp(-q)) > level for q in seen[on].halt[:, i].tolist()]
                end = sure.index(True) if any(sure) else think - 1
                ends.append((end + 1, bool(seen[on].right[end, i])))
            assert steps == pytest.approx(sum(end for end, _ in ends) / 40, abs=1e-2)
            assert share == pytest.approx(sum(right for _, right in ends) / 40, abs=1e-3)


@pytest.mark.long
def test_puzzles_are_as_the_chapter_says() -> None:
    """Rounds solve nearly all, and soon; random grids share classes with training puzzles."""
    rounds = rounds_of_all()
    assert rounds.max() <= 12 and (rounds < 0).float().mean() < 0.05
    assert not (recipe.TASK.rounds(judged()["mixed"][0]) < 0).any()
    task, generator = recipe.TASK, Generator().manual_seed(0)
    grids = task.grids(23_000, generator)
    known = task.class_key(grids[~task.held_out(grids)][: recipe.SIZES["bank"]])
    shared = torch.isin(task.class_key(task.grids(2000, generator)), known).float().mean()
    assert shared == pytest.approx(0.4, abs=0.05)
    assert "there are 49 classes" in exercises.cells(CHAPTER)["puzzles"]
    stricter = Sudoku(task.rows, task.columns, symmetries="all")
    all_classes = stricter.class_key(grids[~task.held_out(grids)][: recipe.SIZES["bank"]])
    assert len(all_classes.unique()) == 49
    assert torch.isin(stricter.class_key(judged()["mixed"][1]), all_classes).all()


class EnoughError(Exception):
    """The run has been seen for as long as it is compared."""


@pytest.mark.long
def test_the_shortest_record_begins_as_recorded() -> None:
    """The network without recursion, its first seed, up to the second probe."""
    kind = "straight, equal parameters"
    trained, run = recipe.baselines()[kind], entry(kind)
    bank, whole = recipe.BANK.sample(), judged()["mixed"]
    assert not recipe.TASK.held_out(bank[1]).any()
    assert recipe.TASK.held_out(whole[1]).all()
    probed = {"mixed": recipe.probed(whole)}
    found = {}

    def watch(step: int, seen: dict[str, Tensor]) -> None:
        found[step] = seen["mixed"].item()
        if len(found) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        measure.learn(
            trained,
            recipe.TASK,
            bank,
            seed=0,
            probe=partial(measure.probe, tests=probed, steps=1),
            probe_every=trained.steps // 9,
            watch=watch,
        )
    assert list(found) == run["steps"][:2]
    # Rounding differs from machine to machine, and training makes more of it.
    assert list(found.values()) == pytest.approx(run["members"][0]["mixed by step"][:2], abs=0.08)
