"""The checks of the lesson's exercises, and of those of its evidence."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes.models.triple_product import expanded_volume
from attn_notes.tasks.copying import Copying
from book.kit.exercises import Score, WrongError, answered, check, need, number, same, yes_or_no
from book.kit.judgement import Case, Judged
from book.lessons.triple_product import rules


@check
def floor(answer: Callable[[int, int, Sequence[int]], float], draw: Generator) -> str:
    """The floor of copying with equally likely periods, in nats a predicted token."""

    def value_at(vocabulary: int, length: int, periods: tuple[int, ...]) -> float:
        return number(answer(vocabulary, length, periods))

    value, right = value_at(7, 13, (5,)), Copying(7, 13, (5,)).floor
    fresh = math.log(7)
    for wrong, symptom in (
        (5 * fresh / 12, "you count the first token, which is given and never predicted."),
        (4 * fresh / 13, "a sequence of 13 tokens makes 12 predictions."),
        (5 * fresh / 13, "the first token is given and never predicted: 4 fresh of 12."),
        (4 * fresh, "that is the sum over a sequence; the loss is a mean over predictions."),
        (4 * math.log2(7) / 12, "that is in bits; a nat uses the natural logarithm."),
        (-4 * fresh / 12, "a loss is −ln p, which is positive."),
    ):
        need(not same(value, wrong), symptom)
    need(
        same(value, right),
        f"for 7 tokens, length 13 and the one period 5 it should be {right:.5f}, not {value:.5f}.",
    )
    value, right = value_at(7, 13, (3, 5)), Copying(7, 13, (3, 5)).floor
    without = 3 * fresh / 12
    nearly = without + math.log(2) / 12  # a sequence counted as having one period only
    need(
        not same(value, without),
        "right for one period, but with two nobody knows which. What does it cost to find out?",
    )
    need(
        not same(value, without + math.log(2)),
        "finding out the period costs ln n once a sequence, not once a prediction.",
    )
    need(
        same(value, right) or same(value, nearly),
        f"right for one period, but for periods 3 and 5 it should be {nearly:.5f}, or exactly "
        f"{right:.5f}, not {value:.5f}.",
    )
    one = (
        int(torch.randint(20, 90, (), generator=draw)),
        *torch.randint(40, 60, (1,), generator=draw).tolist(),
        tuple(torch.randint(5, 30, (1,), generator=draw).tolist()),
    )
    for sizes, share in (
        (one, 0.0),
        ((16, 24, (6, 7, 8, 9, 10, 11, 12)), 0.5),
        ((29, 31, (7, 11, 13)), 0.5),
        ((3, 7, (2,)), 0.5),
    ):
        need(
            same(value_at(*sizes), Copying(*sizes).floor),
            f"right for some sizes, but not for vocabulary, length, periods = {sizes}.",
            share,
        )
    if same(value, right):
        return "exact, with the sequences that have two periods by chance."
    return (
        "the fresh tokens cost ln V each, but the first, and the period ln n, once. Exactly it is "
        f"a little less where a sequence may have both: {right:.6f} for periods 3 and 5 here, not "
        f"{value:.6f}."
    )


@check
def negative_volume(answer: object, _: Generator) -> str:
    """q, r, k in single precision whose published determinant is negative."""
    if not isinstance(answer, tuple | list | Tensor) or len(answer) != 3:
        raise WrongError("give three vectors: q, r, k.")
    if not all(isinstance(x, Tensor) for x in answer):
        raise WrongError("q, r and k should be torch tensors.")
    q, r, k = answer
    need(
        q.ndim == 1 and q.shape == r.shape == k.shape,
        "q, r and k should be three vectors of one length.",
    )
    need(
        all(x.dtype == torch.float32 for x in (q, r, k)),
        "the vectors should be in single precision: torch.float32.",
    )
    need(bool(torch.cat([q, r, k]).isfinite().all()), "the vectors hold numbers not finite.")
    found = expanded_volume(q[None], k[None], r[None]).item()
    need(
        math.isfinite(found),
        "the expansion overflows for vectors this long: that breaks it too, but not as asked.",
    )
    need(
        found < 0,
        f"the published expansion gives {found:.3g}, which is not negative. Where is the true "
        "volume zero, and which lengths make the rounding large?",
    )
    return f"the square of a volume, and it came out as {found:.3g}."


def _look_back(distance: int) -> Callable[[Tensor], Tensor]:
    """A model that copies what stands `distance` tokens back, whatever the tokens are."""

    def model(x: Tensor) -> Tensor:
        source = x.roll(distance, 1)
        source[:, :distance] = 0
        return 10 * F.one_hot(source, 16).float()

    return model


def _remembered(model: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The same model, which computes nothing a second time: a detector asks again and again."""
    known: dict[tuple[int, ...], Tensor] = {}

    def asked(x: Tensor) -> Tensor:
        key = (*x.shape, *x.flatten().tolist())
        if key not in known:
            known[key] = model(x)
        return known[key].clone()

    return asked


def _tell(reads: bool, ever: bool, fooled: list[int], blank: bool, of: int) -> None:
    """Say by which models a detector was fooled, and what that is a symptom of.

    Args:
        reads: whether the best possible copier was always said to go by content.
        ever: whether it ever was.
        fooled: periods of the models that look back by one of them, and were said to.
        blank: whether a model that knows nothing was.
        of: how many such periods were tried.

    Raises:
        WrongError: it was.
    """
    need(
        not (not ever and len(fooled) == of),
        "you have it the wrong way round: True for every model that counts places, False for the "
        "one that reads.",
    )
    need(
        not (reads and len(fooled) == of),
        "you say True to every model that copies at all. A model that always looks 11 back copies "
        "perfectly at period 12: where does it fail?",
    )
    need(
        ever,
        "the best possible copier of periods 6 to 12 reads the period off the sequence, and you "
        "say that it does not go by content. Do you count the copies only, which can be known?",
    )
    need(reads, "the best possible copier was said to go by content at some times only.")
    need(
        fooled != [6, 12],
        "models that always look 5 or 11 tokens back got away with it: at period 6 both are right. "
        "Do you try another?",
    )
    need(
        fooled != [12],
        "a model that always looks 11 tokens back got away with it: it is right at period 6, too, "
        "of which 12 is a multiple. Which two periods have no distance in common?",
    )
    if len(fooled) == 1:
        raise WrongError(
            f"a model that always looks {fooled[0] - 1} tokens back got away with it. Do you try "
            f"another period than {fooled[0]}?"
        )
    need(
        not fooled,
        f"models that always look {' or '.join(str(p - 1) for p in fooled)} tokens back got away "
        "with it: it is not enough to copy at one of two periods, nor to copy as well, or as "
        "badly, at both.",
    )
    need(
        not blank,
        "a model that knows nothing was said to copy by content: it is as good at one period as at "
        "another, and good at none.",
    )


@check
def by_content(answer: Callable[[Callable[[Tensor], Tensor]], bool], draw: Generator) -> str:
    """Whether a model that has learnt to copy finds its source by content."""

    def verdict(model: Callable[[Tensor], Tensor]) -> bool:
        return yes_or_no(answer(lambda x: model(x)))  # of no name that would tell it

    every = Copying(16, 24, tuple(range(6, 13)))
    ideal = _remembered(every.ideal)
    reads = [verdict(ideal)]
    fooled = []
    for i in torch.randperm(len(every.periods), generator=draw).tolist():
        reads.append(verdict(ideal))
        if verdict(_look_back(every.periods[i] - 1)):
            fooled.append(every.periods[i])
    blank = verdict(lambda x: torch.zeros(*x.shape, 16))
    _tell(all(reads), any(reads), sorted(fooled), blank, len(every.periods))
    return "no model that looks back one distance copies at 7 and at 11."


PERIODS = tuple(range(1, 13))
MOST = 0.3  # a rule's share of copies right that a proposal must stay below
LEAST = 1 / 6 + 5 / 6 / 16
"""What the best of the rules gets against the best proposal.

Every period up to 12 divides one of 7, 8, …, 12, so these six distances together serve all of a
proposal, and one of them a sixth; the rest it guesses right once in 16.
"""


@check
def uncountable(answer: object, _: Generator) -> Score:
    """Probabilities of periods against which no rule that looks back one distance gets far."""
    if not hasattr(answer, "items"):
        raise WrongError("give a dictionary from periods to probabilities.")
    weights = {period: number(weight) for period, weight in answer.items()}
    need(
        all(isinstance(period, int) and period in PERIODS for period in weights),
        f"the periods are whole numbers from {PERIODS[0]} to {PERIODS[-1]}.",
    )
    need(
        all(math.isfinite(w) and w >= 0 for w in weights.values()),
        "a probability is a number, zero or above.",
    )
    need(
        math.isclose(sum(weights.values()), 1, rel_tol=1e-6),
        f"the probabilities should sum to 1, and yours sum to {sum(weights.values()):g}.",
    )
    right = rules.by_distance(Copying(16, 24, PERIODS), weights)
    best = max(right)
    # The nearest of those that are as good but for rounding, in which Pythons differ.
    back = 1 + next(i for i, share in enumerate(right) if math.isclose(share, best))
    need(
        best <= MOST,
        f"the rule that looks {back} places back is right {best:.4f} of the time, and it should be "
        f"at most {MOST}. Which of your periods does {back} serve?",
    )
    said = f"your score is {best:.4f}, by the rule that looks {back} back" + (
        ", and no spread of periods goes lower."
        if math.isclose(best, LEAST, rel_tol=1e-4)
        else f"; the least that any spread can reach is {LEAST:.4f}."
    )
    return Score(said, best, half=MOST, best=LEAST)  # the published one is the best there is


@check
def deaf_to_loudness(answer: Callable[[Tensor, Tensor, Tensor], Tensor], draw: Generator) -> str:
    """A score of shape [i, j] that falls with the angle between key and plane, nothing else."""
    generator = Generator().manual_seed(0)
    q, r = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64)
    k = torch.randn(11, 7, generator=generator, dtype=torch.float64)

    def score(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
        value = answered(answer(q, k, r))
        if not isinstance(value, Tensor) or value.shape != (len(q), len(k)):
            found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise WrongError(
                f"for {len(q)} queries and {len(k)} keys return a tensor ({len(q)}, {len(k)}), "
                f"not {found}."
            )
        need(bool(value.isfinite().all()), "the scores hold numbers that are not finite.")
        return value

    def alike(one: Tensor, other: Tensor) -> bool:
        return torch.allclose(one, other, rtol=1e-4, atol=1e-6)

    plain = score(q, k, r)
    need(float(plain.std()) > 1e-4, "every key gets the same score.")
    need(alike(score(q, 3 * k, r), plain), "a key three times as long gets another score.")
    need(alike(score(q, -k, r), plain), "k and −k make the same angle with a plane; you differ.")
    need(alike(score(2 * q, k, 5 * r), plain), "a longer q or r changes the score.")
    need(
        alike(score(q + r, k, r - 0.3 * q), plain),
        "other vectors q and r of the same plane change the score: is it the plane's angle?",
    )

    def rising(q: Tensor, r: Tensor) -> Tensor:
        """By how much the score changes, step by step, as a key rises out of a plane."""
        across = torch.linalg.qr(torch.stack([q, r], 1), mode="complete").Q.T
        # Not from 0: there rounding may make a cosine larger than 1.
        angles = torch.linspace(0.05, math.pi / 2, 13, dtype=torch.float64)[:, None]
        keys = angles.cos() * across[0] + angles.sin() * across[-1]
        return score(q[None], keys, r[None])[0].diff()

    change = rising(q[0], r[0])
    need(
        not bool((change > 0).all()),
        "you have it upside down: a key in the plane should score highest.",
    )
    need(
        bool((change < 0).all()),
        "a key that rises out of the plane should lose score all the way to the right angle.",
    )
    need(
        alike(score(q, k[:3], r), plain[:, :3]),
        "a key's score depends on which other keys are there.",
    )
    q, r = torch.randn(2, 3, 9, generator=draw, dtype=torch.float64)
    k = torch.randn(6, 9, generator=draw, dtype=torch.float64)
    one, other = score(q, k, r), score(r + q, -2 * k, 3 * q)
    need(
        alike(one, other) and bool((rising(q[0], r[0]) < 0).all()),
        "right so far, but not for vectors of nine numbers.",
    )
    return "the same for every length: only the angle to the plane is left."


FAR = 89  # prime, so that no two periods of a case look alike


@Judged
def counts(draw: Generator) -> Case:
    """How many letters a model copies at each period: does it count places, and which?"""
    seed = draw.initial_seed()
    reads, back = seed % 3 == 2, 7 + (seed // 3 + 3 * (seed % 3) + 3) % 6
    copied = {}
    for period in range(4, 13):
        off = 0.02 + 0.08 * ((seed + 1) * period * FAR % 97) / 97
        copied[period] = round(1 - off if reads or back % period == 0 else off, 2)

    def unexplained(distance: int) -> str:
        """The first period at which counting to a distance does something else."""
        period = next(p for p in sorted(copied) if (distance % p == 0) != (copied[p] > 0.5))
        here, there = (
            ("copies", "does not") if distance % period == 0 else ("does not copy", "does")
        )
        return f"whoever counts to {distance} {here} at {period}, and this model {there}."

    return Case(
        {"copied": copied},
        {"distance": 0.0 if reads else float(back)},
        "it reads" if reads else "it counts",
        {
            "it reads": "it copies at those periods only that one distance serves.",
            "it counts": "no single distance serves all these periods.",
            "it has not learnt": "where it copies, it copies nearly everything.",
        },
        {
            "distance": (
                (
                    (back - 1.0, "the letter that it copies stands one period back, or several."),
                    (0.0, "one distance serves just the periods at which it copies. Which?"),
                )
                if not reads
                else ()
            )
            + tuple(
                (float(d), unexplained(d)) for d in range(1, 13) if reads or not 0 <= back - d < 2
            )
        },
    )
