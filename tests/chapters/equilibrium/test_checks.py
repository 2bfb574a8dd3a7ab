"""Right answers pass however they are written, and a table of the known cases does not.

Wrong ones stand in wrong.py.
"""

import pytest
import torch

from attn_notes.chapters.equilibrium import checks

solve = torch.linalg.solve


def settles(J, eps):
    return torch.linalg.eigvals(torch.eye(len(J)) + eps * J).abs().max() < 1


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (checks.credits, lambda J, g: [-g @ J.inverse(), -(J.inverse() @ g)]),
        (checks.credits, lambda J, g: (solve(J.T.float(), -g.float()), solve(J, -g))),
        (checks.settles, settles),
        (checks.best_nudge, lambda c, r: torch.tensor(r / c / 2).pow(1 / 3)),
    ],
)
def test_a_right_answer_passes_however_it_is_written(check, answer) -> None:
    outcome = check(answer)
    assert outcome.passed, outcome.message


KNOWN = [
    ([[-1.0, 0.0], [0.0, -2.0]], 0.5),
    ([[-1.0, 4.0], [0.0, -1.0]], 0.5),
    ([[-1.0, 1.5], [-1.5, -1.0]], 0.4),
    ([[-1.0, 3.0], [-3.0, -1.0]], 0.1),
]


def test_a_table_of_the_known_cases_earns_nothing() -> None:
    outcome = checks.settles(lambda J, eps: (J.tolist(), eps) in KNOWN)
    assert outcome.share == 0 and outcome.message.startswith("right so far")
    best = {2.0: 0.5, 0.03: (1e-4 / 0.06) ** (1 / 3)}
    outcome = checks.best_nudge(lambda c, r: best.get(c, 0.7))
    assert outcome.share == 0 and "it should be" in outcome.message


@pytest.mark.parametrize(
    ("answer", "symptom"),
    [
        (([], [0.25], 1.0), "the free steps are a list of lengths"),
        (([0.25], [], 1.0), "the nudged steps are a list of lengths"),
        (([0.25], [0.25], -1.0), "β is a positive number"),
        (([0.25], [0.25], float("nan")), "β is a positive number"),
        (([0.25] * 2, [0.25] * 3, 10.0), "8 evaluations of the force"),
    ],
)
def test_the_fewest_evaluations_are_asked_for_in_lists_of_steps(answer, symptom) -> None:
    outcome = checks.fewest(answer)
    assert not outcome.passed and symptom in outcome.message


SAYS = {
    "wrong": "falls as a power of β, and so on towards zero",
    "right, with a nudge on one side": "as β, with a slope of 1",
    "right, with a nudge on both sides": "as β², with a slope of 2",
}


@pytest.mark.parametrize("case", range(8))
def test_a_verdict_on_a_slope_is_told_by_what_it_would_take(case: int) -> None:
    """All three are among these cases; the numbers of each are read as a student would."""
    seen, right = checks.falls.seen(case), checks.falls.solved(case)
    (strong, *_, weak), (most, *_, least) = seen["beta"], seen["error"]
    slope = torch.tensor(most / least).log2().item() / 3
    assert slope == pytest.approx(right["slope"], rel=1e-3)
    assert [*SAYS][round(slope)] == right["verdict"]
    for verdict, words in SAYS.items():
        outcome = checks.falls((case, {"slope": slope, "verdict": verdict}))
        passed = verdict == right["verdict"]
        assert outcome.passed == passed and (words in outcome.message) != passed
    if round(slope):
        straight = (most - least) / (strong - weak)
        for wrong, words in ((-slope, "so the slope is positive"), (straight, "take logarithms")):
            outcome = checks.falls((case, {"slope": wrong, "verdict": right["verdict"]}))
            assert outcome.share == 0 and words in outcome.message
