"""What the chapter's two pages hold between them: the lesson's cells, the evidence's exercise."""

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import torch

from attn_notes.chapters.deep_qkv import claims, recipe
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting

from ... import exercises

LESSON = exercises.ROOT / "book" / "deep_qkv.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "deep_qkv.ipynb"


def test_the_exercise_of_the_evidence_page() -> None:
    stub = exercises.outcome(EVIDENCE, "rank")
    assert not stub.passed and "there is no answer yet" in repr(stub)
    assert exercises.outcome(EVIDENCE, "rank", exercises.solution(EVIDENCE, "rank")).passed


@pytest.mark.slow  # the first to run the lesson's setup
def test_the_lessons_model_is_the_packages() -> None:
    """Its cell, run with other weights, off the start, where a LayerNorm is trivial."""
    scope = exercises.after_setup(LESSON, exercises.cells(LESSON)["model-cell"])
    generator = torch.Generator().manual_seed(4)
    model = Sorter(Config("gated"), generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    tokens = sorting.all_sequences()[:, :-1]
    ours = scope["forward"](dict(model.named_parameters()), tokens)
    torch.testing.assert_close(ours, model(tokens))


@pytest.mark.slow
def test_the_lessons_loop_is_the_packages() -> None:
    """Its cell, cut short: the losses of `recipe.train_sorters` from the same seed."""
    short = replace(recipe.LIVE, steps=5, warmup=2)
    loop = exercises.cells(LESSON)["loop-cell"].rpartition("\n")[0]
    setup = "from dataclasses import replace\n"
    setup += "recipe.LIVE = replace(recipe.LIVE, steps=5, warmup=2)\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "LIVE", recipe.LIVE)  # taken back afterwards
        losses = exercises.after_setup(LESSON, setup + loop)["losses"]
    setting = replace(short, seeds=(1,), lr=recipe.RATE["plain"], probe_every=1)
    run = recipe.train_sorters(Config("plain"), setting)
    ours = run.history["losses"][:-1, 0].mean(-1)
    torch.testing.assert_close(torch.tensor(losses), ours, rtol=1e-4, atol=1e-5)


def text_of(page: Path, cell: str) -> str:
    """A cell of text, its lines joined."""
    (found,) = (c for c in nbformat.read(page, as_version=4).cells if c.id == cell)
    return " ".join(found.source.split())


LIVE, CHOSEN, SWEEP, PUBLISHED = recipe.LIVE, recipe.CHOSEN, recipe.SWEEP, recipe.PUBLISHED
WORDS = {3: "three", 4: "four", 6: "six", 16: "sixteen", 20: "twentieth", 30: "thirtieth",
         32: "thirty-two"}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "cell", "says"),
    [
        (LESSON, "loop", f"There are {LIVE.steps:,} steps; the rate rises over the first "
         f"{LIVE.warmup}."),
        (LESSON, "ensemble", f"on {WORDS[len(LIVE.seeds)]} at once"),
        (LESSON, "effects", f"by the {WORDS[len(LIVE.seeds)]} [live](reference/glossary.md#term-"
         f"live) seeds, trained when this page was made; by {WORDS[len(CHOSEN.seeds)]}"),
        (LESSON, "exercise-rescue", f"all {WORDS[len(LIVE.seeds)]} plain sorters"),
        (EVIDENCE, "kinds", f"for {SWEEP.steps:,} steps at {WORDS[len(recipe.RATES)]} rates, from "
         f"{WORDS[len(SWEEP.seeds)]} seeds"),
        (EVIDENCE, "own-rate", f"{WORDS[len(CHOSEN.seeds)].capitalize()} other seeds"),
        (EVIDENCE, "published", f"batches of {PUBLISHED.batch}, at a lower rate, for "
         f"{PUBLISHED.steps:,} steps. Here are {len(PUBLISHED.seeds)} seeds"),
        (EVIDENCE, "rank-text", f"The {len(LIVE.seeds) * len(recipe.TEMPERATURES)} runs of a rank "
         f"are {WORDS[len(LIVE.seeds)]} seeds at {WORDS[len(recipe.TEMPERATURES)]} temperatures"),
        (EVIDENCE, "methods-text", f"seeds {SWEEP.seeds[0]} to {SWEEP.seeds[-1]}, compared on "
         f"{CHOSEN.seeds[0]} to {CHOSEN.seeds[-1]}. The lesson's live seeds are the first "
         f"{WORDS[len(LIVE.seeds)]} of those"),
        (EVIDENCE, "methods-text", f"the first {WORDS[LIVE.steps // LIVE.warmup]} of the steps "
         f"(published: {WORDS[PUBLISHED.steps // PUBLISHED.warmup]})"),
    ],
)  # fmt: skip
def test_a_setting_in_a_sentence_is_the_recipes(page: Path, cell: str, says: str) -> None:
    assert says in text_of(page, cell)


def test_what_the_sentences_say_of_seeds() -> None:
    assert CHOSEN.seeds[: len(LIVE.seeds)] == LIVE.seeds
    assert not {*SWEEP.seeds} & {*CHOSEN.seeds}
    assert PUBLISHED.lr < min(recipe.RATE.values())
    assert LIVE.batch is None  # "uses all 27 inputs"


def test_the_number_of_weights() -> None:
    counts = {v: sum(p.numel() for p in Sorter(Config(v), torch.Generator()).parameters())
              for v in ("gated", "strict", "plain")}  # fmt: skip
    said = "A gated sorter has {gated} weights, a strict one {strict}, a plain one {plain}."
    assert said.format(**counts) in text_of(EVIDENCE, "kinds")
    assert f"It has {counts['gated']} weights, {counts['plain']} without" in text_of(
        LESSON, "title"
    )
    apart = f"plain sorter's {counts['plain']} weights; a gated one has {counts['gated']}."
    assert apart in text_of(LESSON, "try")


def test_a_name_of_the_code_is_not_printed() -> None:
    """What the lesson's training prints is a kind's name as the page has it."""
    assert "claims.NAMES[kind]" in exercises.cells(LESSON)["train-cell"]
    assert claims.NAMES.keys() == recipe.KINDS.keys()


@pytest.mark.slow
def test_the_lessons_labels_leave_the_prompt_out() -> None:
    """As `sorting.loss` on the answer does."""
    cell = exercises.cells(LESSON)["meet-cell"]
    before = cell.partition("for name, labels")[0]
    given = "x, y = (sorting.all_sequences()[:, part] for part in (slice(-1), slice(1, None)))\n"
    scope = exercises.after_setup(LESSON, given + before)
    counted = scope["answer"] != -100
    assert counted[:, sorting.OUTPUTS].all() and counted.sum() == 27 * 3
    model = Sorter(Config("plain"), torch.Generator().manual_seed(0))
    logits = model(sorting.all_sequences()[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.mT, scope["answer"], ignore_index=-100)
    expected = sorting.loss(model, sorting.population(), predictions=sorting.OUTPUTS)
    torch.testing.assert_close(loss, expected)


def test_the_kinds() -> None:
    """The lesson trains four of those that are recorded; all five weights have all six."""
    assert set(claims.LESSON) <= set(recipe.KINDS) == set(recipe.RATE)
    assert {name for name, kind in recipe.KINDS.items() if kind.part == "all"} == set(VARIANTS)
    parts = {name: kind.predictions for name, kind in recipe.KINDS.items()}
    assert parts["plain, knowable"] == sorting.KNOWABLE != parts["plain, answer"]
    assert parts["gated, answer"] == sorting.OUTPUTS and parts["gated"] == sorting.ALL
