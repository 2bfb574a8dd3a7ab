"""What simple rules of copying can reach: yardsticks that stand beside the models'.

A rule looks at some earlier tokens and takes the letter that most of them hold. Which it looks at
is all that tells one from another: those at certain distances, whatever they are; those that
followed the present letter before; those that did so at a distance that a period allows.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes.tasks.copying import Copying

Sources = Bool[Tensor, "n t t"]
"""For each sequence and position, which tokens the rule looks at to predict the next one."""


def votes(x: Int[Tensor, "n t"], sources: Sources, vocabulary: int) -> Float[Tensor, "n t v"]:
    """The share of its votes that a rule gives to each letter; all zero where it looks nowhere."""
    counted = sources.float() @ F.one_hot(x, vocabulary).float()
    leading = (counted == counted.amax(-1, keepdim=True)) & (counted > 0)
    return leading / leading.sum(-1, keepdim=True).clamp(min=1)


def accuracy(task: Copying, x: Int[Tensor, "n t"], sources: Sources) -> float:
    """How often the rule is right where it can be known; among letters that tie it draws lots."""
    right = votes(x[:, :-1], sources[:, :-1, :-1], task.vocabulary).gather(-1, x[:, 1:, None])
    return right[:, task.settled].mean().item()


def followers(x: Int[Tensor, "n t"], letters: int = 1) -> Sources:
    """The tokens that followed the present letter before, or the present few, read in order."""
    n, t = x.shape
    same = torch.ones(n, t, t, dtype=torch.bool, device=x.device)
    for back in range(letters):
        # Token s followed: the letters before it are compared with those up to position i.
        ours, theirs = x.roll(back, 1), x.roll(back + 1, 1)
        same &= ours[:, :, None] == theirs[:, None, :]
    places = torch.arange(t, device=x.device)
    return same & (places >= letters) & (places <= places[:, None])


def last(sources: Sources) -> Sources:
    """Of what a rule looks at, only the latest."""
    places = torch.arange(sources.shape[-1], device=sources.device)
    latest = torch.where(sources, places, -1).amax(-1, keepdim=True)
    return sources & (places == latest)


def first(sources: Sources) -> Sources:
    """Of what a rule looks at, only the earliest."""
    places = torch.arange(sources.shape[-1], device=sources.device)
    earliest = torch.where(sources, places, len(places)).amin(-1, keepdim=True)
    return sources & (places == earliest)


def at_distances(task: Copying) -> Bool[Tensor, "t t"]:
    """The tokens that stand one of the task's periods before the one to be predicted."""
    places = torch.arange(task.length)
    back = places[:, None] + 1 - places
    return torch.stack([back == p for p in task.periods]).any(0)


NOISE = 0.01
"""What two sets of sequences may make of one rule."""


class Reach(NamedTuple):
    """How often each rule is right where the next letter can be known.

    Args:
        place: the best single distance to look back.
        places: a vote over all distances that a period allows.
        fitted: a vote by distance alone, its weights fitted to half as many others; one
            may be negative, so a letter read lately can be ruled out.
        last: the token that followed the present letter last.
        first: the token that followed it first.
        vote: a vote over all that followed it.
        near: a vote over those that did so at a distance that a period allows.
        matched: a vote over all that did so, weighed by distance as `fitted` is.
        two: the token that followed the present two letters last.
    """

    place: float
    places: float
    fitted: float
    last: float
    first: float
    vote: float
    near: float
    matched: float
    two: float

    @property
    def easiest(self) -> float:
        """The best that goes by distance alone, or by one letter with every distance alike."""
        return max(self.fitted, self.last, self.first, self.vote, self.near)

    def exceeded(self, right: float) -> bool:
        """Whether somebody is clearly more often right than by one letter and its distance."""
        return right > max(self.easiest, self.matched + NOISE)


def reach(task: Copying, generator: Generator, n: int = 3000) -> Reach:
    """On n sequences of a task; the single distance exactly."""
    x = task.sample(n, generator)
    one, near = followers(x), at_distances(task)
    others = task.sample(max(1, n // 2), generator)
    return Reach(
        max(by_distance(task, dict.fromkeys(task.periods, 1 / len(task.periods)))),
        accuracy(task, x, near.expand(n, -1, -1)),
        fitted(task, others, x),
        accuracy(task, x, last(one)),
        accuracy(task, x, first(one)),
        accuracy(task, x, one),
        accuracy(task, x, one & near),
        fitted(task, others, x, match=True),
        accuracy(task, x, last(followers(x, 2))),
    )


def fitted(
    task: Copying, x: Int[Tensor, "n t"], fresh: Int[Tensor, "k t"], match: bool = False
) -> float:
    """How often a weighted vote by distance is right on `fresh`, its weights fitted to x.

    The logit of a letter is the sum of the weights of the distances at which it stands: logistic
    regression, with a slight pull to zero. What a letter is counts for nothing, so nothing is
    matched; with `match` only those have a vote that followed the present letter.
    """
    t = task.length - 1
    places = torch.arange(t)
    back = (places[:, None] - places).clamp(min=0)
    weights = torch.zeros(t, requires_grad=True)
    known = task.settled

    def asked(x: Tensor) -> tuple[Tensor, Tensor]:
        """What is known of each sequence: its letters, and which of them have a vote."""
        heard = followers(x)[:, :-1, :-1] if match else torch.ones(len(x), t, t)
        return F.one_hot(x[:, :-1], task.vocabulary).float(), heard.float()[:, known]

    def logits(seen: Tensor, heard: Tensor) -> Tensor:
        return (weights[back].tril()[known] * heard) @ seen

    given = asked(x)
    right = x[:, 1:][:, known].flatten()

    def loss() -> Tensor:
        optimizer.zero_grad()
        votes = logits(*given).flatten(0, 1)
        found = F.cross_entropy(votes, right) + 1e-4 * weights.square().sum()
        found.backward()
        return found

    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")
    optimizer.step(loss)
    with torch.no_grad():
        guessed = logits(*asked(fresh)).argmax(-1)
        return (guessed == fresh[:, 1:][:, known]).float().mean().item()


# --- One distance, counted


def by_distance(task: Copying, weights: Mapping[int, float]) -> list[float]:
    """How often a copy from D places back is right where it can be known, for D = 1, 2 and on.

    Counted over every sequence, each period as likely as its weight says: at a multiple of the
    period the copy is right, elsewhere it is another fresh letter, right once in V. Where nothing
    stands D places back the rule is wrong. The task's own periods say only from where on a token
    can be known.
    """
    copies = range(max(task.periods), task.length)
    found = []
    for back in range(1, task.length):
        reached = sum(t >= back for t in copies) / len(copies)
        right = sum(w * (1 if back % p == 0 else 1 / task.vocabulary) for p, w in weights.items())
        found.append(reached * right)
    return found
