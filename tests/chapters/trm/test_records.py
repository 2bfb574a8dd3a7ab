"""Records hold what the recipe asks for and can be made again; what they are said to count."""

import json
from dataclasses import asdict

import pytest
import torch
from experiments import trm as recorded
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import measure, recipe, tables
from attn_notes.models.trm import OFFICIAL, TRM

from ... import exercises
from ...pages.said import Says
from ...pages.test_pages import read
from . import said

SEEDS = {"trm_rates": 1, "trm_rereading": recipe.REREADING_SEEDS}
MADE = recipe.RECORDS | dict.fromkeys(
    ("trm_inside", "trm_symmetries"), lambda: {recipe.TRM_LIVE: recipe.LIVE}
)


@pytest.mark.parametrize("name", MADE)
def test_a_record_holds_the_recipes_of_its_experiment(name: str) -> None:
    """Older records do not say on what they were judged, nor that nothing reads again."""
    record, seeds = results.load(name), SEEDS.get(name, recipe.SEEDS)
    wanted = recipe.SIZES | {"trm_inside": recipe.INSIDE}.get(name, {}) | {"seeds": seeds}
    if name == "trm_symmetries":
        wanted = {"seeds": seeds, "guises in training": "labels"}
    else:
        judged = record["settings"].get("judged on", recorded.JUDGED_ON)
        assert judged.startswith(recorded.JUDGED_ON)
    assert wanted.items() <= record["settings"].items()
    assert [*record["runs"]] == [*MADE[name]()]
    for kind, trained in MADE[name]().items():
        run = record["runs"][kind]
        found = {"rereads": False, "shares": False} | run["recipe"]
        assert found == json.loads(json.dumps(asdict(trained))) and len(run["members"]) == seeds
        if name in recipe.RECORDS:
            assert run["operations"] == recipe.operations(trained)
            whole = recipe.operations(recipe.LIVE) * recipe.LIVE.steps
            assert run["operations"] * trained.steps == pytest.approx(whole, rel=2e-3)


def test_the_sets_of_puzzles_are_those_with_which_the_records_were_made() -> None:
    assert recipe.BANK == (20_000, "mixed", 1, False) and recipe.SEEN == (1000, "mixed", 4, False)
    for found, (mixed, minimal) in ((recipe.VALIDATION, (2, 3)), (recipe.FRESH, (21, 22))):
        assert found == {
            "mixed": (1000, "mixed", mixed, True), "minimal": (1000, "minimal", minimal, True)
        }  # fmt: skip
    assert recipe.FAMILIAR == (1000, "minimal", 23, False) and recipe.SIZES["probed"] == 200
    some = recipe.Drawn(4, "minimal", 3, held_out=True)
    wanted = recipe.TASK.sample(4, Generator().manual_seed(3), "minimal", held_out=True)
    assert all(a.equal(b) for a, b in zip(some.sample(), wanted, strict=True))
    boards = torch.arange(300)[:, None].expand(300, 36)
    assert [part[:, 0].tolist() for part in recipe.probed((boards, boards))] == [[*range(200)]] * 2


def test_what_is_said_of_sizes() -> None:
    """The official code counts no summary tokens, and a second output beside q."""
    own = recipe.parameters(OFFICIAL) - OFFICIAL.summary * OFFICIAL.width + OFFICIAL.width + 1
    assert own == 5_028_866 and "5,028,866" in tables.model_table().data
    runs = results.load("trm_runs")["runs"]  # what a run takes beyond all that does not train
    looks = recipe.LIVE.steps * recipe.LIVE.settings.seats
    trained = runs["trained"]["seconds"] - runs["FAST=1"]["seconds"]
    assert trained / looks == pytest.approx(recipe.LOOK, rel=0.05)


def page(name: str) -> Says:
    """As it was read; the teacher's as it stands."""
    golden = {"trm": "page.txt", "evidence/trm": "evidence.txt"}.get(name)
    if golden:
        text = (exercises.ROOT / "tests/chapters/trm" / golden).read_text("utf-8")
        return Says(name, read(text.splitlines()))
    return Says(name, {"all": (exercises.ROOT / "book" / f"{name}.md").read_text("utf-8")})


@pytest.mark.parametrize(
    "passages",
    [
        pytest.param(said.counted, marks=pytest.mark.slow),
        pytest.param(said.counted_at_night, marks=pytest.mark.long),
    ],
)
def test_what_is_said_of_puzzles_is_what_they_are(passages: said.Passages) -> None:
    pages = {name: page(name) for name in ("trm", "evidence/trm", "teaching/trm")}
    passages(pages.__getitem__)
    assert not [words for each in pages.values() for words in each.wrong]


@pytest.mark.slow
def test_the_stricter_split_holds_out_five_classes_of_forty_nine() -> None:
    """Of grids of either set, none of whose classes the bank has; each seed's shares add up."""
    task = recipe.STRICTER
    grids = task.grids(3000, Generator().manual_seed(1))
    keys, held = task.class_key(grids), task.held_out(grids)
    assert len(keys[held].unique()) == 5 and not {*keys[held].tolist()} & {*keys[~held].tolist()}
    bank = recipe.BANK.sample(400, task)[1]
    fresh = recipe.FRESH["minimal"].sample(100, task)[1]
    assert not torch.isin(task.class_key(fresh), task.class_key(bank)).any()
    for one in results.load("trm_symmetries")["runs"]["TRM"]["members"]:
        counts = [count for count, _ in one["by class"]["fresh"]]
        assert len(counts) == 5 and sum(counts) == recipe.SIZES["tests"]
        solved = sum(count * share for count, share in one["by class"]["fresh"]) / sum(counts)
        assert solved == pytest.approx(one["fresh"]["minimal"]["right"][7], abs=1e-3)


@pytest.mark.long
def test_the_shortest_record_can_be_made_again() -> None:
    """The network without recursion, its first seed, up to the second probe; and its grids."""
    trained, run = recipe.baselines()[recipe.EQUAL], results.load("trm_baselines")["runs"]
    bank, tests = recipe.BANK.sample(), recipe.VALIDATION["mixed"].sample()
    assert bank[1].equal(recipe.BANK.grids()) and not recipe.TASK.held_out(bank[1]).any()
    assert tests[1].equal(recipe.VALIDATION["mixed"].grids())
    found: dict[int, float] = {}

    def watch(step: int, seen: dict[str, Tensor]) -> None:
        found[step] = seen["mixed"].item()
        if len(found) == 2:
            raise InterruptedError

    def probe(model: TRM) -> dict[str, Tensor]:
        return measure.probe(model, {"mixed": recipe.probed(tests)}, steps=1)

    with pytest.raises(InterruptedError):
        measure.learn(
            trained, recipe.TASK, bank, seed=0, probe=probe, probe_every=trained.steps // 9,
            watch=watch,
        )  # fmt: skip
    kept = run[recipe.EQUAL]["members"][0]["mixed by step"][:2]
    assert [*found] == run[recipe.EQUAL]["steps"][:2]
    # Rounding differs from machine to machine, and training makes more of it.
    assert [*found.values()] == pytest.approx(kept, abs=0.08)
