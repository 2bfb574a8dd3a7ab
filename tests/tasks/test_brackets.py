import math
import random
from collections import Counter, defaultdict
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator
from torch.testing import assert_close

from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import CLOSE, OPEN, PAD, SPACE, VOCABULARY, Brackets


def generator_enumerated(task):
    """What the published generator writes, by its recursion, up to one character beyond the cut.

    Filler is written f, whichever of its three letters it is. All that is done to a string is done
    from left to right, so a beginning of the result needs the same beginning of the parts only.
    """
    room = task.length + 1

    def fill(parts):
        done = defaultdict(float)
        for text, p in parts.items():
            grown = {"": p}
            for character in text:
                longer = defaultdict(float)
                for start, q in grown.items():
                    longer[(start + character)[:room]] += q * (1 - task.filler)
                    longer[(start + character + "f")[:room]] += q * task.filler
                grown = longer
            for whole, q in grown.items():
                done[whole] += q
        return done

    @cache
    def write(n):
        if n == 0:
            return {"": 1.0}
        parts = defaultdict(float)
        for left in range(n):
            for inner, p in write(left).items():
                for outer, q in write(n - 1 - left).items():
                    parts[f"({inner}){outer}"[:room]] += p * q / n
        return fill(parts)

    found, numbers = Counter(), range(task.fewest, task.pairs + 1)
    for n in numbers:
        found.update({text: p / len(numbers) for text, p in write(n).items() if p > 0})
    return found


def following(task):
    """For all that can be read: how likely it is read, under "", and followed by (, ), f, end."""
    found = defaultdict(lambda: defaultdict(float))
    for text, p in generator_enumerated(task).items():
        last = min(len(text), task.length)
        for i in range(1, last + 1):
            found[text[:i]][""] += p
            found[text[:i]]["end" if i == last else text[i]] += p
    return found


FILLERS = list(brackets.FILLERS)
SMALL = [
    Brackets(pairs=1, max_length=7),
    Brackets(pairs=2, max_length=9),
    Brackets(pairs=3, max_length=8, filler=0.35),
    Brackets(pairs=4, max_length=10, filler=0.0),
    Brackets(pairs=6, max_length=8),
    Brackets(pairs=3, max_length=9, fewest=3),
    Brackets(pairs=3, max_length=9, fewest=2, filler=0.1),
]


@pytest.mark.parametrize("task", SMALL)
def test_the_best_predictor_and_its_floor_equal_counting(task):
    chance, rows, right = random.Random(3), defaultdict(list), defaultdict(list)  # by their length
    total = tokens = 0.0
    for text, after in following(task).items():
        expected = torch.zeros(len(VOCABULARY), dtype=torch.float64)
        expected[OPEN], expected[CLOSE] = after["("], after[")"]
        expected[FILLERS] = after["f"] / 3
        expected[SPACE] += after["end"]  # it is filler, too
        written = {"(": [OPEN], ")": [CLOSE], "f": FILLERS}
        rows[len(text)].append([chance.choice(written[c]) for c in text])
        right[len(text)].append(expected / after[""])
        total += after[""] * torch.special.entr(expected / after[""]).sum().item()
        tokens += after[""]
    assert task.floor == pytest.approx(total / tokens, rel=1e-9)
    for length, same in rows.items():
        x, p = torch.tensor(same), torch.stack(right[length])
        assert_close(task.ideal(x)[:, -1].exp().double(), p, rtol=1e-5, atol=1e-6)
        nats = torch.special.entr(p).sum(-1)
        assert_close(task.entropies(x)[:, -1].double(), nats, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("task", SMALL)
def test_samples_follow_the_enumerated_distribution(task):
    n = 20_000
    x, _ = task.sample(n, Generator().manual_seed(5))
    as_written, expected = str.maketrans("ab ", "fff"), Counter()
    drawn = Counter(brackets.decode(row).translate(as_written) for row in x.tolist())
    for text, p in generator_enumerated(task).items():
        expected[text[: task.length]] += n * p
    assert drawn.keys() <= expected.keys()
    counts = [(drawn[text], count) for text, count in expected.items() if count >= 5]
    seldom, rest = (n - sum(each) for each in zip(*counts, strict=True))
    counts += [(seldom, rest)] if rest >= 5 else []
    chi2 = sum((seen - count) ** 2 / count for seen, count in counts)
    freedom = len(counts) - 1  # one sum is given
    # The mean of a chi-square is its freedom, its variance twice that.
    assert chi2 <= freedom + 5 * math.sqrt(2 * freedom) + 1e-9


def test_filler_is_even_among_its_letters():
    x, _ = Brackets().sample(20_000, Generator().manual_seed(1))
    counts = torch.bincount(x.flatten(), minlength=len(VOCABULARY)).double()
    assert counts[VOCABULARY.index("c")] == 0 and counts[OPEN] == counts[CLOSE]
    filler, mean = counts[FILLERS], counts[FILLERS].mean()
    assert ((filler - mean).abs() < 5 * (mean * 2 / 3).sqrt()).all()


def test_the_best_predictor_reads_no_future():
    task = Brackets(pairs=4, max_length=24)
    x, _ = task.sample(13, Generator().manual_seed(3))
    for t in range(1, task.length):
        assert torch.equal(task.ideal(x)[:, :t], task.ideal(x[:, :t]))


def test_what_the_generator_cannot_write_is_followed_by_anything():
    words = (")", "a", "c", "(c", "())", "((()", "()()(", "_", "a(", "((aaaa", "(abababab")
    cut = Brackets(pairs=2, max_length=6)  # the last text is as long as any of its strings
    for task, text in [*((Brackets(pairs=2), word) for word in words), (cut, ")aaaa")]:
        found = task.ideal(brackets.encode(text)[None])[0, -1]
        assert_close(found.exp(), torch.full((7,), 1 / 7))


def test_a_batch_is_padded_and_shifted_by_one():
    task = Brackets(pairs=5, max_length=20)
    x, y = task.sample(997, Generator().manual_seed(2))
    assert x.shape == y.shape == (997, 19)
    lengths = (x != PAD).sum(1)
    assert lengths.max() == 19 and lengths.min() < 10
    for row, target, n in zip(x.tolist(), y.tolist(), lengths.tolist(), strict=True):
        assert PAD not in row[:n] and set(row[n:]) <= {PAD}
        assert target[:n] == [*row[1:n], SPACE] and set(target[n:]) <= {PAD}
    whole = lengths < 19
    assert brackets.is_balanced(x)[whole].all() and not brackets.is_balanced(x).all()
    again, other = (task.sample(997, Generator().manual_seed(seed)) for seed in (2, 3))
    assert torch.equal(x, again[0]) and torch.equal(y, again[1]) and not torch.equal(x, other[0])


def test_trimming_changes_no_loss():
    x, y = Brackets().sample(29, Generator().manual_seed(2))
    short = brackets.trim((x, y))
    assert (short[0][:, -1] != PAD).any() and (x[:, short[0].shape[1] :] == PAD).all()

    model = lambda x: (x[..., None] * torch.arange(1.0, 8)).sin()  # noqa: E731
    assert_close(brackets.loss(model, short), brackets.loss(model, (x, y)))


@given(st.text(alphabet=VOCABULARY, max_size=12))
def test_depth_and_balance(text):
    left = [text[: i + 1].count("(") - text[: i + 1].count(")") for i in range(len(text))]
    tokens = brackets.encode(text)
    assert brackets.depth(tokens).tolist() == left
    balanced = not text or (min(left) >= 0 and left[-1] == 0)
    assert brackets.is_balanced(tokens).item() == balanced
    assert brackets.decode(tokens.tolist()) == text.replace("_", "")
