"""Records hold what the recipe asks for and can be made again; what they are said to count."""

import json
from dataclasses import asdict
from functools import partial

import pytest
import torch
from torch import Generator, Tensor

from book.kit import results
from book.lessons.trm import experiments as recorded
from book.lessons.trm import measure, recipe
from tests import exercises
from tests.pages.said import Says

from . import said

SEEDS = {"trm_rates": 1, "trm_rereading": recipe.REREADING_SEEDS}
LIVE = {recipe.TRM_LIVE: recipe.LIVE}
MADE = recipe.RECORDS | dict.fromkeys(("trm_inside", "trm_symmetries"), lambda: LIVE)


@pytest.mark.parametrize("name", MADE)
def test_a_record_holds_the_recipes_of_its_experiment(name):
    """Older records do not say on what they were judged, nor that nothing reads again."""
    record, seeds = results.load(name), SEEDS.get(name, recipe.SEEDS)
    wanted = recipe.SIZES | {"trm_inside": recipe.INSIDE}.get(name, {})
    if name == "trm_symmetries":
        wanted = {"guises in training": "labels"}
    else:
        judged = record["settings"].get("judged on", recorded.JUDGED_ON)
        assert judged.startswith(recorded.JUDGED_ON)
    assert (wanted | {"seeds": seeds}).items() <= record["settings"].items()
    assert [*record["runs"]] == [*MADE[name]()]
    for kind, trained in MADE[name]().items():
        run = record["runs"][kind]
        found = {"rereads": False, "shares": False} | run["recipe"]
        assert found == json.loads(json.dumps(asdict(trained))) and len(run["members"]) == seeds
        if name in recipe.RECORDS:
            assert run["operations"] == recipe.operations(trained)
            whole = recipe.operations(recipe.LIVE) * recipe.LIVE.steps
            assert run["operations"] * trained.steps == pytest.approx(whole, rel=2e-3)


def test_the_sets_of_puzzles_are_those_with_which_the_records_were_made():
    assert recipe.BANK == (20_000, "mixed", 1, False) and recipe.SEEN == (1000, "mixed", 4, False)
    for found, seeds in ((recipe.VALIDATION, (2, 3)), (recipe.FRESH, (21, 22))):
        kinds = zip(("mixed", "minimal"), seeds, strict=True)
        assert found == {kind: (1000, kind, seed, True) for kind, seed in kinds}
    assert recipe.FAMILIAR == (1000, "minimal", 23, False) and recipe.SIZES["probed"] == 200
    some = recipe.Drawn(4, "minimal", 3, held_out=True).sample()
    wanted = recipe.TASK.sample(4, Generator().manual_seed(3), "minimal", held_out=True)
    torch.testing.assert_close(some, wanted, rtol=0, atol=0)
    boards = torch.arange(300)[:, None].expand(300, 36)
    assert [part[:, 0].tolist() for part in recipe.probed((boards, boards))] == [[*range(200)]] * 2


def test_a_look_takes_as_long_as_was_measured():
    runs = results.load("trm_runs")["runs"]  # what a run takes beyond all that does not train
    looks = recipe.LIVE.steps * recipe.LIVE.settings.seats
    trained = runs["trained"]["seconds"] - runs["FAST=1"]["seconds"]
    assert trained / looks == pytest.approx(recipe.LOOK, rel=0.05)


BY_DAY = pytest.param(said.counted, marks=pytest.mark.slow)
AT_NIGHT = pytest.param(said.counted_at_night, marks=pytest.mark.long)


@pytest.mark.parametrize("passages", [BY_DAY, AT_NIGHT])
def test_what_is_said_of_puzzles_is_what_they_are(passages):
    here, book = exercises.ROOT / "book/lessons/trm/tests", exercises.ROOT / "book"
    files = here / "page.txt", here / "evidence.txt", book / "lessons/trm/teaching.md"
    texts = [path.read_text("utf-8").splitlines() for path in files]
    pages = [Says("", {"": " ".join(line.strip(" >") for line in text)}) for text in texts]
    passages(*pages)
    assert not [words for each in pages for words in each.wrong]


@pytest.mark.slow
def test_the_stricter_split_holds_out_five_classes_of_forty_nine():
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
def test_the_shortest_record_can_be_made_again():
    """The network without recursion, its first seed, up to the second probe; and its grids."""
    trained, bank = recipe.baselines()[recipe.EQUAL], recipe.BANK.sample()
    run, tests = results.load("trm_baselines")["runs"][recipe.EQUAL], recipe.VALIDATION["mixed"]
    boards = {"mixed": recipe.probed(tests.sample())}
    assert bank[1].equal(recipe.BANK.grids()) and not recipe.TASK.held_out(bank[1]).any()
    assert tests.sample()[1].equal(tests.grids())
    found: dict[int, float] = {}

    def watch(step: int, seen: dict[str, Tensor]) -> None:
        found[step] = seen["mixed"].item()
        if len(found) == 2:
            raise InterruptedError

    probe = partial(measure.probe, tests=boards, steps=1)
    asked = {"probe": probe, "probe_every": trained.steps // 9, "watch": watch}
    with pytest.raises(InterruptedError):
        measure.learn(trained, recipe.TASK, bank, seed=0, **asked)
    assert [*found] == run["steps"][:2]
    # Rounding differs from machine to machine, and training makes more of it.
    assert [*found.values()] == pytest.approx(run["members"][0]["mixed by step"][:2], abs=0.08)
