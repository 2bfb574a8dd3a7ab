"""Sort three letters: the task of the deep QKV sorter.

A sequence is three letters drawn independently and uniformly from a, b, c, a separator, and the
same letters in order, for example `cab|abc`. The model predicts each token from those before it.

The yardstick. The first letter is given. Of the six predictions, the second and third letter
cannot be known (entropy ln 3 each); the separator and the sorted letters can (entropy 0). No
predictor can have a mean loss below

    2 ln 3 / 6 = 0.3662 nats a token,

and one below it must have seen the future.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.tasks.prediction import token_losses

VOCABULARY = ("|", "a", "b", "c")  # the source prints the separator as an empty string
SEP = 0
LETTERS = VOCABULARY[1:]
LETTERS_PER_WORD = 3
LENGTH = 2 * LETTERS_PER_WORD + 1  # three letters, SEP, three sorted letters

# Which of the six predictions: all, those that can be certain, those of a sorted letter.
ALL = slice(None)
KNOWABLE = slice(LETTERS_PER_WORD - 1, None)
OUTPUTS = slice(LETTERS_PER_WORD, None)

FLOOR = 2 * math.log(3) / 6  # nats a predicted token
"""The best mean loss that any predictor can reach."""


def prompt(text: str) -> Int[Tensor, " 4"]:
    """Token ids of three letters and the separator.

    >>> prompt("cab").tolist()
    [3, 1, 2, 0]

    Raises:
        ValueError: `text` is not three of the letters a, b, c.
    """
    if len(text) != LETTERS_PER_WORD or not set(text) <= set(LETTERS):
        raise ValueError("type three letters, each one of a, b, c")
    return torch.tensor([*map(VOCABULARY.index, text), SEP])


def decode(ids: Sequence[int]) -> str:
    """The tokens' characters, joined: `decode([1, 2, 3])` is `"abc"`.

    Raises:
        ValueError: a number that stands for no token.
    """
    allowed.tokens(len(VOCABULARY), ids=torch.tensor(ids))
    return "".join(VOCABULARY[i] for i in ids)


def complete(words: Int[Tensor, "*b 3"]) -> Int[Tensor, "*b 7"]:
    """Append the separator and the sorted letters to words of three letters."""
    sep = torch.full_like(words[..., :1], SEP)
    return torch.cat([words, sep, words.sort(-1).values], -1)


def all_sequences() -> Int[Tensor, "27 7"]:
    """Every sequence of the task, in alphabetical order."""
    letters = range(1, len(VOCABULARY))
    return complete(torch.tensor([*itertools.product(letters, repeat=LETTERS_PER_WORD)]))


def sample(n: int, generator: Generator) -> Int[Tensor, "{n} 7"]:
    """Draw `n` sequences, as the published program does, but from a `Generator`.

    Raises:
        ValueError: `n` is negative or above `allowed.MOST`.
    """
    allowed.whole(0, n=n)
    return all_sequences()[_draw(n, generator)]


def sample_weights(n: int, generator: Generator) -> Float[Tensor, " 27"]:
    """The batch that `sample` draws, as the share of each of the 27 sequences in it.

    A batch of 128 holds at most 27 different sequences. Weighing each once gives the same mean
    loss and the same gradient for a fifth of the arithmetic.

    Raises:
        ValueError: `n` is below 1, which leaves nothing to share, or above `allowed.MOST`.
    """
    allowed.whole(n=n)
    return torch.bincount(_draw(n, generator), minlength=27) / n


def population() -> Float[Tensor, " 27"]:
    """The 27 sequences with equal weight: no sample, the expected loss and its exact gradient."""
    return torch.full((27,), 1 / 27)


def _draw(n: int, generator: Generator) -> Int[Tensor, " {n}"]:
    inputs = len(LETTERS) ** LETTERS_PER_WORD
    return torch.randint(inputs, (n,), generator=generator, device=generator.device)


def forbid_sep(logits: Float[Tensor, "*b v"]) -> Float[Tensor, "*b v"]:
    """Logits with the separator's set to −∞: after the separator only letters can follow."""
    mask = torch.zeros_like(logits, dtype=torch.bool)
    mask[..., SEP] = True
    return logits.masked_fill(mask, -math.inf)


def is_sorted(
    logits: Float[Tensor, "*b 6 4"], sequences: Int[Tensor, "*b 7"]
) -> Bool[Tensor, " *b"]:
    """Whether greedy decoding writes all three letters of each sequence correctly.

    One forward pass on the finished sequence decides it. As long as greedy decoding is right, it
    reads exactly these tokens; at its first mistake this says no, whatever would follow.
    """
    choices = forbid_sep(logits[..., OUTPUTS, :]).argmax(-1)
    return (choices == sequences[..., 1:][..., OUTPUTS]).all(-1)


def loss(
    model: Callable[[Tensor], Tensor], weights: Float[Tensor, " 27"], *, predictions: slice = ALL
) -> Float[Tensor, ""]:
    """Mean cross-entropy in nats a predicted token, over the 27 sequences with these weights.

    The weights are `population()` or drawn by `sample_weights`. `predictions` says which of the
    six count: `ALL`, whose floor is `FLOOR`, or `KNOWABLE` or `OUTPUTS`, whose floor is 0.

    Raises:
        ValueError: none of the six counts.
    """
    counted(predictions)  # which says so where none counts
    sequences = all_sequences()
    losses = token_losses(model(sequences[:, :-1]), sequences)
    return weights @ losses[:, predictions].mean(-1)


def counted_loss(model: Callable[[Tensor], Tensor], batch: dict[str, Tensor]) -> Float[Tensor, ""]:
    """The same over any sequences, in which each prediction counts as much as it is told.

    Args:
        model: from tokens [b, 6] to logits [b, 6, 4].
        batch: `tokens` [b, 7], and `counted` [6], which sums to one.
    """
    tokens = batch["tokens"]
    return token_losses(model(tokens[:, :-1]), tokens).mean(0) @ batch["counted"]


def counted(predictions: slice) -> Float[Tensor, " 6"]:
    """An equal share for each of these predictions, for `counted_loss`.

    Raises:
        ValueError: none of the six is among them.
    """
    among = range(LENGTH - 1)[predictions]
    if not among:
        raise ValueError(f"predictions must have at least one of {LENGTH - 1}, not {predictions}")
    shares = torch.zeros(LENGTH - 1)
    shares[predictions] = 1 / len(among)
    return shares


def probe(model: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Where a model stands: how many of the 27 inputs it sorts, and its loss at each position."""
    sequences = all_sequences()
    logits = model(sequences[:, :-1])
    return {
        "solved": is_sorted(logits, sequences).sum(),
        "losses": token_losses(logits, sequences).mean(0),
    }


def ideal(x: Int[Tensor, "*b t"]) -> Float[Tensor, "*b t v"]:
    """The best predictor, as logits: what cannot be known is even, all else is certain.

    Its loss over all sequences is `FLOOR`; what a trained model does can be held against it.
    """
    n = LETTERS_PER_WORD
    logits = torch.full((*x.shape, len(VOCABULARY)), -50.0)
    logits[..., : n - 1, 1:] = 0
    logits[..., n - 1 : n, SEP] = 0
    right = x[..., :n].sort(-1).values[..., : max(0, x.shape[-1] - n), None]
    logits[..., n:, :] = logits[..., n:, :].scatter(-1, right, 0.0)
    return logits


def entropies(
    sequences: Int[Tensor, "n t"], known: Callable[[tuple[int, ...]], Hashable] = tuple
) -> Float[Tensor, " t-1"]:
    """The least possible loss of each prediction in nats, by counting over equally likely rows.

    The best predictor that knows `known(prefix)` of what stands before a token, and nothing else,
    gives each next token its share among all prefixes that are the same to it, wherever they end.
    By default it knows everything: then these are H(xᵢ₊₁ | x₁ … xᵢ) for i = 1 … t−1, and over
    `all_sequences()` their mean is `FLOOR`, found by enumeration instead of by argument.

    Raises:
        ValueError: no sequence, or one without a token.
    """
    allowed.some(sequences=sequences)
    rows = [
        [(known(tuple(row[:i])), row[i]) for i in range(1, len(row))] for row in sequences.tolist()
    ]
    seen = Counter(state for row in rows for state, _ in row)
    followed = Counter(pair for row in rows for pair in row)
    costs = [[math.log(seen[pair[0]] / followed[pair]) for pair in row] for row in rows]
    return torch.tensor(costs).mean(0)


def proportions(prefix: tuple[int, ...]) -> tuple[int, ...]:
    """All that one layer of attention can tell of a prefix whose positions nobody marks.

    The last token, from which the query comes, and in which proportions the tokens occur: where
    n_c of them are c, a head returns Σ n_c exp(q·k_c) v_c / Σ n_c exp(q·k_c), and twice as many of
    each change nothing. So `a`, `aa` and `aaa` are one and the same.
    """
    counts = [prefix.count(token) for token in range(len(VOCABULARY))]
    common = math.gcd(*counts)
    return (prefix[-1], *(count // common for count in counts))
