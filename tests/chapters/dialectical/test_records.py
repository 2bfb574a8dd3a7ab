"""What the chapter says in words, held against its records and against a short run of its own."""

from dataclasses import replace
from math import comb, log

import pytest
import torch
from experiments import dialectical as recorded
from torch import Generator
from torch.testing import assert_close

from attn_notes.analysis import leaks, results
from attn_notes.chapters.dialectical import evidence, figures, measure, recipe
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, Brackets
from attn_notes.training import comparison, schedules
from attn_notes.training.ensemble import Run


def parts() -> results.Record:
    return results.load("dialectical_parts")["runs"]


def final(kind: str) -> torch.Tensor:
    return torch.tensor([member["excess"] for member in parts()[kind]["members"]])


def test_the_lesson_trains_kinds_that_were_recorded_at_their_rate() -> None:
    assert recipe.LIVE.seeds >= 3
    assert list(recipe.LESSON.values()) == [
        recipe.KINDS["published"], recipe.KINDS["published, masked"]
    ]  # fmt: skip
    differ = {
        field
        for field in recipe.PUBLISHED.__dict__
        if getattr(recipe.PUBLISHED, field) != getattr(recipe.MENDED, field)
    }
    assert differ == {"mask"}  # "and nothing else"
    for kind in ("published", "published, masked", "corrected"):
        assert recipe.RATES[kind] == recipe.LIVE.lr


@pytest.mark.slow
def test_the_kinds_cost_what_the_whole_costs() -> None:
    """Their widths stand in the recipe, for it takes seconds to find them."""
    found = measure.ablations(recipe.WHOLE, recipe.TASK.length)
    assert {kind: recipe.KINDS[kind] for kind in found} == found


def test_every_kind_was_recorded_at_the_best_of_three_rates() -> None:
    sweep = results.load("dialectical_rates")
    rates, runs = sweep["settings"]["rates"], sweep["runs"]
    assert tuple(rates) == recipe.TRIED and len(rates) == 3
    for kind in recipe.KINDS:
        best = min(rates, key=lambda rate: sum(runs[f"{kind} {rate}"]["excess"][-1]))
        assert recipe.RATES[kind] == best, kind
    assert results.load("dialectical_parts")["settings"]["lr"] == recipe.RATES


def test_the_records_cover_what_the_chapter_says_of_them() -> None:
    settings = results.load("dialectical_parts")["settings"]
    assert (settings["seeds"], settings["steps"], settings["held out"]) == (8, 600, 4096)
    assert set(parts()) == set(recipe.KINDS)
    assert set(figures.ORDER) == set(parts()) - {"published"}
    counts = {kind: run["parameters"] for kind, run in parts().items()}
    assert counts["published"] == 11_818 and counts["corrected"] == 11_304
    costs = {kind: run["operations"] for kind, run in parts().items()}
    for kind in figures.ORDER[1:]:
        assert abs(costs[kind] / costs["corrected"] - 1) < 0.03
    watched = results.load("dialectical_inside")
    assert set(watched["runs"]) == set(recipe.INSIDE)
    assert watched["settings"]["swept"] == recipe.SWEPT
    assert watched["settings"]["text"] == recipe.LEAK_TEXT
    for run in watched["runs"].values():
        assert len(run["at work"]) == len(run["steps"]) and len(run["members"]) == 8
        assert len(run["written"]) == recipe.WRITERS
    for trade in watched["runs"]["corrected"]["halting"]:
        assert [row[0] for row in trade["tension"]] == recipe.THRESHOLDS
        assert trade["depth"][0][1:3] == [0, 0] and len(trade["depth"]) == 7
    large = results.load("dialectical_published")
    assert large["runs"]["published"]["parameters"] == 179_338
    settings = large["settings"]
    assert [settings[k] for k in ("seeds", "steps", "batch", "lr")] == [3, 200, 64, 1e-3]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("parts", recipe.RECORDED),
        ("inside", recipe.WATCHED),
        ("rates", recipe.SWEEP),
        ("published", recipe.FULL),
    ],
)
def test_a_record_was_trained_as_the_recipe_says(name: str, setting: recipe.Setting) -> None:
    found = results.load(f"dialectical_{name}")["settings"]
    names = [n for n in ("seeds", "steps", "batch", "probe_every", "lr") if n in found]
    assert {n: found[n] for n in names} == recorded.kept(setting, *names)
    assert {n: found[n] for n in recipe.SIZES if n in found} == (
        {} if name == "published" else recipe.SIZES
    )


@pytest.mark.slow
def test_what_is_said_of_the_task() -> None:
    catalan = [comb(2 * n, n) // (n + 1) for n in range(1, 7)]
    assert sum(catalan) == 196
    published, cut = Brackets(), recipe.TASK
    assert cut.length == 32 and published.length == 95
    assert 0.5e-5 < published.floor - cut.floor < 2e-5
    x, _ = published.sample(100_000, Generator().manual_seed(0))
    assert 1 / 3000 < ((x != PAD).sum(1) > 32).float().mean() < 1 / 1500


def test_only_what_reads_the_future_lies_below_the_floor() -> None:
    """Against the best predictor on the same strings; 1e-3 for rounding."""
    for kind, run in parts().items():
        ends = final(kind)
        assert (ends < -0.1).all() if kind == "published" else (ends > -1e-3).all(), kind
        assert (torch.tensor(run["excess"][-1]) < 0).any() == (kind == "published"), kind


def test_the_recorded_weights_are_those_of_the_first_seed() -> None:
    x, y = brackets.trim(recipe.TASK.sample(256, comparison.held_out()))
    for kind in recipe.INSIDE:
        with torch.no_grad():
            loss = brackets.loss(evidence.model(kind), (x, y)).item()
        seen = results.load("dialectical_inside")["runs"][kind]["members"][0]["loss"]
        assert loss == pytest.approx(seen, abs=2e-4)
    (mended,) = (p[0] for p in [evidence.stacked("mask mended")["block.out.bias"]])
    assert torch.equal(mended, evidence.weights("published, masked")["block.out.bias"])


@pytest.fixture(scope="module")
def short() -> dict[str, Run]:
    """The chapter's training, two seeds and fewer steps."""
    setting = replace(recipe.LIVE, seeds=2, steps=200)
    return measure.train_brackets(recipe.LESSON, recipe.TASK, setting)


@pytest.mark.long
def test_the_published_model_looks_and_never_learns_to_predict(short: dict[str, Run]) -> None:
    x, y = brackets.trim(recipe.TASK.sample(64, comparison.held_out()))
    for seed in range(2):
        models = {name: run.member(seed) for name, run in short.items()}
        assert short["as published"].history["excess"][-1, seed] < -0.05
        for name, model in models.items():
            leak = leaks.future_leak(model, x[:4], len(brackets.VOCABULARY))
            logits = leaks.on_prefixes(model, x, PAD)
            blind = brackets.loss(lambda _, logits=logits: logits, (x, y))
            if name == "as published":
                assert leak > 1 and blind > 2 * log(7)
            else:
                assert leak == 0 and blind < 1.6
                assert isinstance(model, LanguageModel)


@pytest.mark.parametrize(
    "steps", [pytest.param(100, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)]
)
def test_the_shortest_recorded_run_can_be_made_again(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first steps, and all of them."""
    record = results.load("dialectical_rates")
    setting = replace(recipe.SWEEP, lr=1e-2)
    whole = schedules.warmup_cosine(setting.steps, setting.warmup)
    monkeypatch.setattr(comparison, "warmup_cosine", lambda *_: whole)
    run = record["runs"]["one step 0.01"]
    kinds = {"one step": recipe.KINDS["one step"]}
    found = measure.train_brackets(kinds, recipe.TASK, replace(setting, steps=steps))
    again = recorded.curve(found["one step"])
    seen = len(again["steps"])
    assert again["steps"] == run["steps"][:seen] and again["steps"][-1] == steps
    assert again["parameters"] == run["parameters"]
    # Rounding differs between processors and grows: the start tightly, the end loosely.
    for probes, bound in ((slice(0, 2), 0.02), (slice(seen - 1, seen), 0.05)):
        theirs, ours = (torch.tensor(r["excess"][probes]) for r in (run, again))
        assert_close(ours, theirs, rtol=0, atol=bound)
