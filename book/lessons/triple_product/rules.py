"""What simple rules of copying can reach: yardsticks that stand beside the models'.

A rule looks at some earlier tokens and takes the letter that most of them hold. Which it looks at
is all that tells one from another: those at certain distances, whatever they are; those that
followed the present letter before; those that did so at a distance that a period allows. What
counts is what counts of models: see `measure.copied`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes.tasks.copying import Copying
from book.lessons.triple_product.measure import copied

Sources = Bool[Tensor, "n t t"]
"""For each sequence and position, which tokens the rule looks at to predict the next one."""


class Copies(NamedTuple):
    """Sequences, and which predictions of them count. What stands after those is looked at by none.

    Args:
        vocabulary: how many letters there are.
        x: the sequences, as many of each period.
        counted: of every prediction whether it counts.
    """

    vocabulary: int
    x: Int[Tensor, "n t"]
    counted: Bool[Tensor, "n p"]

    def mean(self, right: Float[Tensor, "n p"]) -> float:
        """Of what counts, each period alike."""
        return ((right * self.counted).sum(1) / self.counted.sum(1)).mean().item()


def draw(task: Copying, n: int, generator: Generator) -> Copies:
    """So many sequences of every period of a task."""
    length = 2 * max(task.periods)
    rows, counted = [], []
    for period in task.periods:
        rows.append(Copying(task.vocabulary, length, (period,)).sample(n, generator))
        counts = torch.zeros(n, length - 1, dtype=torch.bool)
        counts[:, copied(period)] = True
        counted.append(counts)
    return Copies(task.vocabulary, torch.cat(rows), torch.cat(counted))


def votes(x: Int[Tensor, "n t"], sources: Sources, vocabulary: int) -> Float[Tensor, "n t v"]:
    """The share of its votes that a rule gives to each letter; all zero where it looks nowhere."""
    counted = sources.float() @ F.one_hot(x, vocabulary).float()
    leading = (counted == counted.amax(-1, keepdim=True)) & (counted > 0)
    return leading / leading.sum(-1, keepdim=True).clamp(min=1)


def accuracy(copies: Copies, sources: Sources) -> float:
    """How often the rule is right where it counts; among letters that tie it draws lots."""
    x = copies.x
    shares = votes(x[:, :-1], sources[:, :-1, :-1], copies.vocabulary)
    return copies.mean(shares.gather(-1, x[:, 1:, None])[..., 0])


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


def at_distances(x: Int[Tensor, "n t"], distances: tuple[int, ...]) -> Sources:
    """The tokens that stand so many places before the one to be predicted."""
    places = torch.arange(x.shape[1])
    back = places[:, None] + 1 - places
    there = torch.stack([back == distance for distance in distances]).any(0)
    return there.expand(len(x), -1, -1)


class Reach(NamedTuple):
    """How often each rule is right.

    Args:
        place: the best single distance to look back.
        places: a vote over all distances that a period allows.
        fitted: a vote by distance alone, its weights fitted to other sequences; one may be
            negative, so a letter read lately can be ruled out.
        placed: the same, with weights of its own at every place of the sequence.
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
    placed: float
    last: float
    first: float
    vote: float
    near: float
    matched: float
    two: float


def reach(task: Copying, generator: Generator, n: int = 2000) -> Reach:
    """On n sequences of each of a task's periods; weights are fitted to half as many others."""
    copies, others = draw(task, n, generator), draw(task, max(1, n // 2), generator)
    x, one = copies.x, followers(copies.x)
    near = at_distances(x, task.periods)
    return Reach(
        max(accuracy(copies, at_distances(x, (back,))) for back in range(1, x.shape[1])),
        accuracy(copies, near),
        fitted(others, copies),
        fitted(others, copies, places=True),
        accuracy(copies, last(one)),
        accuracy(copies, first(one)),
        accuracy(copies, one),
        accuracy(copies, one & near),
        fitted(others, copies, match=True),
        accuracy(copies, last(followers(x, 2))),
    )


def fitted(given: Copies, fresh: Copies, match: bool = False, places: bool = False) -> float:
    """How often a weighted vote by distance is right on `fresh`, its weights fitted to `given`.

    The logit of a letter is the sum of the weights of the distances at which it stands: logistic
    regression, with a slight pull to zero. What a letter is counts for nothing, so nothing is
    matched; with `match` only those have a vote that followed the present letter. With `places`
    the weights are others at every place.
    """
    t = given.x.shape[1] - 1
    back = (torch.arange(t)[:, None] - torch.arange(t)).clamp(min=0)
    weights = torch.zeros(t if places else 1, t, requires_grad=True)

    def asked(copies: Copies) -> tuple[Tensor, Tensor]:
        """What is known of each sequence: its letters, and which of them have a vote."""
        heard = followers(copies.x)[:, :-1, :-1] if match else torch.ones(len(copies.x), t, t)
        return F.one_hot(copies.x[:, :-1], copies.vocabulary).float(), heard.float()

    def logits(seen: Tensor, heard: Tensor) -> Tensor:
        return (weights.expand(t, t).gather(1, back).tril() * heard) @ seen

    known, share = asked(given), given.counted / given.counted.sum(1, keepdim=True)

    def loss() -> Tensor:
        optimizer.zero_grad()
        losses = F.cross_entropy(logits(*known).transpose(1, 2), given.x[:, 1:], reduction="none")
        found = (losses * share).sum(1).mean() + 1e-4 * weights.square().sum()
        found.backward()
        return found

    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")
    optimizer.step(loss)
    with torch.no_grad():
        guessed = logits(*asked(fresh)).argmax(-1)
        return fresh.mean((guessed == fresh.x[:, 1:]).float())


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
