"""The lesson's checks let every right answer pass; wrong.py has the wrong ones."""

import math

import pytest
import torch

from attn_notes.tasks import sorting
from book.lessons.attention import checks, evidence, measure
from tests.exercises import answer_of


def in_place(scores):
    for i in range(len(scores)):
        scores[i, i + 1 :] = -torch.inf
    return scores


MASKS = [
    in_place,
    lambda scores: scores - 1e9 * torch.ones_like(scores).triu(1),
    lambda s: in_place(s.double()),
]


@pytest.mark.parametrize("answer", MASKS)
def test_other_masks_pass(answer) -> None:
    assert checks.masked(answer).passed


def test_eleven_of_81_disagree_and_each_counts_but_the_one_in_the_text() -> None:
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
    right = answer_of(checks.softmax, case)
    small = right["masked"] < (math.e - 2) / (2 * math.e - 2)
    assert (right["verdict"] == "it doubles, short of e times") == small


@pytest.mark.parametrize("case", range(0, 500, 25))
def test_numbers_may_be_rounded_to_two_digits(case: int) -> None:
    right = answer_of(checks.softmax, case)
    rounded = {name: round(right[name], 2) for name in ("all three", "masked")}
    assert checks.softmax((case, right | rounded)).passed
    off = right | {"masked": rounded["masked"] + 0.01}
    assert not checks.softmax((case, off)).passed
