"""The chapter's recorded runs: made with the recipe's settings, and to be made again."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from experiments import deep_qkv as recorded
from torch import Generator
from torch.testing import assert_close

from attn_notes.analysis import results
from attn_notes.chapters.deep_qkv import evidence, pull, recipe
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import train
from attn_notes.training.schedules import warmup_cosine


def test_the_published_settings() -> None:
    """As the source has them, over enough seeds for a headline."""
    published = recipe.PUBLISHED
    assert (published.steps, published.lr, published.warmup, published.batch) == (
        15_001, 1e-3, 500, 128,
    )  # fmt: skip
    assert len(published.seeds) >= 16 and len(recipe.CHOSEN.seeds) >= 16


@pytest.mark.parametrize(
    ("name", "setting", "runs"),
    [
        ("published", recipe.PUBLISHED, 7),
        ("rank_temperature", recipe.LIVE, 18),
        ("rates", recipe.SWEEP, len(recipe.KINDS) * len(recipe.RATES)),
        ("chosen", recipe.CHOSEN, len(recipe.KINDS)),
        ("positions", recipe.LIVE, 2),
    ],
)
def test_a_record_has_the_recipes_settings(name: str, setting: recipe.Setting, runs: int) -> None:
    record = results.load(f"deep_qkv_{name}")
    expected = recorded.settings(setting)
    assert {k: v for k, v in record["settings"].items() if k != "lr"} == {
        k: v for k, v in expected.items() if k != "lr"
    }
    assert len(record["runs"]) == runs
    for crowd in evidence.recorded(name).values():
        assert len(crowd.arrivals) == len(setting.seeds)
        assert int(crowd.steps[-1]) == setting.steps


def test_no_recorded_loss_lies_below_the_floor() -> None:
    """Rounded to five digits; without positions the floor is another."""
    exact = sorting.entropies(sorting.all_sequences(), sorting.proportions).mean()
    for name in ("published", "rank_temperature", "rates", "chosen", "positions"):
        floor = float(exact) if name == "positions" else sorting.FLOOR
        for crowd in evidence.recorded(name).values():
            assert crowd.lowest >= floor - 1e-5


def test_the_record_of_the_pull_is_of_the_lessons_seeds() -> None:
    """All six as usual begins as the plain sorters of another record do."""
    found = results.load("deep_qkv_gradients")["settings"]
    assert found == recorded.settings(recipe.LIVE, lr=list(pull.RATES))
    assert evidence.along().products.shape[:2] == (101, len(recipe.LIVE.seeds))
    for rate, ways in evidence.ways().items():
        assert {len(here.arrivals) for here in ways.values()} == {len(recipe.LIVE.seeds)}, rate
    usual, plain = evidence.ways()[recipe.RATE["plain"]][pull.ALL_SIX], evidence.recorded("chosen")
    ours, theirs = usual.losses, plain["plain"].losses
    assert ours is not None and theirs is not None
    assert_close(ours[0], theirs[0, : len(recipe.LIVE.seeds)], rtol=0, atol=1e-4)


@pytest.mark.slow
def test_seeds_draw_their_own_batches() -> None:
    """The sampled branch of the recorded run: a seed alone is the seed in company."""
    setting = recipe.Setting((0, 1, 2), steps=3, lr=1e-3, warmup=1, batch=5, probe_every=1)
    three, two = (
        recipe.train_sorters(Config("gated"), s) for s in (setting, replace(setting, seeds=(0, 1)))
    )
    assert_close(three.history["losses"][:, :2], two.history["losses"])
    alone = train(
        [Sorter(Config("gated"), Generator().manual_seed(1))],
        sorting.loss,
        partial(sorting.sample_weights, 5),
        generators=[Generator().manual_seed(10_001)],
        steps=3,
        optimizer=partial(torch.optim.AdamW, lr=1e-3),
        schedule=warmup_cosine(3, 1),
        clip=1.0,
        probe=sorting.probe,
        probe_every=1,
    )
    assert_close(three.history["losses"][:, 1], alone.history["losses"][:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [70, pytest.param(1000, marks=pytest.mark.long)])
def test_the_shortest_recorded_run_can_be_made_again(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first steps, and all of them."""
    record = results.load("deep_qkv_rank_temperature")
    setting, run = recipe.LIVE, record["runs"]["strict 1 1.0"]
    config = Config("strict", rank=1, temperature=1.0)
    whole = warmup_cosine(setting.steps, setting.warmup)
    monkeypatch.setattr(recipe, "warmup_cosine", lambda *_: whole)
    again = recorded.summary(recipe.train_sorters(config, replace(setting, steps=steps)))
    seen = len(again["steps"])
    assert again["steps"] == run["steps"][:seen] and again["steps"][-1] == steps
    # Rounding differs between processors and grows: the early curve tightly, the end loosely.
    early = slice(0, 8)
    assert_close(
        torch.tensor(again["mean_loss"][early]),
        torch.tensor(run["mean_loss"][early]),
        rtol=0,
        atol=2e-3,
    )
    there = [sum(s == 27 for s in r["solved"][seen - 1]) for r in (again, run)]
    assert abs(there[0] - there[1]) <= len(setting.seeds) / 4


@pytest.mark.slow
@pytest.mark.parametrize("steps", [40, pytest.param(1000, marks=pytest.mark.long)])
def test_a_kind_at_its_own_rate_can_be_made_again(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the lesson trains live is the first half of what is recorded."""
    run = results.load("deep_qkv_chosen")["runs"]["plain, knowable"]
    whole = warmup_cosine(recipe.LIVE.steps, recipe.LIVE.warmup)
    monkeypatch.setattr(recipe, "warmup_cosine", lambda *_: whole)
    again = recipe.train_kind("plain, knowable", replace(recipe.LIVE, steps=steps))
    assert_close(
        again.history["losses"][0], torch.tensor(run["losses"][0])[: len(recipe.LIVE.seeds)],
        rtol=0, atol=1e-4,
    )  # fmt: skip
    done = evidence.live({"knowable": again})["knowable"].arrivals.isfinite()
    there = torch.tensor([x is not None and x <= steps for x in run["arrivals"][: len(done)]])
    assert (done != there).sum() <= 4  # rounding differs between processors
