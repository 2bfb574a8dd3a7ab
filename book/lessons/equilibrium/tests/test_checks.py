"""Right answers pass however they are written, a table of the known cases does not: wrong.py."""

import pytest
import torch

from book.lessons.equilibrium import checks

solve = torch.linalg.solve


RIGHT = [
    (checks.credits, lambda J, g: [-g @ J.inverse(), -(J.inverse() @ g)]),
    (checks.credits, lambda J, g: (solve(J.T.float(), -g.float()), solve(J, -g))),
    (checks.settles, lambda J, e: torch.linalg.eigvals(torch.eye(len(J)) + e * J).abs().max() < 1),
    (checks.best_nudge, lambda c, r: torch.tensor(r / c / 2).pow(1 / 3)),
]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_a_right_answer_passes_however_it_is_written(check, answer):
    outcome = check(answer)
    assert outcome.passed, outcome.message


KNOWN = [
    ([[-1.0, 0.0], [0.0, -2.0]], 0.5),
    ([[-1.0, 4.0], [0.0, -1.0]], 0.5),
    ([[-1.0, 1.5], [-1.5, -1.0]], 0.4),
    ([[-1.0, 3.0], [-3.0, -1.0]], 0.1),
]


def test_a_table_of_the_known_cases_earns_nothing():
    outcome = checks.settles(lambda J, eps: (J.tolist(), eps) in KNOWN)
    assert outcome.share == 0 and outcome.message.startswith("right so far")
    best = {2.0: 0.5, 0.03: (1e-4 / 0.06) ** (1 / 3)}
    outcome = checks.best_nudge(lambda c, r: best.get(c, 0.7))
    assert outcome.share == 0 and "it should be" in outcome.message
