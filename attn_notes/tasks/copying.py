"""Copy what came before: the task of the triple product.

A sequence of `length` tokens repeats its first `period` tokens again and again; those are drawn
independently and uniformly from the vocabulary. The source has one period, half the length, so
that the second half copies the first. Here the period may also be drawn anew for every sequence,
evenly from several: then where to copy from must be read off the sequence itself.

The yardstick. With V tokens and a known period p, the first p tokens cost ln V each, of which the
first is given and never predicted; what follows costs nothing. With n equally likely periods,
finding out which costs ln n once. So a mean loss can come down to

    (mean of p − 1) · ln V + ln n
    -----------------------------  nats a predicted token,
             length − 1

and a little further: a sequence that has two of the periods by chance need not be told apart. One
of period p' has the period p as well with probability V^−(p' − gcd(p, p')). `Copying.floor` counts
these too and is exact; at the sizes of the lesson they lower it by less than 1e-7.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes import allowed
from attn_notes.tasks.prediction import token_losses


@dataclass(frozen=True)
class Copying:
    """The task: sizes, the best loss, and how to draw from it.

    >>> Copying(vocabulary=16, length=32, periods=(16,)).floor
    1.341...

    Raises:
        ValueError: no period, one below 1 or not below the length, one listed twice, or a
            vocabulary of fewer than two tokens; sizes that are no whole numbers, or too large.
    """

    vocabulary: int = 16
    length: int = 32
    periods: tuple[int, ...] = (16,)

    def __post_init__(self) -> None:
        if not self.periods or not 1 <= min(self.periods) <= max(self.periods) < self.length:
            raise ValueError(
                f"periods must lie between 1 and {self.length - 1}, not {self.periods}"
            )
        if len(set(self.periods)) < len(self.periods):
            raise ValueError(f"every period counts once, but some are listed twice: {self.periods}")
        if self.vocabulary < 2:
            raise ValueError(f"a vocabulary has at least two tokens, not {self.vocabulary}")
        allowed.whole(vocabulary=self.vocabulary, length=self.length)
        for period in self.periods:
            allowed.whole(period=period)

    @cached_property
    def floor(self) -> float:
        """The best mean loss that any predictor can reach, in nats a predicted token; exact.

        It is the entropy of a sequence less that of its first token, shared out. A sequence is as
        probable as its periods make it, Σ V^−p / n over those of the task that it has, so the
        sequences are counted by the set of periods that they have.
        """
        ln_v, n = math.log(self.vocabulary), len(self.periods)
        entropy = 0.0
        for periods, count in self._counts().items():
            ln_each = _log_sum(-p * ln_v for p in periods) - math.log(n)
            entropy -= math.exp(math.log(count) + ln_each) * ln_each
        return (entropy - ln_v) / (self.length - 1)

    def _counts(self) -> dict[frozenset[int], int]:
        """How many sequences have exactly these of the task's periods, for every set that occurs.

        A set of periods ties positions together; V^(groups of tied positions) sequences have all of
        them, and more where a tie implies a further period. Those that have one more are taken off,
        the largest sets first.
        """
        groups: dict[frozenset[int], int] = {}
        waiting = [frozenset([p]) for p in self.periods]
        while waiting:
            tied = _tied(self.length, waiting.pop())
            all_of_them = frozenset(
                p for p in self.periods if all(a == b for a, b in zip(tied, tied[p:], strict=False))
            )
            if all_of_them not in groups:
                groups[all_of_them] = len(set(tied))
                waiting += [all_of_them | {p} for p in self.periods if p not in all_of_them]
        counts: dict[frozenset[int], int] = {}
        for periods in sorted(groups, key=len, reverse=True):
            more = sum(count for other, count in counts.items() if other > periods)
            counts[periods] = self.vocabulary ** groups[periods] - more
        return {periods: count for periods, count in counts.items() if count}

    @property
    def settled(self) -> slice:
        """The predictions of tokens that can be known: from the largest period on."""
        return slice(max(self.periods) - 1, None)

    def sample(self, n: int, generator: Generator) -> Int[Tensor, "{n} {self.length}"]:
        """Draw `n` sequences.

        Raises:
            ValueError: `n` is negative or above `allowed.MOST`.
        """
        allowed.whole(0, n=n)
        device = generator.device
        which = torch.randint(len(self.periods), (n, 1), generator=generator, device=device)
        period = torch.tensor(self.periods, device=device)[which]
        shape = (n, max(self.periods))
        fresh = torch.randint(self.vocabulary, shape, generator=generator, device=device)
        return fresh.gather(1, torch.arange(self.length, device=device) % period)

    def probe(
        self, model: Callable[[Tensor], Tensor], sequences: Int[Tensor, "n t"]
    ) -> dict[str, Tensor]:
        """A model's mean loss on these sequences, and its accuracy on what can be known.

        Raises:
            ValueError: no sequence, or none long enough for anything to be known.
        """
        n, t = sequences.shape
        if not n or t <= max(self.periods):
            raise ValueError(
                f"nothing can be known in {n} sequences of {t} tokens, where a period has up to "
                f"{max(self.periods)}"
            )
        logits = model(sequences[:, :-1])
        right = logits.argmax(-1) == sequences[:, 1:]
        return {
            "loss": token_losses(logits, sequences).mean(),
            "accuracy": right[:, self.settled].float().mean(),
        }

    def ideal(self, x: Int[Tensor, "n t"]) -> Float[Tensor, "n t v"]:
        """The exact Bayes predictor: log-probabilities of the token after each position.

        A period is possible as long as nothing read contradicts it; a possible one's weight is
        the probability V^−min(t, p) of what was read. The next token is then even where a period
        still has fresh ones to come, and certain where it repeats. After what no period allows,
        it is even.

        Raises:
            ValueError: a token that is not in the vocabulary.
        """
        allowed.tokens(self.vocabulary, x=x)
        n, t = x.shape
        v = self.vocabulary
        read = torch.arange(1, t + 1, device=x.device)  # how many tokens have been read
        weights, followers = [], []
        for p in self.periods:
            other = torch.zeros(n, t, device=x.device)
            other[:, p:] = (x[:, p:] != x[:, :-p]).float()
            weight = -read.clamp(max=p).double() * math.log(v)
            weights.append(weight.masked_fill(other.cumsum(1) > 0, -math.inf))
            repeats = F.one_hot(x[:, (read - p).clamp(min=0)], v)
            followers.append(torch.where((read >= p)[:, None], repeats, 1 / v))
        weight = torch.stack(weights).softmax(0)[..., None]
        mixed = (weight * torch.stack(followers)).sum(0)
        return mixed.nan_to_num(1 / v).log().clamp(min=-50).float()


def loss(model: Callable[[Tensor], Tensor], sequences: Int[Tensor, "n t"]) -> Float[Tensor, ""]:
    """Mean cross-entropy in nats a predicted token.

    Raises:
        ValueError: nothing is predicted.
    """
    allowed.some(predicted=sequences[:, 1:])
    return token_losses(model(sequences[:, :-1]), sequences).mean()


def _tied(length: int, periods: Iterable[int]) -> list[int]:
    """For each position the first that must hold the same token if all these are periods."""
    tied = list(range(length))

    def first(i: int) -> int:
        while tied[i] != i:
            tied[i] = tied[tied[i]]
            i = tied[i]
        return i

    for p in periods:
        for i in range(length - p):
            a, b = sorted((first(i), first(i + p)))
            tied[b] = a
    return [first(i) for i in range(length)]


def _log_sum(logs: Iterable[float]) -> float:
    """The logarithm of a sum, of numbers too small to be written, by their logarithms."""
    logs = list(logs)
    most = max(logs)
    return most + math.log(sum(math.exp(x - most) for x in logs))
