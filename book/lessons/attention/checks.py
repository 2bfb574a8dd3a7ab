"""The checks of the lesson's exercises."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from attn_notes.tasks.sorting import LETTERS
from book.kit.exercises import answered, check, need
from book.kit.judgement import Case, Judged

SCORES = [*itertools.permutations([0.5 * n for n in range(9)], 3)]
"""Of three letters, all different: the cases of `softmax`."""
FAR = 89  # steps from a case to the next: prime, so that each comes once


@Judged
def softmax(draw: Generator) -> Case:
    """Shares of three scores, then with the mask; and what one point more does to the first."""
    scores = SCORES[draw.initial_seed() * FAR % len(SCORES)]
    a, b, c = (math.exp(score) for score in scores)
    all_three, masked = a / (a + b + c), a / (a + b)
    doubles = math.e * a / (math.e * a + b) > 2 * masked
    return Case(
        {"scores of a, b and c": list(scores)},
        {"all three": all_three, "masked": masked},
        "it doubles, short of e times" if doubles else "it does not double",
        {
            "it doubles, short of e times": "the other share cannot give as much as that.",
            "it does not double": "it begins so small that there is more to gain.",
            "it grows e times": "so does a part of what it is divided by. It grows 2.7 times "
            "against the other, and together they stay one.",
        },
        {
            "all three": (
                (scores[0] / sum(scores), "raise e to each score before you divide."),
                (masked, "that is with the mask already."),
            ),
            "masked": (
                (all_three, "what is left has to add up to one: divide by what is left."),
                (a / (a + b + 1), "a score of 0 is not struck out: e⁰ is 1."),
            ),
        },
        digits=2,
    )


READ = (
    "aaa abb aac abb abb abc aac abc aac abb abb abc abb bbb bcc abc bcc bcc aac abc acc "
    "abc bcc bcc aaa bcc ||c"
)
"""Of the model in the pictures: the letters that head 1 reads, by word in alphabetical order."""


@check
def disagree(answer: Any, _: Generator) -> str:
    """A word, and which of its three letters is written while head 1 reads another."""
    need(
        isinstance(answer, tuple | list) and len(answer) == 2,
        'give a word and which letter, as ("cab", 1).',
    )
    word, n = answer
    need(word is not ... and n is not ..., "there is no answer yet.")
    need((word, n) != ("aab", 2), "that one stands in the text. Find another.")
    words = ["".join(letters) for letters in itertools.product(LETTERS, repeat=3)]
    need(isinstance(word, str) and word in words, "a word is three letters, each a, b or c.")
    need(isinstance(n, int) and n in (1, 2, 3), "which letter that is written: 1, 2 or 3.")
    read, written = READ[4 * words.index(word) + n - 1], sorted(word)[n - 1]
    need(read != written, f"for {word} it reads {_a(read)} and {_a(written)} is written.")
    return f"it reads {_a(read)}, and {_a(written)} is written. Head 2 has a say as well."


def _a(sign: str) -> str:
    return "the bar" if sign == "|" else f"an {sign}" if sign == "a" else f"a {sign}"


@check
def masked(answer: Callable[[Tensor], Tensor], draw: Generator) -> str:
    """Scores of t places for t places, of which each may read itself and those before it."""
    for t in (5, 1, *torch.randint(6, 14, (3,), generator=draw).tolist()):
        scores, may_read = torch.randn(t, t, generator=draw), torch.ones(t, t).tril()
        right = scores.masked_fill(may_read == 0, -math.inf)
        found = answered(answer(scores.clone()))
        need(isinstance(found, Tensor), "return a tensor, as the table of scores is one.")
        need(found.shape == scores.shape, f"of a table of {t} × {t} scores return one as large.")
        found, shares = found.float(), found.float().softmax(-1)
        need(not bool(found.isnan().any()), "there is something that is no number, as 0 · −∞ is.")
        need(not bool(shares.isnan().any()), "a whole row is struck out: a place may read itself.")
        for wrong, symptom in (
            (scores, "nothing is struck out."),
            (may_read, "that is what may be read. Return the scores, with −∞ where it may not."),
            (scores * may_read, "a score of 0 is not struck out, since e⁰ is 1: only −∞ is."),
            (
                right.softmax(-1),
                "these are shares already. Return the scores from before.",
            ),
            (scores.masked_fill(may_read.mT == 0, -math.inf), "is it the other triangle?"),
        ):
            need(t == 1 or not torch.equal(found, wrong), symptom)
        later = (shares * (1 - may_read)).sum().item()
        need(later < 1e-6, "a place reads one that comes later, if only a little.")
        need(
            torch.allclose(shares, right.softmax(-1), atol=1e-6),
            f"of a table of {t} × {t}: what may be read should keep its score.",
        )
    return "each place reads itself and what stands before it, as its scores say."
