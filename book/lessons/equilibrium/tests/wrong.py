"""Wrong answers to the lesson's exercises as readers write them, each beside its symptom."""

from textwrap import indent


def returns(head: str, *told: tuple[str, str]) -> list[tuple[str, str]]:
    return [(f"import torch\n\ndef {head}:\n{indent(code, '    ')}", says) for code, says in told]


def falls(verdict: str, slope: float = 1.9997, case: int = 0) -> str:
    """An answer, to the book's own case unless it says another: there the error falls with β²."""
    return f'case, answer = {case}, {{"slope": {slope}, "verdict": "{verdict}"}}'


NUDGED = "return lambda z: F(z) - beta * slope(z)"
TWIST = "(J - J.T) @ (z - rest)"
STEP = "steps = torch.eye(len(J)) + eps * J\nvalues = torch.linalg.eigvals(steps)\n"

# fmt: off
WRONG = {
    "credit": returns(
        "credits(J, g)",
        ("return ..., ...", "no answer yet"),
        ("return g", "return two vectors"),
        ("return 1.0, g", "tensor of shape (3,), not float"),
        ("return g, J", "the naive one should be a tensor of shape (3,)"),
        ("return g / 0, g", "no number"),
        ("raise RuntimeError('boom')", "your code stopped with RuntimeError: boom"),
        ("return g, g.zero_()", "has been changed"),
        ("return torch.linalg.solve(J, -g), torch.linalg.solve(J.T, -g)", "changed places"),
        ("return torch.linalg.solve(J.T, g), torch.linalg.solve(J, g)", "the wrong sign: Jᵀa"),
        ("return -J.T @ g, torch.linalg.solve(J, -g)", "multiplies"),
        ("return (torch.linalg.solve(J, -g),) * 2", "as the naive one does"),
        ("return -g, torch.linalg.solve(J, -g)", "does not solve Jᵀa + g = 0"),
        ("return torch.linalg.solve(J.T, -g), torch.linalg.solve(J, g)", "the wrong sign: J a"),
        ("return (torch.linalg.solve(J.T, -g),) * 2", "is to differ"),
        ("return torch.linalg.solve(J.T, -g), g", "does not solve J a + g = 0"),
    ),
    "nudge": returns(
        "nudged(F, slope, rest, J, beta)",
        ("return lambda z: ...", "no answer yet"),
        ("return 3", "return a function"),
        ("return lambda z: z[0]", "tensor of shape (4,), not ()"),
        (NUDGED, "the correction is missing"),
        (f"{NUDGED} + {TWIST}", "the wrong sign"),
        (f"{NUDGED} - {TWIST} / 2", "halved"),
        (f"return lambda z: F(z) + beta * slope(z) - {TWIST}", "goes up"),
        (f"return lambda z: F(z) - {TWIST}", "nothing nudges"),
        (f"return lambda z: F(z) - beta * slope(rest) - {TWIST}", "taken at rest"),
        ("return lambda z: J.T @ (z - rest) - beta * slope(z)", "linearised field"),
        (f"{NUDGED} - (J - J.T) @ z", "vanish at rest"),
        (f"return lambda z: F(z) - slope(z) - {TWIST}", "not weighed by β"),
        (f"return lambda z: F(z) - 0.3 * slope(z) - {TWIST}", "but not for 0."),
        (f"{NUDGED} - 3 * {TWIST}", "that is not F(z)"),
        (f"{NUDGED} - {TWIST} - 0.1 * torch.equal(z, rest)", "at rest only"),
    ),
    "settles": returns(
        "settles(J, eps)",
        ("return 0.7", "return True or False, not float"),
        ("return False", "it settles"),
        ("return True", "along the second it flees"),
        ("return bool((J.diagonal() < 0).all())", "jumps over its goal"),
        (f"{STEP}return bool(torch.linalg.matrix_norm(steps, 2) < 1)", "a one-way influence"),
        (f"{STEP}return bool((values.imag == 0).all() & (values.abs().max() < 1))",
         "a spiral that winds inwards"),
        (f"{STEP}return bool(values.real.abs().max() < 1)", "lead outwards"),
        ("return bool(torch.linalg.eigvals(torch.eye(len(J)) + 0.5 * J).abs().max() < 1)",
         "of 0.1"),
        (f"{STEP}return bool(values.abs().max() < 1) or not bool(J.diagonal().any())",
         "its eigenvalues are 2 and −2"),
    ),
    "beta": returns(
        "best_nudge(c, r)",
        ("return 'small'", "give a number, not words"),
        ("return (r / c) ** (1 / 3)", "both errors are equal"),
        ("return (r / 2 / c) ** 0.5", "the slope of 1 / β"),
        ("return (2 * c / r) ** (1 / 3)", "upside down"),
        ("return r / (2 * c)", "that is β³"),
        ("return (2 * r / c) ** (1 / 3)", "on the wrong side"),
        ("return 1.0", "it should be 0.5, not 1"),
        ("return 0.5", "for 0.03 and 0.0001 it should be"),
    ),
    "fewest": [
        ("answer = [], [0.25], 1.0", "the free steps are a list of lengths"),
        ("answer = [0.25], [], 1.0", "the nudged steps are a list of lengths"),
        ("answer = [0.25], [0.25], -1.0", "β is a positive number"),
        ("answer = [0.25], [0.25], float('nan')", "β is a positive number"),
        ("answer = [0.25] * 2, [0.25] * 3, 10.0", "8 evaluations of the force"),
    ],
    "verdict": [
        (falls("wrong"), "falls as a power of β, and so on towards zero"),
        (falls("right, with a nudge on one side"), "as β, with a slope of 1"),
        (falls("right, with a nudge on both sides", 1.0021, case=1), "as β², with a slope of 2"),
        (falls("right, with a nudge on both sides", -1.9997), "so the slope is positive"),
        (falls("right, with a nudge on both sides", 0.3275), "take logarithms"),
    ],
}
