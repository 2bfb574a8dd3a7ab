"""What chapter 5 says in words, held against its records and against short runs of its own."""

import json
from dataclasses import asdict
from functools import partial

import pytest
import torch
from experiments import trm as recorded
from torch import Generator, Tensor

from attn_notes.analysis import results, verdicts
from attn_notes.analysis import trm as look
from attn_notes.models.trm import OFFICIAL, TRM, Config

from .. import exercises

CHAPTER = exercises.ROOT / "book" / "trm.ipynb"

RECIPES = {
    "trm_baselines": recorded.baselines,
    "trm_supervision": recorded.supervisions,
    "trm_networks": recorded.networks,
    "trm_rates": recorded.other_rates,
}


def entry(kind: str) -> results.Record:
    for name in RECIPES:
        runs = results.load(name)["runs"]
        if kind in runs:
            return runs[kind]
    raise AssertionError(f"no record has {kind!r}")


def members(kind: str) -> list[results.Record]:
    return entry(kind)["members"]


def unsolved(kind: str, on: str = "minimal", step: int = 8) -> Tensor:
    """The share left unsolved, per seed; a network without recursion has one step."""
    found = [m[on]["right"] for m in members(kind)]
    return 1 - torch.tensor([right[min(step, len(right)) - 1] for right in found])


def parameters(config: Config) -> int:
    return sum(p.numel() for p in TRM(config, Generator()).parameters())


def test_the_chapter_trains_what_was_recorded() -> None:
    scope = exercises.after_setup(CHAPTER)
    assert scope["recipe"] == recorded.LIVE
    assert scope["task"] == recorded.TASK
    think = f"THINK, TRAINED = {recorded.SIZES['think']}, recipe.settings.steps\n"
    assert think in exercises.cells(CHAPTER)["rounding"]
    data = exercises.cells(CHAPTER)["data"]
    for line in (
        f'"training, mixed", {recorded.SIZES["bank"]:_}, "mixed", 1, held_out=False',
        f'"held out, mixed", {recorded.SIZES["tests"]}, "mixed", 2, held_out=True',
        f'"held out, minimal", {recorded.SIZES["tests"]}, "minimal", 3, held_out=True',
    ):
        assert line in data
    probed = f"part[:{recorded.SIZES['probed']}]"
    assert probed in exercises.cells(CHAPTER)["train-live"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_record_holds_the_recipes_of_its_experiment(name: str) -> None:
    record = results.load(name)
    seeds = 1 if name == "trm_rates" else recorded.SEEDS
    assert record["settings"] == recorded.SIZES | {"seeds": seeds, "lr": recorded.LIVE.lr}
    recipes = RECIPES[name]()
    assert list(record["runs"]) == list(recipes)
    for kind, recipe in recipes.items():
        run = record["runs"][kind]
        assert run["recipe"] == json.loads(json.dumps(asdict(recipe)))
        assert run["operations"] == look.operations(recipe)
        assert run["operations"] * recipe.steps == pytest.approx(
            look.operations(recorded.LIVE) * recorded.LIVE.steps, rel=2e-3
        )
        assert len(run["members"]) == seeds


def test_what_is_said_of_sizes() -> None:
    assert recorded.SEEDS == 4
    live = recorded.LIVE.config
    assert parameters(live) == 103_169
    assert parameters(Config()) == 4_856_833
    text = exercises.cells(CHAPTER)
    assert "103,169" in text["title"] and "4,856,833" in text["title"]
    assert live.tokens == 37  # of which one is the summary
    uses = live.latent_steps + 1
    assert recorded.SIZES["think"] * uses * live.layers == 128
    deep, equal = (entry(f"straight, equal {what}") for what in ("depth", "parameters"))
    assert deep["recipe"]["config"]["layers"] == uses * live.layers == 8
    assert deep["parameters"] / parameters(live) == pytest.approx(4, abs=0.05)
    assert equal["parameters"] == parameters(live)
    assert equal["recipe"]["steps"] / recorded.LIVE.steps == pytest.approx(4, abs=0.05)
    assert 0.999**recorded.LIVE.steps == pytest.approx(0.41, abs=0.005)
    assert OFFICIAL.summary == 16
    # The official code has no summary tokens among them, and a second output beside q.
    own = parameters(OFFICIAL) - OFFICIAL.summary * OFFICIAL.width + OFFICIAL.width + 1
    assert own == 5_028_866 and "5,028,866" in text["parts-table"]


def test_the_settings_that_the_text_names() -> None:
    settings, text = recorded.LIVE.settings, exercises.cells(CHAPTER)
    assert "64 seats" in text["supervision"] and settings.seats == 64
    assert "had its eight steps" in text["supervision"] and settings.steps == 8
    assert "at half weight" in text["supervision"] and settings.halt_weight == 0.5
    assert "a tenth of the seats" in text["supervision"] and settings.exploration == 0.1
    assert "a tenth of the *classes*" in text["classes"]
    assert recorded.TASK.held_out_share == 0.1


def test_recursion_beats_both_networks_without_it() -> None:
    for what in ("parameters", "depth"):
        for on in ("mixed", "minimal"):
            assert verdicts.ends_lower(
                unsolved("TRM", on), unsolved(f"straight, equal {what}", on)
            )[0]
        assert unsolved("TRM").max() < unsolved(f"straight, equal {what}").min() - 0.3


def test_the_recorded_seeds_reach_what_the_live_one_must() -> None:
    assert (unsolved("TRM", "mixed", 16) < 0.03).all()
    assert (unsolved("TRM", "minimal", 16) < 0.1).all()


def test_what_the_teaching_page_says() -> None:
    """More steps than in training help a little, and almost nothing that was solved is lost."""
    found = members("TRM")
    assert verdicts.all_rise(*([m["minimal"]["right"][step] for m in found] for step in (7, 15)))
    lost = [m[on]["lost"] for m in found for on in ("mixed", "minimal")]
    assert 0 < sum(lost) < 0.002 * recorded.SIZES["tests"] * len(lost)


def test_one_supervision_step_is_not_enough() -> None:
    assert verdicts.ends_lower(unsolved("TRM"), unsolved("one supervision step"))[0]
    for member in members("one supervision step"):
        course = member["minimal"]["right"]
        assert max(course) < 1 - unsolved("TRM").max()
        assert course[-1] < max(course)  # and then it gets worse


def test_the_record_of_what_is_inside() -> None:
    record = results.load("trm_inside")
    assert record["settings"] == recorded.SIZES | recorded.INSIDE | {
        "seeds": recorded.SEEDS,
        "lr": recorded.LIVE.lr,
    }
    assert record["runs"]["TRM"]["recipe"] == json.loads(json.dumps(asdict(recorded.LIVE)))
    found = record["runs"]["TRM"]["members"]
    assert len(found) == recorded.SEEDS
    uses = recorded.INSIDE["thoughts"] * (recorded.LIVE.config.latent_steps + 1)
    for member, rough in zip(found, members("TRM"), strict=True):
        # The same seeds; rounding to 16 bits changes a few boards in a thousand.
        for on in ("mixed", "minimal"):
            assert member["right"][on] == pytest.approx(rough[on]["right"], abs=0.01)
            assert member["stops"][on][recorded.INSIDE["levels"].index(0.5)] == pytest.approx(
                rough[on]["stopped"], abs=0.05
            )
        assert {len(shares) for shares in member["legible"].values()} == {uses}
        assert all(
            len(shares) == recorded.SIZES["think"] for shares in member["by rounds"].values()
        )


def test_it_is_honest_about_its_chance_and_z_can_be_read() -> None:
    for member in results.load("trm_inside")["runs"]["TRM"]["members"]:
        assert max(abs(said - right) for said, right in member["certainty"]) < 0.15
        assert member["legible"]["mind"][recorded.LIVE.config.latent_steps - 1] > 0.5


def test_it_knows_and_stopping_at_one_half_costs() -> None:
    for member in members("TRM"):
        (_, _), (wrong, right) = member["certainty"]["minimal"]
        assert right / (right + wrong) > 0.99
        assert member["minimal"]["stopped"][1] < member["minimal"]["right"][-1]


def test_puzzles_are_as_the_chapter_says() -> None:
    """Rounds solve nearly all, and soon; random grids share classes with training puzzles."""
    judged = recorded.tests(300)
    rounds = torch.cat([recorded.TASK.rounds(judged[kind][0]) for kind in ("mixed", "minimal")])
    assert rounds.max() <= 12 and (rounds < 0).float().mean() < 0.05
    assert not (recorded.TASK.rounds(judged["mixed"][0]) < 0).any()
    task, generator = recorded.TASK, Generator().manual_seed(0)
    grids = task.grids(23_000, generator)
    known = task.class_key(grids[~task.held_out(grids)][: recorded.SIZES["bank"]])
    shared = torch.isin(task.class_key(task.grids(2000, generator)), known).float().mean()
    assert shared == pytest.approx(0.4, abs=0.05)


class EnoughError(Exception):
    """The run has been seen for as long as it is compared."""


def test_the_shortest_record_begins_as_recorded() -> None:
    """The network without recursion, its first seed, up to the second probe."""
    kind = "straight, equal parameters"
    recipe, run, few = recorded.baselines()[kind], entry(kind), recorded.SIZES["probed"]
    bank = recorded.TASK.sample(recorded.SIZES["bank"], Generator().manual_seed(1), held_out=False)
    whole = recorded.TASK.sample(
        recorded.SIZES["tests"], Generator().manual_seed(2), "mixed", held_out=True
    )
    probed = {"mixed": (whole[0][:few], whole[1][:few])}
    found = {}

    def watch(step: int, seen: dict[str, Tensor]) -> None:
        found[step] = seen["mixed"].item()
        if len(found) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        look.learn(
            recipe,
            recorded.TASK,
            bank,
            seed=0,
            probe=partial(look.probe, tests=probed, steps=1),
            probe_every=recipe.steps // 9,
            watch=watch,
        )
    assert list(found) == run["steps"][:2]
    # Rounding differs from machine to machine, and training makes more of it.
    assert list(found.values()) == pytest.approx(run["members"][0]["mixed by step"][:2], abs=0.08)


def test_another_rate_would_not_save_the_networks_without_recursion() -> None:
    for kind in recorded.other_rates():
        assert unsolved(kind).min() > unsolved("TRM").max() + 0.3
