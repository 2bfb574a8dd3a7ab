"""The lesson's checks tell a wrong answer by its symptom and let every right one pass."""

import math

import pytest
import torch

from attn_notes.chapters.attention import checks, evidence, measure
from attn_notes.tasks import sorting

CASE = 0
RIGHT = checks.softmax.solved(CASE)


def triangle(scores):
    return torch.ones(len(scores), len(scores)).tril()


def struck(scores, later):
    return scores.masked_fill(later == 1, -math.inf)


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.softmax, (CASE, {**RIGHT, "all three": 0.0}), "raise e to each score before"),
        (checks.softmax, (CASE, {**RIGHT, "masked": RIGHT["all three"]}), "add up to one"),
        (checks.softmax, (CASE, {**RIGHT, "masked": 1 / (2 + math.e**0.5)}), "e⁰ is 1"),
        (checks.softmax, (CASE, {**RIGHT, "verdict": "it grows 2.7 times"}), "against the other"),
        (checks.disagree, ("cab", 1), "for cab it reads an a and an a is written"),
        (checks.disagree, ("aab", 0), "1, 2 or 3"),
        (checks.disagree, ("aad", 2), "three letters, each a, b or c"),
        (checks.disagree, "aab", 'as ("cab", 1)'),
        (checks.disagree, (..., ...), "no answer yet"),
        (checks.disagree, ("aab", 2), "stands in the text"),
        (checks.masked, None, "no answer yet"),
        (checks.masked, lambda scores: None, "no answer yet"),
        (checks.masked, lambda scores: scores[0], "of a table of 5 × 5"),
        (checks.masked, lambda scores: scores, "nothing is struck out"),
        (checks.masked, triangle, "what may be read"),
        (checks.masked, lambda scores: scores * triangle(scores), "e⁰ is 1"),
        (checks.masked, lambda scores: struck(scores, triangle(scores)), "a whole row"),
        (checks.masked, lambda scores: struck(scores, triangle(scores).tril(-1)), "other triangle"),
        (checks.masked, lambda scores: struck(scores, triangle(scores).mT), "a whole row"),
        (
            checks.masked,
            lambda scores: struck(scores, 1 - triangle(scores))[:5, :5],
            "one as large",
        ),
        (checks.masked, lambda scores: scores + triangle(scores).mT.triu(1) * -5, "if only a"),
        (checks.masked, lambda scores: scores + (1 - triangle(scores)) * -math.inf, "0 · −∞"),
        (
            checks.masked,
            lambda scores: struck(scores, 1 - triangle(scores)).softmax(-1),
            "shares already",
        ),
        (checks.masked, lambda scores: struck(2 * scores, 1 - triangle(scores)), "keep its score"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom: str) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message


def in_place(scores):
    for i in range(len(scores)):
        scores[i, i + 1 :] = -torch.inf
    return scores


@pytest.mark.parametrize(
    "answer",
    [
        in_place,
        lambda scores: scores - 1e9 * (1 - triangle(scores)),
        lambda s: in_place(s.double()),
    ],
)
def test_other_masks_pass(answer) -> None:
    assert checks.masked(answer).passed


def test_eleven_of_81_disagree_and_each_counts_but_the_one_in_the_text() -> None:
    """By the model of the pictures."""
    model, texts = evidence.model("mask"), measure.texts()
    shares = model.whole(texts).attention[:, 0, 3:]
    read = [sorting.decode(row) for row in texts.gather(1, shares.argmax(-1)).tolist()]
    assert " ".join(read) == checks.READ
    words = [sorting.decode(row) for row in texts[:, :3].tolist()]
    found = {
        (word, n)
        for word, seen in zip(words, read, strict=True)
        for n in (1, 2, 3)
        if seen[n - 1] != sorted(word)[n - 1]
    }
    assert len(found) == 11 == 81 - measure.found(model).sum()
    every = {(word, n) for word in words for n in (1, 2, 3)}
    assert {one for one in every if checks.disagree(one).passed} == found - {("aab", 2)}
    assert "the bar" in checks.disagree(("ccc", 1)).message


@pytest.mark.parametrize("case", range(20))
def test_a_point_more_doubles_only_what_is_small(case: int) -> None:
    """A share s becomes e s / (e s + 1 − s), which is 2 s where s = (e − 2) / (2 e − 2)."""
    right = checks.softmax.solved(case)
    small = right["masked"] < (math.e - 2) / (2 * math.e - 2)
    assert (right["verdict"] == "it more than doubles") == small
