import math
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

Distribution = dict[str, float]


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

    found = defaultdict(float)
    numbers = range(task.fewest, task.pairs + 1)
    for n in numbers:
        for text, p in write(n).items():
            found[text] += p / len(numbers)
    return {text: p for text, p in found.items() if p > 0}


def following(task):
    """For all that can be read: how likely it is read, under "", and followed by (, ), f, end."""
    found = defaultdict(lambda: defaultdict(float))
    for text, p in generator_enumerated(task).items():
        for i in range(1, min(len(text), task.length) + 1):
            ends = i == min(len(text), task.length)
            found[text[:i]][""] += p
            found[text[:i]]["end" if ends else text[i]] += p
    return found


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
def test_the_best_predictor_equals_counting(task) -> None:
    generator = Generator().manual_seed(3)
    rows, right, nats = (defaultdict(list) for _ in range(3))  # by their length
    for text, after in following(task).items():
        letters = torch.tensor(brackets.FILLERS)[
            torch.randint(3, (len(text),), generator=generator)
        ]
        x = torch.where(torch.tensor([c == "f" for c in text]), letters, 0)
        x = torch.where(torch.tensor([c == ")" for c in text]), CLOSE, x)
        expected = torch.zeros(len(VOCABULARY), dtype=torch.float64)
        expected[OPEN], expected[CLOSE] = after["("], after[")"]
        expected[list(brackets.FILLERS)] = after["f"] / 3
        expected[SPACE] += after["end"]
        expected /= after[""]
        rows[len(text)].append(x)
        right[len(text)].append(expected)
        nats[len(text)].append(-sum(p * math.log(p) for p in expected.tolist() if p > 0))
    for length, same in rows.items():
        x = torch.stack(same)
        found = task.ideal(x)[:, -1].exp().double()
        assert_close(found, torch.stack(right[length]), rtol=1e-5, atol=1e-6)
        assert task.entropies(x)[:, -1].tolist() == pytest.approx(nats[length], abs=1e-6)


@pytest.mark.parametrize("task", SMALL)
def test_the_floor_equals_counting(task) -> None:
    nats = tokens = 0.0
    for after in following(task).values():
        p = after.pop("")
        filler = after.pop("f", 0.0) / 3
        shares = [*after.values(), filler, filler, filler]
        if filler or "end" in after:  # the space is both
            shares = [after.get("(", 0.0), after.get(")", 0.0), filler, filler]
            shares.append(filler + after.get("end", 0.0))
        nats -= sum(q * math.log(q / p) for q in shares if q > 0)
        tokens += p
    assert task.floor == pytest.approx(nats / tokens, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("task", SMALL)
def test_samples_follow_the_enumerated_distribution(task) -> None:
    n = 20_000
    x, _ = task.sample(n, Generator().manual_seed(5))
    as_written = str.maketrans("ab ", "fff")
    drawn = Counter(brackets.decode(row).translate(as_written) for row in x.tolist())
    expected = defaultdict(float)
    for text, p in generator_enumerated(task).items():
        expected[text[: task.length]] += n * p
    assert drawn.keys() <= expected.keys()
    common = [text for text, count in expected.items() if count >= 5]
    rest = n - sum(expected[text] for text in common)
    chi2 = sum((drawn[text] - expected[text]) ** 2 / expected[text] for text in common)
    if rest >= 5:
        chi2 += (sum(drawn[text] for text in drawn.keys() - set(common)) - rest) ** 2 / rest
    freedom = len(common) - (rest < 5)  # one sum is given
    # The mean of a chi-square is its freedom, its variance twice that.
    assert chi2 <= freedom + 5 * math.sqrt(2 * freedom) + 1e-9


def test_filler_is_even_among_its_letters() -> None:
    x, _ = Brackets().sample(20_000, Generator().manual_seed(1))
    counts = torch.bincount(x.flatten(), minlength=len(VOCABULARY)).double()
    assert counts[VOCABULARY.index("c")] == 0 and counts[OPEN] == counts[CLOSE]
    filler = counts[list(brackets.FILLERS)]
    mean = filler.mean()
    assert ((filler - mean).abs() < 5 * (mean * 2 / 3).sqrt()).all()


def test_the_best_predictor_reads_no_future() -> None:
    task = Brackets(pairs=4, max_length=24)
    x, _ = task.sample(13, Generator().manual_seed(3))
    for t in range(1, task.length):
        assert torch.equal(task.ideal(x)[:, :t], task.ideal(x[:, :t]))


def test_what_the_generator_cannot_write_is_followed_by_anything() -> None:
    whole, cut = Brackets(pairs=2), Brackets(pairs=2, max_length=6)
    for text in (")", "a", "c", "(c", "())", "((()", "()()(", "_", "a(", "((aaaa", "(abababab"):
        found = whole.ideal(brackets.encode(text)[None])[0, -1]
        assert_close(found.exp(), torch.full((7,), 1 / 7))
    found = cut.ideal(brackets.encode(")aaaa")[None])[0, -1]  # as long as any string
    assert_close(found.exp(), torch.full((7,), 1 / 7))


def test_a_batch_is_padded_and_shifted_by_one() -> None:
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
    again = task.sample(997, Generator().manual_seed(2))
    assert torch.equal(x, again[0]) and torch.equal(y, again[1])
    assert not torch.equal(x, task.sample(997, Generator().manual_seed(3))[0])


def test_trimming_changes_no_loss() -> None:
    x, y = Brackets().sample(29, Generator().manual_seed(2))
    short = brackets.trim((x, y))
    assert (short[0][:, -1] != PAD).any() and (x[:, short[0].shape[1] :] == PAD).all()

    def model(x):
        return torch.sin(x[..., None] * torch.arange(1.0, 8))

    assert_close(brackets.loss(model, short), brackets.loss(model, (x, y)))


@given(st.text(alphabet=VOCABULARY, max_size=12))
def test_depth_and_balance(text) -> None:
    open_after, balanced = [], True
    for character in text:
        before = open_after[-1] if open_after else 0
        open_after.append(before + {"(": 1, ")": -1}.get(character, 0))
        balanced &= open_after[-1] >= 0
    tokens = brackets.encode(text)
    assert brackets.depth(tokens).tolist() == open_after
    assert brackets.is_balanced(tokens).item() == (balanced and (open_after or [0])[-1] == 0)
    assert brackets.decode(tokens.tolist()) == text.replace("_", "")
