"""Exercises of judgement: the numbers come first, and a verdict rests on them."""

import math
import re
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from book.course import homework
from book.kit.exercises import Outcome
from book.kit.judgement import OPEN, Judged, near
from book.site.dependencies import BookError, full_stems

from .exercises import ROOT, answer_of

JUDGED = {
    name: value
    for stem in full_stems(ROOT)
    for name, value in vars(import_module(f"book.lessons.{stem}.checks")).items()
    if isinstance(value, Judged)
}
every_one = pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED)


def stem_of(judged):
    return judged._draw.__module__.split(".")[2]


def exercise_of(judged):
    asked = homework.week(ROOT, stem_of(judged), 1, 7).exercises
    (one,) = (e for e in asked if f"checks.{judged._draw.__name__}(" in e.check)
    return one


assert {*map(stem_of, JUDGED.values())} == {*full_stems(ROOT)}


@pytest.mark.in_short(2)
@every_one
def test_cases_differ_and_no_verdict_is_always_right(judged):
    right = [answer_of(judged, case) for case in range(1, 61)]
    assert all(judged((case, answer)).passed for case, answer in enumerate(right, 1))
    assert judged.seen(5) == judged.seen(5) != judged.seen(6)
    said = [answer["verdict"] for answer in right]
    assert max(map(said.count, said)) < 50
    assert sum(judged((case, right[0])).passed for case in range(1, 61)) < 20  # another's answer


@every_one
def test_a_verdict_counts_where_the_numbers_are_right(judged):
    for number in range(8):
        case, right = judged._case(number), answer_of(judged, number)
        assert case.verdict in case.verdicts and len(case.verdicts) == 3
        for verdict, symptom in case.verdicts.items():
            outcome = judged((number, {**right, "verdict": verdict}))
            assert outcome.share == (1.0 if verdict == case.verdict else 0.5)
            assert outcome.passed or symptom in outcome.message
    case, right = judged._case(0), answer_of(judged, 0)
    assert judged((0, {**right, "verdict": "so be it"})).share == 0.5
    others = 0.5 * (1 - 1 / len(case.numbers))  # what the numbers that are right earn
    for name, value in case.numbers.items():
        for wrong, symptom in case.mistakes.get(name, ()):
            outcome = judged((0, {**right, name: wrong}))
            told = outcome.share == others and symptom in outcome.message
            assert told or near(wrong, value)
        outcome = judged((0, {**right, name: value + 1}))
        assert outcome.share == others
        assert all(f"{each} is right." in outcome.message for each in {*case.numbers} - {name})
        assert judged((0, {**right, name: value * 1.001})).share in (1.0, 0.5)
        assert judged((0, {**right, name: "much"})).message == "give a number, not words."
    for given in (..., None, {}, {**right, "verdict": ...}, {"verdict": case.verdict}, "x"):
        assert judged((0, given)).share == 0


@every_one
def test_a_number_is_asked_for_until_it_is_typed_and_then_is_the_students_own(judged, capsys):
    right = answer_of(judged, 7042)
    for typed in ("042", 42, " 042 ", np.int64(42)):
        assert judged(((7, typed), right)).passed and judged.seen((7, typed)) == judged.seen(7042)
    for typed in ("...", ..., None, "", "1042", "4 2", -42, 4.2, "²", "٤٢", "forty"):
        assert judged(((7, typed), right)) == Outcome(0.0, OPEN)
        judged.show((7, typed))
        assert capsys.readouterr().out == f"Not yet: {OPEN}\n"
    for odd in ("042", None, (7,), (7, "0", "42"), {}):
        assert judged((odd, right)).message == OPEN
    cases = [str(judged.seen((7, number))) for number in range(60)]
    assert len({*cases}) > 30  # of sixty students, whose numbers follow one another


@pytest.mark.in_short(2)
@every_one
def test_a_teachers_solution_fits_every_number(judged):
    one, scope = exercise_of(judged), {}
    exec(one.setup, scope)
    for typed in ("000", "001", "042", "117", "500", "999", *map(str, range(10, 40))):
        exec(one.solution.replace('"000"', f'"{typed}"'), scope)
        outcome = eval(one.check, scope)
        assert outcome.passed, f"{typed}: {outcome}"
    nothing = one._replace(name="nothing", stub="case = 0")
    with pytest.raises(BookError, match=r"methods\.yml has no method for the exercise nothing"):
        homework.with_case(ROOT, nothing, stem_of(judged), 7)


def cases(name):
    return [(JUDGED[name].seen(case), answer_of(JUDGED[name], case)) for case in range(12)]


def test_the_part():
    for seen, solved in cases("part"):
        gated, divided = seen["gated"], seen["divided by three"]

        def uneven(x, y, axis):
            ranks = stats.rankdata(np.concatenate([x, y], -1), axis=-1)
            return np.abs(ranks[..., :8].sum(-1) - 68)  # 68 where it is even

        all_ = {"n_resamples": np.inf, "vectorized": True, "alternative": "greater"}
        dealt = stats.permutation_test((gated, divided), uneven, **all_)
        assert solved["p"] == pytest.approx(dealt.pvalue)
        sooner = dealt.pvalue < 0.05 and np.median(gated) < np.median(divided)
        assert solved["verdict"] == ("the part" if sooner else "cannot be told")


def test_an_honest_loss():
    for seen, solved in cases("honest"):
        found = stats.ttest_rel(seen["model"], seen["best predictor"])
        assert solved["difference"] / solved["error"] == pytest.approx(found.statistic, rel=1e-4)
        assert solved["verdict"] == ("it leaks" if found.statistic < -3 else "no leak is shown")


def test_a_price():
    for seen, solved in cases("priced"):
        letters = int(seen["first sign"].split()[0])
        x = float(re.findall(r"0\.\d", seen["second sign"])[0])
        chances = [chance / letters for chance in (x, 1 - x) for _ in range(letters)]
        assert solved["floor"] == pytest.approx(stats.entropy(chances) / 3)
        assert solved["second"] == pytest.approx(stats.entropy([x, 1 - x]))
        below = seen["what the model pays"] < stats.entropy(chances) / 3
        assert solved["verdict"] == ("it reads ahead" if below else "no leak is shown")


def test_a_distance():
    for seen, solved in cases("counts"):
        copied = {period for period, share in seen["copied"].items() if share > 0.5}
        serve = [d for d in range(7, 13) if {p for p in seen["copied"] if d % p == 0} == copied]
        assert serve == ([solved["distance"]] if solved["distance"] else [])
        assert (solved["verdict"] == "it reads") == (copied == {*seen["copied"]})


def test_a_gradient_that_stops():
    """Against differences: with y and z of the first look held, and with nothing held."""
    for seen, solved in cases("stops"):

        def look(w, y, z, of=seen):
            for _ in range(of["thoughts"]):
                z = w * (of["x"] + y + z)
            return w * (y + z), z

        w, h = seen["w"], 1e-6
        first = look(w, 0.0, 0.0)
        held = (look(w + h, *first)[0] - look(w - h, *first)[0]) / (2 * h)
        whole = (look(w + h, *look(w + h, 0, 0))[0] - look(w - h, *look(w - h, 0, 0))[0]) / (2 * h)
        assert solved["answer"] == pytest.approx(look(w, *first)[0])
        assert solved["slope"] == pytest.approx(held, rel=1e-5)
        assert solved["verdict"] == ("larger" if whole > held else "smaller")


def test_an_error_that_falls():
    for seen, solved in cases("falls"):
        high, *_, low = map(math.log, seen["error"])
        assert solved["slope"] == pytest.approx((high - low) / math.log(8))
        kinds = ("wrong", "right, with a nudge on one side", "right, with a nudge on both sides")
        assert solved["verdict"] == kinds[round(solved["slope"])]
        assert len(seen["error"]) == len(seen["beta"]) == 4


@every_one
def test_a_verdict_is_taken_from_a_list(judged):
    listed = exercise_of(judged).stub.partition("# verdict: ")[2].partition("\n")[0].split(" | ")
    assert sorted(listed) == sorted(judged._case(0).verdicts)
