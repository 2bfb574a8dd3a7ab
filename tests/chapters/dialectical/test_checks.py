"""The chapter's checks tell a wrong answer by its symptom and let every right one pass."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from attn_notes.analysis.leaks import future_leak
from attn_notes.chapters.dialectical import checks
from attn_notes.tasks.brackets import Brackets

LETTERS = set("()abc ")


def entropy(*probabilities):
    return -sum(p * math.log(p) for p in probabilities)


def inside(p):
    """What comes after the first bracket, given the filler's probability."""
    return entropy(p, 1 - p) + p * math.log(3)


def outside(p):
    return entropy(p / 3, p / 3, 1 - 2 * p / 3)


def answers(x):
    """Each token, as logits: reads nothing but its own place."""
    return torch.nn.functional.one_hot(x, 7).float()


def fail(*_: object) -> None:
    raise RuntimeError("boom")


def past(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)


def right_mask(scores, keep):
    itself = torch.eye(len(keep)).bool()
    return past(scores).masked_fill(~(keep | itself), -math.inf)


def as_published(scores, keep):
    padding = (~keep).float() * -math.inf
    return torch.nan_to_num(past(scores) + padding, nan=0.0, neginf=-1e9)


def only_the_ends(scores, keep):
    real = keep.nonzero()
    inside = torch.ones_like(keep)
    inside[: int(real[0])] = inside[int(real[-1]) + 1 :] = False
    return right_mask(scores, inside)


def not_quite(scores, keep):
    return right_mask(scores, keep).clamp(min=-5)


def without_itself(scores, keep):
    before = torch.ones_like(scores).tril(-1).bool()
    before[0, 0] = before[1, 1] = before[2, 2] = True
    return right_mask(scores, keep).masked_fill(~before, -math.inf)


def first_only_finite(scores, keep):
    """All that is masked gets −1e9, and a token itself is: the first one has nothing better."""
    past = torch.ones_like(scores).tril(-1).bool()
    return scores.masked_fill(~(past & keep), -1e9)


def inverted(scores, keep):
    return past(scores).masked_fill(keep, -math.inf)


def ok(keep):
    return torch.ones(len(keep), len(keep)).tril() * keep


def changes_its_input(scores, keep):
    scores[~keep] = 0
    return past(scores)


def next_token_only(model):
    x = torch.zeros(1, 6, dtype=torch.long)
    changed = x.clone()
    changed[:, 3] = 1
    return bool((model(x)[:, 2] != model(changed)[:, 2]).any())


def changes_one(model):
    x = torch.zeros(1, 6, dtype=torch.long)
    for j in (3, 4):
        changed = x.clone()
        changed[:, j] = 1
        if (model(x)[:, :j] != model(changed)[:, :j]).any():
            return True
    return False


def by_subtraction(model):
    x = torch.zeros(1, 6, dtype=torch.long)
    changed = torch.cat([x[:, :2], 1 + x[:, 2:]], 1)
    return not bool((model(x)[:, :2] - model(changed)[:, :2]).abs().max() < 1e-6)


def one_cut(model, cut, tokens=range(1, 7)):
    x = torch.zeros(1, 6, dtype=torch.long)
    for token in tokens:
        changed = x.clone()
        changed[:, cut:] = token
        if (model(x)[:, :cut] != model(changed)[:, :cut]).any():
            return True
    return False


def without_letters(model):
    return any(one_cut(model, i, (1, 6)) for i in range(1, 6))


def without_padding(model):
    return future_leak(model, torch.zeros(1, 6, dtype=torch.long), 6) > 0


def may(depth, remaining):
    found = set()
    if depth + 1 <= remaining - 1:
        found.add("(")
    if depth >= 1:
        found.add(")")
    if depth <= remaining - 1:
        found |= set("abc ")
    if depth == 0:
        found.add(" ")
    return found


RIGHT = (inside(0.25) + outside(0.25)) / 2.5  # two predictions of either kind, and half a filler


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.floor, lambda p: inside(p) + outside(p), "a mean over predictions"),
        (checks.floor, lambda p: 2 * inside(p) / (2 + 2 * p), "need not say which"),
        (checks.floor, lambda p: (inside(p) + outside(p)) / 2, "2 + 2p predictions on average, no"),
        (checks.floor, lambda p: (inside(p) + outside(p)) / (3 + 2 * p), "first bracket is given"),
        (
            checks.floor,
            lambda p: (entropy(p, 1 - p) + entropy(p / 3, 1 - p / 3)) / (2 + 2 * p),
            "one of three characters",
        ),
        (
            checks.floor,
            lambda p: (inside(p) + outside(p)) / (2 + 2 * p) / math.log(2),
            "in bits",
        ),
        (checks.floor, lambda p: -Brackets(1, filler=p).floor, "is positive"),
        (checks.floor, lambda p: (inside(p) + outside(p)) / (2 + p), "after both brackets"),
        (checks.floor, lambda p: inside(p) / (1 + 2 * p), "the end is a prediction too"),
        (checks.floor, lambda p: 1.0, f"for p = 0.25 it should be {RIGHT:.5f}, not 1.00000"),
        (checks.floor, lambda p: Brackets(1, filler=0.25).floor, "but not for p = 0."),
        (checks.floor, lambda p: "much", "give a number, not str"),
        (checks.floor, lambda p: None, "no answer yet"),
        (checks.floor, fail, "your code stopped with RuntimeError: boom"),
        (checks.mask, lambda s, k: None, "no answer yet"),
        (checks.mask, lambda s, k: 1.0, "return (6, 6), not float"),
        (checks.mask, lambda s, k: s[0], "return (6, 6), not (6,)"),
        (checks.mask, changes_its_input, "has been changed"),
        (checks.mask, lambda s, k: past(s) + (~k).float() * -math.inf, "as 0 · −∞"),
        (checks.mask, lambda s, k: s - math.inf, "−∞ all over"),
        (checks.mask, lambda s, k: past(s), "looks at padding, which can stand anywhere"),
        (checks.mask, lambda s, k: s.masked_fill(~k, -math.inf), "looks at a later one."),
        (checks.mask, lambda s, k: s, "looks at padding, which can stand anywhere"),
        (checks.mask, only_the_ends, "looks at padding, which can stand anywhere"),
        (checks.mask, as_published, "you leave a score of 0"),
        (checks.mask, lambda s, k: right_mask(s, k).softmax(-1), "that is attention already"),
        (
            checks.mask,
            lambda s, k: past(s).masked_fill(~k, -math.inf).softmax(-1),  # NaN where padding is
            "that is attention already",
        ),
        (checks.mask, first_only_finite, "a token should look at itself, too"),
        (checks.mask, lambda s, k: s * ok(k), "you leave a score of 0, and the softmax makes e⁰"),
        (checks.mask, lambda s, k: s.tril() * k, "you leave a score of 0"),
        (checks.mask, lambda s, k: past(s) * k.float().clamp(1e-9), "looks at padding"),
        (checks.mask, lambda s, k: past(s).masked_fill(~k[:, None], -math.inf), "its rows"),
        (checks.mask, lambda s, k: past(s).masked_fill(~k[:, None], -1e9), "its rows"),
        (checks.mask, lambda s, k: past(s * k[:, None]), "its rows"),
        (checks.mask, lambda s, k: right_mask(s.T, k).T, "is it the other triangle?"),
        (checks.mask, inverted, "looks at padding and at no other token"),
        (checks.mask, lambda s, k: ok(k).bool(), "not which of them stay"),
        (checks.mask, lambda s, k: s.masked_fill(ok(k) == 0, math.inf), "a score is +∞"),
        (checks.mask, lambda s, k: s - 20 * (1 - ok(k)), "padding, if only a little"),
        (
            checks.mask,
            lambda s, k: s.masked_fill(~k, -math.inf) - 20 * (1 - ok(k * 0 + 1)),
            "later one, if only",
        ),
        (checks.mask, not_quite, "if only a little"),
        (checks.mask, without_itself, "look at itself"),
        (checks.mask, lambda s, k: right_mask(torch.eye(len(s)), k), "follow its own scores"),
        (
            checks.mask,
            lambda s, k: right_mask(s, k).masked_fill(~torch.ones(6, 6).triu(-2).bool(), -math.inf),
            "at all before it",
        ),
        (checks.mask, lambda s, k: past(s).masked_fill(~k, -math.inf), "would spread"),
        (checks.mask, lambda s, k: right_mask(s, k) if len(k) == 6 else s, "but not for two"),
        (checks.reads_ahead, lambda model: False, "always, got away"),
        (checks.reads_ahead, lambda model: True, "was accused"),
        (checks.reads_ahead, by_subtraction, "−∞ − (−∞)"),
        (checks.reads_ahead, next_token_only, "third token ahead"),
        (checks.reads_ahead, changes_one, "Change every later token"),
        (
            checks.reads_ahead,
            lambda model: any(one_cut(model, i, (1, 6)) for i in range(1, 6)),
            "letter, b",
        ),
        (checks.reads_ahead, lambda model: one_cut(model, 1), "last but one position"),
        (checks.reads_ahead, lambda model: one_cut(model, 4), "from its first position"),
        (checks.reads_ahead, without_padding, "become padding"),
        (checks.reads_ahead, lambda model: 0.7, "return True or False, not float"),
        (checks.reads_ahead, lambda model: None, "no answer yet"),
        (checks.hidden, lambda x: None, "no answer yet"),
        (checks.hidden, lambda x: torch.zeros(len(x), 4), "return logits (2401, 4, 7), not"),
        (checks.hidden, lambda x: answers(x) * math.nan, "no finite numbers"),
        (checks.hidden, answers, "there is nothing to find"),
        (
            checks.hidden,
            lambda x: answers(x[:, [3, 3, 3, 3]]),
            "the detector finds it, on `(a)(` beside `(a)b`, where one token is another: a logit "
            "before moves by 1",
        ),
        (
            checks.hidden,
            lambda x: answers(x) * (x[:, 1:] == x[:, 1:2]).all(1)[:, None, None],
            "on `((((` beside `(a)b`, where all 3 later ones are another at once: a logit before",
        ),
        (checks.hidden, lambda x: answers(x.zero_()), "has been changed"),
        (checks.allowed, lambda d, r: None, "no answer yet"),
        (checks.allowed, lambda d, r: 3, "return characters, not int"),
        (checks.allowed, lambda d, r: "(x", "{'x'} is not among"),
        (checks.allowed, lambda d, r: "_", "padding is never written"),
        (checks.allowed, lambda d, r: ")", "With 0 open and 1 left: there is nothing to close"),
        (checks.allowed, lambda d, r: LETTERS - {")"}, "With 0 open and 1 left: after `(`"),
        (checks.allowed, lambda d, r: may(d, r + 1) - {"("}, "after a filler there would be"),
        (checks.allowed, lambda d, r: may(d, r) - {" "}, "the end is a space"),
        (
            checks.allowed,
            lambda d, r: may(d, r) - ({" "} if r == 0 else set()),
            "With 0 open and 0 left: the text may end",
        ),
        (checks.allowed, lambda d, r: may(d, r) - {"c"}, "['c'] could come"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom: str) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message


def draws(library: str) -> Callable[[int], int]:
    """Whole numbers below a bound, from a global generator or from one that nobody seeds."""
    if library == "own":
        own = np.random.default_rng()
        return lambda bound: int(own.integers(bound))
    return {
        "random": random.randrange,
        "numpy": lambda bound: int(np.random.randint(bound)),
        "torch": lambda bound: int(torch.randint(bound, ())),
    }[library]


def tries(model, pairs):
    """Whether one of these moves an earlier logit: all from a place on, replaced by a token."""
    cuts, tokens = torch.tensor(pairs).T
    x, later = torch.zeros(len(pairs), 4, dtype=torch.long), torch.arange(4) >= cuts[:, None]
    moved = (model(torch.where(later, tokens[:, None], x)) != model(x)).any(-1)
    return bool((moved & ~later).any())


def one_token(model, draw):
    token = draw(7)
    return tries(model, [(cut, token) for cut in (1, 2, 3)])


def one_place(model, draw):
    cut = 1 + draw(3)
    return tries(model, [(cut, token) for token in range(7)])


def a_few(model, draw):
    return tries(model, [(1 + draw(3), draw(7)) for _ in range(30)])


@pytest.mark.slow
def test_a_detector_that_draws_too_little_earns_the_same_in_each_of_100_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once about each model: as it is seeded, it says the same however often it is asked."""
    monkeypatch.setattr(checks, "ASKED", 1)
    draw, earned = draws("torch"), set()
    for _ in range(100):
        outcome = checks.reads_ahead(lambda model: one_token(model, draw))
        earned.add((outcome.share, outcome.message))
    assert len(earned) == 1 and earned.pop()[0] < 1


@pytest.mark.slow
@pytest.mark.parametrize("library", ["random", "numpy", "torch"])
@pytest.mark.parametrize("flawed", [one_token, one_place, a_few])
def test_it_never_earns_all_whatever_it_draws_from(flawed, library: str) -> None:
    draw = draws(library)
    twice = [checks.reads_ahead(lambda model: flawed(model, draw)) for _ in range(2)]
    assert twice[0] == twice[1] and not twice[0].passed


@pytest.mark.parametrize("flawed", [one_token, one_place, a_few])
def test_nor_does_luck_help_one_that_nobody_can_seed(flawed) -> None:
    """Asked about 22 models four times each, it contradicts itself: by chance not once in 10⁵."""
    draw = draws("own")
    outcome = checks.reads_ahead(lambda model: flawed(model, draw))
    assert outcome.share == 0 and "did not always say the same" in outcome.message


@pytest.mark.slow
@pytest.mark.parametrize("library", ["torch", "own"])
def test_a_detector_that_draws_enough_earns_all(library: str) -> None:
    """The rarest leak is found by one try of 21: 600 miss it once in 5 · 10¹²."""
    draw = draws(library)
    outcome = checks.reads_ahead(
        lambda model: tries(model, [(1 + draw(3), draw(7)) for _ in range(600)])
    )
    assert outcome.passed and ("draws at random" in outcome.message) == (library != "own")


SEEN = set()  # all strings that the detector compares with "(a)b", by its own rules
WATCHED = (0, 2, 1, 3)
for j in range(4):
    for token in range(7):
        SEEN.add((*WATCHED[:j], token, *WATCHED[j + 1 :]))
        SEEN.add((*WATCHED[:j], *[token] * (4 - j)))


def as_hidden_as_can_be(x):
    """Reads the last two tokens from everywhere, of every string that is not compared."""
    unseen = torch.tensor([tuple(row) not in SEEN for row in x.tolist()])
    future = answers(x[:, 2:3]) + 10 * answers(x[:, 3:4])
    return (future * unseen[:, None, None]).expand(-1, 4, -1)


@pytest.mark.parametrize("p", [0.0, 0.05, 0.25, 0.6, 0.95])
def test_the_floor_by_hand_is_that_of_the_task(p: float) -> None:
    by_hand = checks.floor_of_one_pair(p)
    assert by_hand == pytest.approx(Brackets(pairs=1, filler=p).floor, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_detector_of_the_exercise_is_that_of_the_lesson(seed: int) -> None:
    """For models that read nothing but their own place, all, and one place in one of 40 strings."""
    draw = torch.Generator().manual_seed(seed)
    table = torch.randn(7**4, 4, 7, generator=draw) * (torch.rand(7**4, 1, 1, generator=draw) < 0.1)

    def model(x):
        return answers(x) + table[(x * 7 ** torch.arange(3, -1, -1)).sum(1)]

    watched = torch.tensor([WATCHED])
    for one in (answers, model):
        assert checks.detected(one)[0] == future_leak(one, watched, 7)


def test_the_most_that_can_be_hidden_is_what_the_chapter_says() -> None:
    """All 399 beginnings but "(a)", whose every continuation is compared; one more is caught."""
    assert checks.beginnings() == 7 + 49 + 343
    outcome = checks.hidden(as_hidden_as_can_be)
    assert "after 398 of 399 beginnings" in outcome.message
    caught = checks.hidden(lambda x: as_hidden_as_can_be(x) + answers(x[:, [3] * 4]))
    assert not caught.passed


@pytest.mark.slow
def test_other_right_answers_pass() -> None:
    assert checks.floor(lambda p: torch.tensor(Brackets(1, filler=p).floor)).passed
    assert checks.mask(right_mask).passed
    assert checks.mask(lambda s, k: right_mask(s, k).double()).passed
    assert checks.mask(lambda s, k: past(s).masked_fill(~(k | ~k[:, None]), -math.inf)).passed
    assert checks.mask(lambda s, k: s.masked_fill((right_mask(s, k) == -math.inf), -1e9)).passed
    every = torch.zeros(1, 6, dtype=torch.long)
    assert checks.reads_ahead(lambda model: torch.tensor(future_leak(model, every, 7) > 0)).passed
    assert checks.hidden(as_hidden_as_can_be).passed
    assert checks.allowed(may).passed
    assert checks.allowed(lambda d, r: "".join(sorted(may(d, r)))).passed
