"""The lesson's recorded runs: made with the recipe's settings, and to be made again."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import train
from attn_notes.training.schedules import warmup_cosine
from book.kit import results
from book.lessons.deep_qkv import evidence, pull, recipe
from book.lessons.deep_qkv import experiments as recorded

RECORDS = {
    "published": (recipe.PUBLISHED, {}, 7),
    "rank_temperature": (recipe.LIVE, {}, 18),
    "rates": (recipe.SWEEP, {"lr": [*recipe.RATES]}, len(recipe.KINDS) * len(recipe.RATES)),
    "chosen": (recipe.CHOSEN, {"lr": recipe.RATE}, len(recipe.KINDS)),
    "positions": (recipe.LIVE, {"lr": recipe.RATE}, 2),
    "gradients": (recipe.LIVE, {"lr": [*pull.RATES]}, 1 + len(pull.WAYS) * len(pull.RATES)),
}


def test_what_a_loss_leaves_out():
    counted = [kind.predictions for name, kind in recipe.KINDS.items() if "," in name]
    assert counted == [slice(2, None), slice(3, None)] * 2


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_recipes_settings_and_no_loss_below_the_floor(name):
    (setting, more, runs), record = RECORDS[name], results.load(f"deep_qkv_{name}")
    assert record["settings"] == recorded.settings(setting, **more)
    assert len(record["runs"]) == runs
    exact = sorting.entropies(sorting.all_sequences(), sorting.proportions).mean()
    floor = float(exact) if name == "positions" else sorting.FLOOR
    record["runs"].pop("along", None)
    for crowd in map(evidence.crowd, record["runs"].values()):
        assert (len(crowd.arrivals), int(crowd.steps[-1])) == (len(setting.seeds), setting.steps)
        assert crowd.lowest >= floor - 1e-5


def test_the_usual_way_begins_as_the_plain_sorters_of_another_record():
    usual = evidence.ways()[recipe.RATE["plain"]][pull.ALL_SIX].losses[0]
    plain = evidence.recorded("chosen")["plain"].losses[0, : len(recipe.LIVE.seeds)]
    assert_close(usual, plain, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_seeds_draw_their_own_batches():
    """The sampled branch of the recorded run: a seed alone is the seed in company."""
    setting = recipe.Setting((0, 1), steps=3, lr=1e-3, warmup=1, batch=5, probe_every=1)
    two = recipe.train_sorters(Config("gated"), setting).history["losses"]
    alone = train(
        [Sorter(Config("gated"), Generator().manual_seed(1))],
        sorting.loss,
        partial(sorting.sample_weights, 5),
        generators=[Generator().manual_seed(10_001)],
        optimizer=partial(torch.optim.AdamW, lr=1e-3),
        schedule=warmup_cosine(3, 1),
        **{"steps": 3, "clip": 1.0, "probe": sorting.probe, "probe_every": 1},
    )
    assert_close(two[:, 1], alone.history["losses"][:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [70, pytest.param(1000, marks=pytest.mark.long)])
def test_a_run_can_be_made_again(steps, monkeypatch):
    """Its first steps, and all of them: rounding differs between processors, and grows."""
    whole = warmup_cosine(recipe.LIVE.steps, recipe.LIVE.warmup)
    monkeypatch.setattr(recipe, "warmup_cosine", lambda *_: whole)
    there = results.load("deep_qkv_rank_temperature")["runs"]["strict 1 1.0"]
    config, live = Config("strict", rank=1, temperature=1.0), replace(recipe.LIVE, steps=steps)
    again, end = recorded.summary(recipe.train_sorters(config, live)), there["steps"].index(steps)
    assert again["steps"] == there["steps"][: end + 1]
    assert_close(*[torch.tensor(run["mean_loss"][:8]) for run in (again, there)], rtol=0, atol=2e-3)
    here, right = (run["solved"][end].count(recipe.SOLVED) for run in (again, there))
    assert abs(here - right) <= 4
