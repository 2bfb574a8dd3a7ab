"""The chapter's checks tell a wrong answer by its symptom and let every right one pass."""

import math

import pytest
import torch

from attn_notes.chapters.triple_product import checks
from attn_notes.models.triple_product import cos2_to_plane, stable_volume
from attn_notes.tasks.copying import Copying


def without_periods(vocabulary, length, periods):
    return (sum(periods) / len(periods) - 1) * math.log(vocabulary) / (length - 1)


def period_every_time(vocabulary, length, periods):
    return without_periods(vocabulary, length, periods) + math.log(len(periods))


def longest_only(vocabulary, length, periods):
    n = math.log(len(periods))
    return ((max(periods) - 1) * math.log(vocabulary) + n) / (length - 1)


def two_at_most(vocabulary, length, periods):
    n = math.log(min(2, len(periods)))
    return without_periods(vocabulary, length, periods) + n / (length - 1)


def fail(*_: object) -> None:
    raise RuntimeError("boom")


def accuracy(model, period):
    x = Copying(16, 24, (period,)).sample(64, torch.Generator().manual_seed(0))
    return Copying(16, 24, (period,)).probe(model, x)["accuracy"].item()


def tall(q, k, r):
    """An angle's score, keys and queries exchanged."""
    return cos2_to_plane(q, k, r).T


def of_the_query_alone(q, k, r):
    one, other = (x / x.norm(dim=-1, keepdim=True) for x in (q, k))
    return (one @ other.T).square()


def upside_down(q, k, r):
    return 1 - cos2_to_plane(q, k, r)


def there_and_back(q, k, r):
    return (4 * cos2_to_plane(q, k, r).acos()).cos()


ONES = torch.ones(3)


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.floor, lambda v, n, p: p[0] * math.log(v) / (n - 1), "count the first token"),
        (checks.floor, lambda v, n, p: (p[0] - 1) * math.log(v) / n, "12 predictions"),
        (checks.floor, lambda v, n, p: (p[0] - 1) * math.log(v), "sum over a sequence"),
        (checks.floor, lambda v, n, p: (p[0] - 1) * math.log2(v) / (n - 1), "in bits"),
        (checks.floor, lambda v, n, p: -(p[0] - 1) * math.log(v) / (n - 1), "is positive"),
        (checks.floor, lambda v, n, p: 1.0, "it should be 0.64864, not 1.00000"),
        (checks.floor, without_periods, "nobody knows which"),
        (checks.floor, period_every_time, "once a sequence"),
        (checks.floor, longest_only, "for periods 3 and 5 it should be 0.54424"),
        (checks.floor, two_at_most, "(6, 7, 8, 9, 10, 11, 12))"),
        (checks.floor, lambda v, n, p: "much", "give a number, not str"),
        (checks.floor, lambda v, n, p: None, "no answer yet"),
        (checks.floor, fail, "your code stopped with RuntimeError: boom"),
        (checks.uncountable, None, "no answer yet"),
        (checks.uncountable, [7, 8], "give a dictionary"),
        (checks.uncountable, {7: "half", 8: 0.5}, "give a number, not str"),
        (checks.uncountable, {13: 1.0}, "whole numbers from 1 to 12"),
        (checks.uncountable, {7.5: 1.0}, "whole numbers from 1 to 12"),
        (checks.uncountable, {7: 1.5, 8: -0.5}, "zero or above"),
        (checks.uncountable, {7: math.inf}, "zero or above"),
        (checks.uncountable, {7: 0.5}, "yours sum to 0.5"),
        (checks.uncountable, {}, "yours sum to 0"),
        (checks.uncountable, {12: 1.0}, "looks 12 places back is right 1.0000 of the time"),
        (checks.uncountable, dict.fromkeys(range(6, 13), 1 / 7), "12 places back is right 0.3304"),
        (checks.negative_volume, torch.ones(2, 5), "give three vectors"),
        (checks.negative_volume, (ONES, "r", ONES), "should be torch tensors"),
        (checks.floor, lambda v, n, p: p[0] * math.log(v) / n, "given and never predicted"),
        (checks.negative_volume, (ONES, ONES, torch.ones(4)), "of one length"),
        (checks.negative_volume, (ONES, ONES, torch.ones(1, 3)), "of one length"),
        (checks.negative_volume, (ONES.double(),) * 3, "single precision"),
        (checks.negative_volume, (ONES, ONES, ONES / 0), "not finite"),
        (checks.negative_volume, (1e30 * ONES, ONES, ONES), "overflows"),
        (checks.negative_volume, tuple(torch.eye(3)), "gives 1, which is not negative"),
        (checks.by_content, lambda model: False, "does not go by content"),
        (checks.by_content, lambda model: accuracy(model, 7) > 0.5, "another period than 7?"),
        (checks.by_content, lambda model: accuracy(model, 6) > 0.5, "at period 6 both are right"),
        (
            checks.by_content,
            lambda model: min(accuracy(model, 6), accuracy(model, 12)) > 0.5,
            "of which 12 is a multiple",
        ),
        (checks.by_content, lambda model: True, "True to every model that copies"),
        (
            checks.by_content,
            lambda model: min(accuracy(model, 7), accuracy(model, 11)) <= 0.5,
            "the wrong way round",
        ),
        (
            checks.by_content,
            lambda model: accuracy(model, 7) - accuracy(model, 11) > -0.2 > -accuracy(model, 8),
            "tokens back got away",
        ),
        (
            checks.by_content,
            lambda model: accuracy(model, 7) > 0.5 or accuracy(model, 11) > 0.5,
            "look 6 or 10 tokens back got away",
        ),
        (
            checks.by_content,
            lambda model: abs(accuracy(model, 7) - accuracy(model, 11)) < 0.5,
            "nor to copy as well, or as badly",
        ),
        (checks.by_content, lambda model: 0.7, "return True or False, not float"),
        (checks.by_content, lambda model: None, "no answer yet"),
        (checks.deaf_to_loudness, lambda q, k, r: 1.0, "a tensor (5, 11), not float"),
        (checks.deaf_to_loudness, tall, "a tensor (5, 11), not (11, 5)"),
        (checks.deaf_to_loudness, lambda q, k, r: torch.ones(len(q), len(k)), "the same score"),
        (checks.deaf_to_loudness, lambda q, k, r: q @ k.T / 0, "not finite"),
        (checks.deaf_to_loudness, lambda q, k, r: -stable_volume(q, k, r), "as long"),
        (
            checks.deaf_to_loudness,
            lambda q, k, r: q @ k.T / (q.norm(dim=1)[:, None] * k.norm(dim=1)),
            "k and −k",
        ),
        (
            checks.deaf_to_loudness,
            lambda q, k, r: -stable_volume(q, k, r) / k.square().sum(-1),
            "a longer q or r",
        ),
        (checks.deaf_to_loudness, of_the_query_alone, "the plane's angle"),
        (checks.deaf_to_loudness, upside_down, "upside down"),
        (checks.deaf_to_loudness, there_and_back, "lose score"),
        (checks.deaf_to_loudness, lambda q, k, r: None, "no answer yet"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom: str) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message


def test_other_right_answers_pass() -> None:
    as_tensor = checks.floor(lambda v, n, p: torch.tensor(Copying(v, n, tuple(p)).floor))
    assert as_tensor.passed
    assert checks.by_content(
        lambda model: torch.tensor(accuracy(model, 8) > 0.9) & (accuracy(model, 10) > 0.9)
    ).passed
    assert checks.deaf_to_loudness(cos2_to_plane).passed
    assert checks.deaf_to_loudness(lambda q, k, r: cos2_to_plane(q, k, r).sqrt()).passed
    assert checks.deaf_to_loudness(lambda q, k, r: cos2_to_plane(q, k, r).acos().neg()).passed


def nearly(vocabulary, length, periods):
    """The formula, which counts a sequence as having one period."""
    bits = math.log(len(periods))
    return without_periods(vocabulary, length, periods) + bits / (length - 1)


def test_both_floors_pass_and_each_is_told_what_it_is() -> None:
    exact = checks.floor(lambda v, n, p: Copying(v, n, tuple(p)).floor)
    assert exact.passed and "exact" in exact.message
    # 0.544155 by writing out all sequences of 7 letters and periods 3 and 5.
    assert Copying(7, 13, (3, 5)).floor == pytest.approx(0.544155, abs=5e-7)
    rough = checks.floor(nearly)
    assert rough.passed and "0.544155 for periods 3 and 5 here, not 0.544240" in rough.message


def test_proposals_of_periods_are_scored() -> None:
    for weights, said in (
        (dict.fromkeys(range(7, 13), 1 / 6), "0.2188, by the rule"),
        (dict.fromkeys(range(7, 12), 1 / 5), "0.2500, by the rule that looks 7 back; the least"),
        ({12: 1 / 8, 6: 0.0} | dict.fromkeys(range(7, 12), 7 / 40), "0.2266"),
    ):
        outcome = checks.uncountable(weights)
        assert outcome.passed and said in outcome.message
        best = "no spread of periods goes lower" in outcome.message
        assert best == ("0.2188" in said)


@pytest.mark.parametrize(
    ("wrong", "symptom"),
    [
        (lambda q, k, r: cos2_to_plane(q, k, r) * (k.shape[1] == 7), "not for vectors of nine"),
        (lambda q, k, r: cos2_to_plane(q, k, r).softmax(-1), "which other keys are there"),
        (lambda q, k, r: cos2_to_plane(q, k, r).argsort().argsort().double(), "which other keys"),
    ],
)
def test_what_is_no_angle_for_every_size_and_every_crowd_earns_nothing(wrong, symptom) -> None:
    outcome = checks.deaf_to_loudness(wrong)
    assert outcome.share == 0 and symptom in outcome.message


def test_no_name_tells_the_copier() -> None:
    told = checks.by_content(lambda model: "ideal" in repr(model) + getattr(model, "__name__", ""))
    assert told.share == 0
