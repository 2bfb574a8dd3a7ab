"""What the pages say in words of its settings, held against the recipe and the records."""

import re

import pytest

from attn_notes.analysis import results, statistics
from attn_notes.chapters.dialectical import claims, recipe

from ... import exercises

LESSON = exercises.ROOT / "book" / "dialectical.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "dialectical.ipynb"
WORDS = [
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"
]  # fmt: skip


def prose(path: object) -> str:
    """All cells of a page as one line."""
    return " ".join(" ".join(exercises.cells(path).values()).split())  # type: ignore[arg-type]


def parameters(record: str, kind: str) -> int:
    found: int = results.load(f"dialectical_{record}")["runs"][kind]["parameters"]
    return found


RECORDED, LIVE, FULL = recipe.RECORDED, recipe.LIVE, recipe.FULL
OTHER_RATE = recipe.RATES["no tension gate"]
LESSON_SAYS = [
    f"start from the same {WORDS[LIVE.seeds]} seeds",
    f"{parameters('parts', 'published'):,} parameters, a fifteenth of the author's "
    f"{parameters('published', 'published'):,}",
    f"begins again, {WORDS[recipe.PUBLISHED.steps]} times",
    f"for _ in range({recipe.PUBLISHED.steps}):",
    f"width={recipe.PUBLISHED.width}, d={recipe.PUBLISHED.head_dim}",
    f"*floor*, can be worked out exactly: {recipe.TASK.floor:.3f} nats",
    "one to six pairs of brackets",
]
EVIDENCE_SAYS = [
    f"Of every kind {WORDS[RECORDED.seeds]} seeds were trained for {RECORDED.steps} steps of "
    f"{RECORDED.batch} strings, and are judged on {recipe.HELD_OUT:,} strings",
    f"rises in {RECORDED.warmup} steps and then falls along a cosine to a tenth",
    f"best of {WORDS[len(recipe.TRIED)]} for each kind",
    f"{OTHER_RATE:g} with no tension gate, {LIVE.lr:g} for all others",
    f"{WORDS[RECORDED.seeds].capitalize()} seeds each, on {recipe.PROBED} strings",
    f"of all {RECORDED.seeds**2} pairs",
    f"The {WORDS[len(claims.PARTS)]} comparisons of losses",
    f"so are the {WORDS[len(recipe.TOLD)]} of halting",
    f"A sign test of {WORDS[RECORDED.seeds]} seeds has a least p of "
    f"{2 / 2**RECORDED.seeds:.4f}",
    f"Up to {statistics.ROUNDING:g} is put down to rounding",
    f"is swept on {recipe.SWEPT:,} strings",
    rf"$\tau_0 = {recipe.WHOLE.tension_tau:g}$",
    f"by less than {recipe.WHOLE.halt_eps:.4f} of its length",
    f"strings cut at {recipe.FULL_SIZE.length} characters, {WORDS[FULL.seeds]} seeds",
    f"Strings are cut at {recipe.TASK.length} characters here",
    f"up to {WORDS[recipe.LONGEST_PROMPT]} characters",
    f"by {WORDS[recipe.WRITERS]} seeds of each model",
    f"one string of {recipe.TASK.length} characters",
]  # fmt: skip


@pytest.mark.parametrize("said", LESSON_SAYS)
def test_the_lesson_says_what_the_recipe_says(said: str) -> None:
    assert said in prose(LESSON)


@pytest.mark.parametrize("said", EVIDENCE_SAYS)
def test_the_evidence_says_what_the_recipe_says(said: str) -> None:
    assert said in prose(EVIDENCE)


def test_no_sentence_in_a_module_has_a_setting_in_words() -> None:
    """Nor a cell: a number of seeds or strings in `claims`, `figures`, `tables` is computed."""
    for room in ("claims", "figures", "tables"):
        source = (exercises.ROOT / f"attn_notes/chapters/dialectical/{room}.py").read_text("utf-8")
        found = re.findall(r"\b(?:eight|three|\d[\d,]*) (?:recorded )?(?:seeds|strings)\b", source)
        assert not found, (room, found)
        assert f"{recipe.NEAR} nats" not in source, room
