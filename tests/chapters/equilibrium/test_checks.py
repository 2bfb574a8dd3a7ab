"""The chapter's checks tell a wrong answer by its symptom and let every right one pass."""

import pytest
import torch

from attn_notes.chapters.equilibrium import checks

solve = torch.linalg.solve


def fail(*_: object) -> None:
    raise RuntimeError("boom")


def changes_its_input(J, g):
    found = solve(J.T, -g), solve(J, -g)
    g.zero_()
    return found


def field(twist=1.0, push=1.0, at=None, linear=False, centre=True):
    """The field of AEP, or one with a part of it wrong."""

    def nudged(F, slope, rest, J, beta):
        def follow(z):
            force = J.T @ (z - rest) + (J - J.T) @ (z - rest) if linear else F(z)
            apart = z - rest if centre else z
            where = rest if at == "rest" else z
            return force - push * beta * slope(where) - twist * (J - J.T) @ apart

        return follow

    return nudged


def radius(J, eps):
    return torch.linalg.eigvals(torch.eye(len(J)) + eps * J).abs().max()


@pytest.mark.parametrize(
    ("check", "answer", "symptom"),
    [
        (checks.credits, lambda J, g: None, "no answer yet"),
        (checks.credits, lambda J, g: (..., ...), "no answer yet"),
        (checks.credits, lambda J, g: g, "return two vectors"),
        (checks.credits, lambda J, g: (1.0, g), "tensor of shape (3,), not float"),
        (checks.credits, lambda J, g: (g, J), "the naive one should be a tensor of shape (3,)"),
        (checks.credits, lambda J, g: (g / 0, g), "no number"),
        (checks.credits, fail, "your code stopped with RuntimeError: boom"),
        (checks.credits, changes_its_input, "has been changed"),
        (checks.credits, lambda J, g: (solve(J, -g), solve(J.T, -g)), "changed places"),
        (checks.credits, lambda J, g: (solve(J.T, g), solve(J, g)), "the wrong sign: Jᵀa"),
        (checks.credits, lambda J, g: (-J.T @ g, solve(J, -g)), "multiplies"),
        (checks.credits, lambda J, g: (solve(J, -g), solve(J, -g)), "as the naive one does"),
        (checks.credits, lambda J, g: (-g, solve(J, -g)), "does not solve Jᵀa + g = 0"),
        (checks.credits, lambda J, g: (solve(J.T, -g), solve(J, g)), "the wrong sign: J a"),
        (checks.credits, lambda J, g: (solve(J.T, -g),) * 2, "is to differ"),
        (checks.credits, lambda J, g: (solve(J.T, -g), g), "does not solve J a + g = 0"),
        (checks.nudged, lambda *_: None, "no answer yet"),
        (checks.nudged, lambda *_: lambda z: ..., "no answer yet"),
        (checks.nudged, lambda *_: 3, "return a function"),
        (checks.nudged, lambda *_: lambda z: z[0], "tensor of shape (4,), not ()"),
        (checks.nudged, field(twist=0), "the correction is missing"),
        (checks.nudged, field(twist=-1), "the wrong sign"),
        (checks.nudged, field(twist=0.5), "halved"),
        (checks.nudged, field(push=-1), "goes up"),
        (checks.nudged, field(push=0), "nothing nudges"),
        (checks.nudged, field(at="rest"), "taken at rest"),
        (checks.nudged, field(linear=True), "linearised field"),
        (checks.nudged, field(centre=False), "vanish at rest"),
        (checks.nudged, lambda F, s, r, J, b: field()(F, s, r, J, 1.0), "not weighed by β"),
        (checks.nudged, lambda F, s, r, J, b: field()(F, s, r, J, 0.3), "but not for 0."),
        (checks.nudged, field(twist=3), "that is not F(z)"),
        (checks.settles, lambda J, eps: None, "no answer yet"),
        (checks.settles, lambda J, eps: 0.7, "return True or False, not float"),
        (checks.settles, lambda J, eps: False, "it settles"),
        (checks.settles, lambda J, eps: True, "along the second it flees"),
        (checks.settles, lambda J, eps: bool((J.diagonal() < 0).all()), "jumps over its goal"),
        (
            checks.settles,
            lambda J, eps: bool(torch.linalg.matrix_norm(torch.eye(len(J)) + eps * J, 2) < 1),
            "a one-way influence",
        ),
        (
            checks.settles,
            lambda J, eps: bool(torch.linalg.eigvalsh(J + J.T).max() < 0) and radius(J, eps) < 1,
            "a one-way influence of 4",
        ),
        (
            checks.settles,
            lambda J, eps: bool((torch.linalg.eigvals(J).imag == 0).all() & (radius(J, eps) < 1)),
            "a spiral that winds inwards",
        ),
        (
            checks.settles,
            lambda J, eps: (
                bool((torch.linalg.eigvals(J).real * eps).abs().sub(1).abs().max() < 1)
                and bool(torch.linalg.eigvals(J).real.max() < 0)
            ),
            "lead outwards",
        ),
        (checks.settles, lambda J, eps: bool(radius(J, 0.5) < 1), "in steps of 0.1"),
        (
            checks.settles,
            lambda J, eps: bool(radius(J, eps) < 1) or not bool(J.diagonal().any()),
            "its eigenvalues are 2 and −2",
        ),
        (checks.best_nudge, lambda c, r: None, "no answer yet"),
        (checks.best_nudge, lambda c, r: "small", "give a number, not str"),
        (checks.best_nudge, lambda c, r: (r / c) ** (1 / 3), "both errors are equal"),
        (checks.best_nudge, lambda c, r: (r / 2 / c) ** 0.5, "the slope of 1 / β"),
        (checks.best_nudge, lambda c, r: (2 * c / r) ** (1 / 3), "upside down"),
        (checks.best_nudge, lambda c, r: r / (2 * c), "that is β³"),
        (checks.best_nudge, lambda c, r: (2 * r / c) ** (1 / 3), "on the wrong side"),
        (checks.best_nudge, lambda c, r: 1.0, "it should be 0.5, not 1"),
        (checks.best_nudge, lambda c, r: 0.5, "for 0.03 and 0.0001 it should be"),
    ],
)
def test_a_wrong_answer_is_told_by_its_symptom(check, answer, symptom) -> None:
    outcome = check(answer)
    assert not outcome.passed
    assert symptom in outcome.message


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (checks.credits, lambda J, g: [-g @ J.inverse(), -(J.inverse() @ g)]),
        (checks.credits, lambda J, g: (solve(J.T.float(), -g.float()), solve(J, -g))),
        (checks.nudged, field()),
        (checks.settles, lambda J, eps: radius(J, eps) < 1),
        (checks.best_nudge, lambda c, r: torch.tensor(r / c / 2).pow(1 / 3)),
    ],
)
def test_a_right_answer_passes_however_it_is_written(check, answer) -> None:
    outcome = check(answer)
    assert outcome.passed, outcome.message


def test_a_table_of_the_known_cases_earns_nothing() -> None:
    settling = [
        ([[-1.0, 0.0], [0.0, -2.0]], 0.5),
        ([[-1.0, 4.0], [0.0, -1.0]], 0.5),
        ([[-1.0, 1.5], [-1.5, -1.0]], 0.4),
        ([[-1.0, 3.0], [-3.0, -1.0]], 0.1),
    ]
    outcome = checks.settles(lambda J, eps: (J.tolist(), eps) in settling)
    assert outcome.share == 0 and outcome.message.startswith("right so far")
