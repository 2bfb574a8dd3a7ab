"""What the chapters say in words about recorded runs, held against the records themselves."""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.analysis import results, seeds
from attn_notes.models.deep_qkv import VARIANTS, Config
from attn_notes.tasks import sorting

EXPERIMENTS = Path(__file__).parents[1] / "book" / "experiments.py"


def experiments() -> object:
    spec = importlib.util.spec_from_file_location("experiments", EXPERIMENTS)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def published() -> dict[str, Tensor]:
    record = results.load("deep_qkv_published")
    return {
        name: seeds.stable_from(torch.tensor(run["solved"]), torch.tensor(run["steps"]), 27)
        for name, run in record["runs"].items()
    }


class TestDeepQKV:
    def test_the_records_settings_are_the_published_ones(self) -> None:
        settings = results.load("deep_qkv_published")["settings"]
        published = {"steps": 15_001, "lr": 1e-3, "warmup": 500, "batch": 128}
        assert settings | published == settings
        assert settings["seeds"] >= 16

    def test_the_five_kinds_cannot_be_told_from_gated(self, published: dict) -> None:
        for variant in VARIANTS:
            c = seeds.compare(published[variant], published["gated"], Generator().manual_seed(0))
            assert c.verdict == "cannot be told", variant

    def test_outputs_only_beats_everything(self, published: dict) -> None:
        ours = published["gated, outputs only"]
        assert ours.isfinite().all()
        for variant in VARIANTS:
            c = seeds.compare(ours, published[variant], Generator().manual_seed(0))
            assert c.verdict == "earlier", variant
            assert 2 * ours.median() <= published[variant].median()

    def test_no_recorded_loss_lies_below_the_floor(self) -> None:
        for name in ("deep_qkv_published", "deep_qkv_rank_temperature"):
            for run in results.load(name)["runs"].values():
                assert min(map(min, run["mean_loss"])) >= sorting.FLOOR - 1e-5  # as rounded

    def test_knowable_only_beats_all(self, published: dict) -> None:
        ours = published["gated, knowable only"]
        c = seeds.compare(ours, published["gated"], Generator().manual_seed(0))
        assert c.verdict == "earlier"

    def test_rank_one_is_not_told_from_rank_three(self) -> None:
        runs = results.load("deep_qkv_rank_temperature")["runs"]
        for variant in ("gated", "strict"):
            arrived = {
                rank: seeds.stable_from(
                    torch.tensor(runs[f"{variant} {rank} 1.0"]["solved"]),
                    torch.tensor(runs[f"{variant} {rank} 1.0"]["steps"]),
                    27,
                )
                for rank in (1, 3)
            }
            c = seeds.compare(arrived[1], arrived[3], Generator().manual_seed(0))
            assert c.verdict == "cannot be told", variant

    def test_the_shortest_recorded_run_can_be_made_again(self) -> None:
        record = results.load("deep_qkv_rank_temperature")
        settings, run = record["settings"], record["runs"]["strict 1 1.0"]
        config = Config("strict", rank=1, temperature=1.0)
        again = experiments().summary(experiments().train_sorters(config, **settings))
        assert again["steps"] == run["steps"]
        # Rounding differs between processors and grows: the early curve tightly, the end loosely.
        early = slice(0, 8)
        torch.testing.assert_close(
            torch.tensor(again["mean_loss"][early]),
            torch.tensor(run["mean_loss"][early]),
            rtol=0,
            atol=2e-3,
        )
        there = [sum(s == 27 for s in r["solved"][-1]) for r in (again, run)]
        assert abs(there[0] - there[1]) <= settings["seeds"] / 4
