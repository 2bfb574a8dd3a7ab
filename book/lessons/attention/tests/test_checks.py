"""The lesson's checks let every right answer pass; wrong.py has the wrong ones."""

import math

import pytest
import torch

from attn_notes.tasks import sorting
from book.lessons.attention import checks, evidence, measure
from tests.exercises import answer_of


def later(scores):
    return torch.ones_like(scores).triu(1) > 0


MASKS = [
    lambda scores: scores.masked_fill_(later(scores), -torch.inf),  # in place
    lambda scores: scores.double().masked_fill(later(scores), -torch.inf),
    lambda scores: scores - 1e9 * later(scores),
]


@pytest.mark.parametrize("answer", MASKS)
def test_other_masks_pass(answer):
    assert checks.masked(answer).passed


def test_eleven_of_81_disagree_and_each_counts_but_the_one_in_the_text():
    model, texts = evidence.model("mask"), measure.texts()
    shares = model.whole(texts).attention[:, 0, 3:]
    read = [sorting.decode(row) for row in texts.gather(1, shares.argmax(-1)).tolist()]
    assert " ".join(read) == checks.READ
    pairs = zip(map(sorting.decode, texts[:, :3].tolist()), read, strict=True)
    every = {(word, n): (word, n, seen) for word, seen in pairs for n in (1, 2, 3)}
    found = {one for one, (w, n, seen) in every.items() if seen[n - 1] != sorted(w)[n - 1]}
    assert len(found) == 11 == 81 - measure.found(model).sum()
    assert {one for one in every if checks.disagree(one).passed} == found - {("aab", 2)}
    assert "the bar" in checks.disagree(("ccc", 1)).message


@pytest.mark.parametrize("case", range(0, 500, 25))
def test_a_point_more_doubles_only_what_is_small_and_two_digits_will_do(case):
    """A share s becomes e s / (e s + 1 − s), which is 2 s where s = (e − 2) / (2 e − 2)."""
    right = answer_of(checks.softmax, case)
    small = right["masked"] < (math.e - 2) / (2 * math.e - 2)
    assert (right["verdict"] == "it doubles, short of e times") == small
    rounded = {name: round(right[name], 2) for name in ("all three", "masked")}
    assert checks.softmax((case, right | rounded)).passed
    assert not checks.softmax((case, right | {"masked": rounded["masked"] + 0.01})).passed
