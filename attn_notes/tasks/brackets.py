"""Balanced brackets with filler between them: the task of the dialectical head.

The published generator writes a string of n pairs, n drawn evenly from 1 to 6. Where n > 0 it draws
`left` evenly from 0 to n − 1 and puts

    write(n) = fill( "(" + write(left) + ")" + write(n − 1 − left) ),        write(0) = ""

together, where `fill` goes over all characters that stand there, filler of earlier passes among
them, and adds one of a, b and the space after each with probability 0.2. The string is cut at 95
characters. The model predicts each character from those before it, and after the last a space,
which so is both a filler and the end.

The yardstick. Call a pair's level how many calls of `write` it stands in: so many passes go over
it. Level and place of a bracket follow from the brackets before it alone. Of the string that a
bracket grows into, itself and its filler, the length after m passes is

    P₀ = 1 character,      Pₘ₊₁ = 0.8 Pₘ + 0.2 Pₘ ∗ Pₘ        (∗ is the convolution),

since the first pass leaves one or two characters, and each of them goes through m more. So after a
bracket of level m and r characters of filler, one more filler comes with probability
P(length > r + 1) / P(length > r), and what comes else follows from the brackets alone: there are
196 strings of brackets, each with a known probability, and those that begin with what was read
share it out. That is the exact Bayes predictor, and its mean entropy over all that can be read, a
finite sum, is the floor: no predictor that reads no future has a lower loss.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from attn_notes import allowed

VOCABULARY = tuple("()abc _")
OPEN, CLOSE, SPACE, PAD = map(VOCABULARY.index, "() _")
FILLERS = tuple(map(VOCABULARY.index, "ab "))  # c is in the vocabulary and never written
MOST_PAIRS = 8  # each one more is thrice the strings of brackets, and their filler twice as long
LONGEST = 1024  # characters that a string is cut at

Batch = tuple[Int[Tensor, "*b t"], Int[Tensor, "*b t"]]
"""Tokens, and the token that follows each; both padded on the right with PAD."""


def encode(text: str) -> Int[Tensor, " t"]:
    """Token ids of a text.

    >>> encode("(a)").tolist()
    [0, 2, 1]

    Raises:
        ValueError: a character is not in the vocabulary.
    """
    unknown = sorted(set(text) - set(VOCABULARY))
    if unknown:
        raise ValueError(f"only the characters {''.join(VOCABULARY)!r} are known, not {unknown}")
    return torch.tensor([VOCABULARY.index(c) for c in text], dtype=torch.long)


def decode(ids: Sequence[int]) -> str:
    """The tokens' characters, joined, without PAD: `decode([0, 2, 1, 6])` is `"(a)"`.

    Raises:
        ValueError: a number that stands for no token.
    """
    allowed.tokens(len(VOCABULARY), ids=torch.tensor(ids))
    return "".join(VOCABULARY[i] for i in ids if i != PAD)


def depth(tokens: Int[Tensor, "*b t"]) -> Int[Tensor, "*b t"]:
    """How many brackets are open after each token."""
    return ((tokens == OPEN).long() - (tokens == CLOSE).long()).cumsum(-1)


def is_balanced(tokens: Int[Tensor, "*b t"]) -> Bool[Tensor, " *b"]:
    """Whether no bracket is closed before it was opened, and none is left open."""
    opened = depth(F.pad(tokens, (1, 0), value=PAD))
    return (opened >= 0).all(-1) & (opened[..., -1] == 0)


@dataclass(frozen=True)
class Brackets:
    """The task: the generator's settings, how to draw from it, and its best predictor.

    >>> Brackets(pairs=1, filler=0.0).floor  # "()", after whose first bracket all is known
    0.0

    >>> round(Brackets(pairs=2, fewest=2, filler=0.0).floor, 4)  # ln 2 / 4: "(())" or "()()"
    0.1733

    Raises:
        ValueError: no pair, fewer at most than at least, a probability of filler that is not below
            1, or no room for a pair;
            more than `MOST_PAIRS` or `LONGEST`, for which the best predictor would be too large.
    """

    pairs: int = 6  # at most
    max_length: int = 96  # of a string and its end
    filler: float = 0.2
    fewest: int = 1  # pairs at least: as many as at most, and every string has so many

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise ValueError(f"a string has at least one pair, not {self.pairs}")
        if not 0 <= self.filler < 1:
            raise ValueError(f"filler is a probability below 1, not {self.filler}")
        if self.max_length < 3:
            raise ValueError(f"a pair and its end need 3 characters, not {self.max_length}")
        allowed.whole(1, MOST_PAIRS, pairs=self.pairs)
        allowed.whole(1, self.pairs, fewest=self.fewest)
        allowed.whole(3, LONGEST, max_length=self.max_length)

    @property
    def length(self) -> int:
        """Where strings are cut; what `sample` returns is as wide as this."""
        return self.max_length - 1

    def sample(self, n: int, generator: Generator) -> Batch:
        """Draw `n` strings, each the same way as the published generator draws one.

        Raises:
            ValueError: `n` is negative or above `allowed.MOST`.
        """
        allowed.whole(0, n=n)
        if not n:  # of which torch draws none
            empty = torch.empty(0, self.length, dtype=torch.long, device=generator.device)
            return empty, empty.clone()
        device = generator.device
        shares = torch.tensor(self._shapes.shares, dtype=torch.float64, device=device)
        words = torch.multinomial(shares, n, replacement=True, generator=generator)
        brackets = self._shapes.tokens.to(device)[words]
        levels = self._shapes.levels.to(device)[words]
        sizes = (brackets != PAD).double()
        chance = torch.tensor(self.filler, dtype=torch.float64, device=device).expand_as(sizes)
        for level in range(self.pairs):
            grown = torch.binomial(sizes, chance, generator=generator)
            sizes = sizes + grown * (levels > level)
        ends = sizes.long().cumsum(1)
        starts = (ends - sizes.long()).clamp(max=self.length)
        total = ends[:, -1:].clamp(max=self.length)

        # One place more than is kept: what a cut removes is written there.
        choice = torch.randint(
            len(FILLERS), (n, self.max_length), generator=generator, device=device
        )
        x = torch.tensor(FILLERS, device=device)[choice].scatter(1, starts, brackets)
        x[torch.arange(self.max_length, device=device) >= total] = PAD
        y = x[:, 1:].scatter(1, total - 1, SPACE)
        return x[:, :-1], y

    @cached_property
    def floor(self) -> float:
        """The best mean loss that any predictor can reach, in nats a predicted token.

        Exact: the entropy of the next token, summed over every bracket that a string can have and
        every run of filler after it, each with its probability of being read at each place.
        """
        nats = tokens = 0.0
        reached = {"": np.eye(1, self.max_length)[0]}  # probability of ending at 0, 1, ... length
        for prefix in self._states.names:
            here = reached.pop(prefix)
            size, more = self._sizes[self._states.level(prefix)]
            if prefix:
                table = self._predictions[self._states.index[prefix], : len(more)].numpy()
                entropies = -(table * np.log(np.where(table > 0, table, 1))).sum(-1)
                # After the last character that a cut leaves, a space is certain.
                nats += np.convolve(here, more * entropies)[: self.length].sum()
                tokens += np.convolve(here, more)[: self.max_length].sum()
            moved = np.convolve(here, np.append(0, size))[: self.max_length]
            for bracket in "()":
                share = self._states.following(prefix, bracket)
                if share:
                    reached[prefix + bracket] = share * moved
        return float(nats / tokens)

    def ideal(self, x: Int[Tensor, "n t"]) -> Float[Tensor, "n t v"]:
        """The exact Bayes predictor: log-probabilities of the token after each position.

        Where the generator cannot have written what was read, all tokens are even.

        Raises:
            ValueError: x is longer than any string, or has no token, or one of no vocabulary.
        """
        return self._predict(x).log().clamp(min=-50).float()

    def entropies(self, x: Int[Tensor, "n t"]) -> Float[Tensor, "n t"]:
        """What the best predictor cannot know of the token after each position, in nats.

        0 at PAD.

        Raises:
            ValueError: as `ideal`.
        """
        return torch.special.entr(self._predict(x)).sum(-1).float() * (x != PAD)

    def _predict(self, x: Int[Tensor, "n t"]) -> Float[Tensor, "n t v"]:
        n, t = x.shape
        if t > self.length:
            raise ValueError(f"strings have at most {self.length} characters, not {t}")
        if not t:
            raise ValueError("x must have at least one token a string, and has none")
        allowed.tokens(len(VOCABULARY), x=x)
        states, moves = self._states, self._states.moves.to(x.device)
        predictions = self._predictions.to(x.device)
        longest = predictions.shape[1] - 1
        state = x.new_full((n,), states.index[""])
        run = torch.zeros_like(state)
        seen = []
        for token in x.unbind(1):
            state = moves[state, token]
            run = torch.where((token == OPEN) | (token == CLOSE), 0, run + 1).clamp(max=longest)
            seen.append(predictions[state, run])
        found = torch.stack(seen, 1)
        if t == self.length:
            end = F.one_hot(x.new_tensor(SPACE), len(VOCABULARY)).to(found.dtype)
            found[:, -1] = torch.where((state == states.dead)[:, None], found[:, -1], end)
        return found

    @cached_property
    def _shapes(self) -> "_Shapes":
        return _Shapes(self.fewest, self.pairs)

    @cached_property
    def _states(self) -> "_States":
        return _States(self._shapes)

    @cached_property
    def _sizes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each level: P(size = r + 1) and P(size > r), where a bracket's size is 1 + filler.

        By the recursion at the top of this file. Of the empty string, level 0, nothing grows.
        """
        size = np.ones(1)
        found = []
        for _ in range(self.pairs + 1):
            found.append((size, size[::-1].cumsum()[::-1]))
            twice = self.filler * np.append(0, np.convolve(size, size))
            once = (1 - self.filler) * np.append(size, np.zeros(len(size)))
            size = np.trim_zeros(once + twice, "b")
        return found

    @cached_property
    def _predictions(self) -> Float[Tensor, "states r v"]:
        """Probabilities of the next token in each state after r characters of filler."""
        states, v = self._states, len(VOCABULARY)
        table = torch.full((states.dead + 1, len(self._sizes[-1][0]) + 1, v), 1 / v).double()
        for prefix in states.names:
            _, more = self._sizes[states.level(prefix)]
            goes_on = torch.from_numpy(np.append(more[1:], 0) / more)
            here = table[states.index[prefix], : len(more)]
            here.zero_()
            here[:, FILLERS] = goes_on[:, None] / len(FILLERS)
            for token in (OPEN, CLOSE, SPACE):
                here[:, token] += (1 - goes_on) * states.following(prefix, VOCABULARY[token])
        return table


class _Shapes:
    """Every string of brackets that the generator can write, with levels and probability."""

    def __init__(self, fewest: int, pairs: int) -> None:
        found = [
            (word, levels, p / (pairs - fewest + 1))
            for n in range(fewest, pairs + 1)
            for word, levels, p in self._written(n, 1)
        ]
        self.words, self.level_lists, self.shares = zip(*found, strict=True)
        width = 2 * pairs
        self.tokens = torch.stack([encode(word.ljust(width, "_")) for word in self.words])
        self.levels = torch.tensor([[*m, *[0] * (width - len(m))] for m in self.level_lists])

    def _written(self, n: int, level: int) -> list[tuple[str, tuple[int, ...], float]]:
        """What `write(n)` puts together if it leaves out the filler."""
        if n == 0:
            return [("", (), 1.0)]
        return [
            (f"({inner}){outer}", (level, *a, level, *b), p * q / n)
            for left in range(n)
            for inner, a, p in self._written(left, level + 1)
            for outer, b, q in self._written(n - 1 - left, level + 1)
        ]


class _States:
    """The brackets read so far, as states: every beginning of a string of brackets, and `dead`."""

    def __init__(self, shapes: _Shapes) -> None:
        # The share of strings that begin so; with a space behind it, of those that end so.
        self._share = defaultdict[str, float](float)
        self._level = {"": 0}
        for word, levels, p in zip(shapes.words, shapes.level_lists, shapes.shares, strict=True):
            for i in range(len(word) + 2):
                self._share[f"{word} "[:i]] += p
            self._level |= {word[:i]: level for i, level in enumerate(levels, 1)}
        self.names = sorted(self._level, key=len)
        self.index = {prefix: i for i, prefix in enumerate(self.names)}
        self.dead = len(self.names)
        # Which state a token leads to: filler stays, and what cannot be is dead for good.
        self.moves = torch.full((self.dead + 1, len(VOCABULARY)), self.dead)
        for prefix, i in self.index.items():
            if prefix:
                self.moves[i, list(FILLERS)] = i
            for token in (OPEN, CLOSE):
                self.moves[i, token] = self.index.get(prefix + VOCABULARY[token], self.dead)

    def level(self, prefix: str) -> int:
        """The level of the last bracket."""
        return self._level[prefix]

    def following(self, prefix: str, what: str) -> float:
        """How likely a bracket, or a space for the end, comes next once no more filler does."""
        return self._share.get(prefix + what, 0.0) / self._share[prefix]


def trim(batch: Batch) -> tuple[Int[Tensor, "*b u"], Int[Tensor, "*b u"]]:
    """The batch without the columns on the right in which all is PAD.

    Raises:
        ValueError: no string.
    """
    x, y = batch
    allowed.some(strings=x)
    width = int((x != PAD).sum(-1).max())
    return x[..., :width], y[..., :width]


def token_losses(logits: Float[Tensor, "*b t v"], y: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t"]:
    """Cross-entropy of each prediction in nats, 0 where nothing is predicted."""
    losses = F.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="none", ignore_index=PAD)
    return losses.view(y.shape)


def loss(model: Callable[[Tensor], Tensor], batch: Batch) -> Float[Tensor, ""]:
    """Mean cross-entropy in nats a predicted token, over all tokens of the batch alike.

    No number (NaN) where nothing is predicted.
    """
    x, y = batch
    return token_losses(model(x), y).sum() / (y != PAD).sum()
