"""Wrong answers to each exercise that a page checks, as readers may write them."""

from .. import exercises


def returns(head: str, *values: str) -> list[str]:
    """A function with this head, for each value that it returns."""
    return [f"import math\n\ndef {head}:\n    return {value}" for value in values]


def assigned(name: str, *values: str) -> list[str]:
    return [f"{name} = {value}" for value in values]


LOOP = """def future_leak(model, tokens):
    found = []
    for i in {places}:
        altered = tokens.clone()
        altered[:, i] = (altered[:, i] + 1) % 4
        change = (model(tokens) - model(altered)){kept}
        found.append({much})
    return {all}"""
CYCLE = """def cycle(net, x, y, z, n):
    start = z
    for _ in range(n):
        z = {thought}
    return {found}"""
ACCURACY = """def accuracy(model, period):
    task = copying.Copying(16, 24, (period,))
    x = task.sample(64, Generator().manual_seed(0))
    return task.probe(model, x)["accuracy"].item()

def copies_by_content(model):
    return {value}"""


def loop(
    places: str = "range(1, 6)",
    kept: str = "[:, :i]",
    much: str = "change.abs().max().item()",
    all: str = "max(found)",
) -> str:
    return LOOP.format(places=places, kept=kept, much=much, all=all)


JUDGED = """import math

a, b, c = map(math.exp, checks.softmax.seen(0)["scores of a, b and c"])
case = 0
answer = {{"all three": {all_three}, "masked": {masked}, "verdict": {verdict}}}"""


def judged(
    all_three: str = "a / (a + b + c)",
    masked: str = "a / (a + b)",
    verdict: str = "'it does not double'",
) -> str:
    return JUDGED.format(all_three=all_three, masked=masked, verdict=verdict)


WRONG: dict[str, dict[str, list[str]]] = {
    "attention": {
        "softmax": [
            judged(all_three="0.0"),
            judged(all_three="a / (a + b)"),
            judged(all_three="..."),
            judged(masked="a / (a + b + c)"),
            judged(masked="a / (a + b + 1)"),
            judged(masked="'much'"),
            judged(verdict="'it more than doubles'"),
            judged(verdict="'it grows 2.7 times'"),
            judged(verdict="'so be it'"),
            "case, answer = 0, 0.19",
        ],
        "disagree": assigned(
            "answer",
            *('("cab", 1)', '("aab", 3)', '("aab", 0)', '("aad", 2)', '"aab"', "(2, 'aab')"),
            *("None", "(..., ...)"),
        ),
        "triangle": returns(
            "masked(scores)",
            *("None", "scores", "scores[0]", "torch.ones(len(scores), len(scores)).tril()"),
            "scores * torch.ones(len(scores), len(scores)).tril()",
            "scores.masked_fill(torch.ones(len(scores), len(scores)).tril() == 1, -math.inf)",
            "scores.masked_fill(torch.ones(len(scores), len(scores)).triu(1).mT == 1, -math.inf)",
            "scores + (1 - torch.ones(len(scores), len(scores)).tril()) * -math.inf",
            "scores - 3 * torch.ones(len(scores), len(scores)).triu(1)",
            "(2 * scores).masked_fill(torch.ones_like(scores).triu(1) == 1, -math.inf)",
        ),
    },
    "deep_qkv": {
        "floor": returns(
            "floor(letters, length)",
            *("2 * math.log2(3) / 6", "math.log(3) / 2", "2 * math.log(3) / 7", "math.log(3) / 3"),
            *("math.log(letters) / 3", "2 * math.log(3)", "-math.log(3) / 3", '"much"', "None"),
        ),
        "leak": [
            loop(places="[5]"),
            loop(places="[1]"),
            loop(kept=""),
            loop(kept="[:, i - 1]"),
            loop(much="change.abs().max() > 1e-5", all="any(found)"),
            loop(much="change.abs().mean().item()"),
            loop(much="change.max().item()"),
            loop(much="9 * change.norm().item()"),
            "def future_leak(model, tokens):\n    return 0.0",
            "def future_leak(model, tokens):\n    tokens[:, 5] = 1\n    return 0.0",
            "def future_leak(model, tokens):\n    return (model(tokens + 1) - model(tokens)).max()",
        ],
        "rank": assigned(
            "answer",
            *("(torch.ones(6, 1), torch.ones(1, 3))", "(torch.ones(6, 2), torch.ones(2, 3))"),
            *("(torch.ones(6, 1), torch.ones(3, 1))", "torch.ones(6, 3)", "None"),
            "(torch.arange(6.0)[:, None], torch.tensor([[1.0, 0, -1]]))",
            "(torch.full((6, 1), torch.nan), torch.ones(1, 3))",
        ),
    },
    "dialectical": {},
    "equilibrium": {
        "credit": returns(
            "credits(J, g)",
            *("None", "(..., ...)", "g", "(1.0, g)", "(g, J)", "(g / 0, g)"),
            "(torch.linalg.solve(J, -g), torch.linalg.solve(J.T, -g))",
            "(torch.linalg.solve(J.T, g), torch.linalg.solve(J, g))",
            "(-J.T @ g, torch.linalg.solve(J, -g))",
            "(torch.linalg.solve(J, -g), torch.linalg.solve(J, -g))",
            "(torch.linalg.solve(J.T, -g), g)",
        ),
        "nudge": returns(
            "nudged(F, slope, rest, J, beta)",
            *("None", "3", "lambda z: ...", "lambda z: z[0]"),
            "lambda z: F(z) - beta * slope(z)",
            "lambda z: F(z) - beta * slope(z) + (J - J.T) @ (z - rest)",
            "lambda z: F(z) - beta * slope(z) - (J - J.T) @ (z - rest) / 2",
            "lambda z: F(z) + beta * slope(z) - (J - J.T) @ (z - rest)",
            "lambda z: F(z) - (J - J.T) @ (z - rest)",
            "lambda z: F(z) - beta * slope(rest) - (J - J.T) @ (z - rest)",
            "lambda z: F(z) - beta * slope(z) - (J - J.T) @ z",
            "lambda z: F(z) - slope(z) - (J - J.T) @ (z - rest)",
        ),
        "settles": returns(
            "settles(J, eps)",
            *("None", "0.7", "False", "True", "bool((J.diagonal() < 0).all())"),
            "bool(torch.linalg.matrix_norm(torch.eye(len(J)) + eps * J, 2) < 1)",
            "bool(torch.linalg.eigvals(torch.eye(len(J)) + 0.5 * J).abs().max() < 1)",
            "bool(torch.linalg.eigvalsh(J + J.T).max() < 0)",
        ),
        "beta": returns(
            "best_nudge(c, r)",
            *("None", "'small'", "(r / c) ** (1 / 3)", "(r / 2 / c) ** 0.5", "r / (2 * c)"),
            *("(2 * c / r) ** (1 / 3)", "(2 * r / c) ** (1 / 3)", "1.0", "0.5"),
        ),
    },
    "triple_product": {
        "floor": returns(
            "floor(v, n, p)",
            *("p[0] * math.log(v) / (n - 1)", "(p[0] - 1) * math.log(v) / n", "1.0", "None"),
            *("(p[0] - 1) * math.log(v)", "(p[0] - 1) * math.log2(v) / (n - 1)", "'much'"),
            *("-(p[0] - 1) * math.log(v) / (n - 1)", "p[0] * math.log(v) / n"),
            "(sum(p) / len(p) - 1) * math.log(v) / (n - 1)",
        ),
        "content": [
            ACCURACY.format(value=value)
            for value in (
                *("False", "True", "0.7", "None", "accuracy(model, 7) > 0.5"),
                *(
                    "accuracy(model, 6) > 0.5",
                    "accuracy(model, 7) > 0.5 or accuracy(model, 11) > 0.5",
                ),
            )
        ],
        "periods": assigned(
            "weights",
            *("None", "[7, 8]", "{7: 'half', 8: 0.5}", "{13: 1.0}", "{7.5: 1.0}", "{7: 0.5}"),
            *("{7: 1.5, 8: -0.5}", "{}", "{12: 1.0}", "{p: 1 / 7 for p in range(6, 13)}"),
        ),
        "negative": assigned(
            "answer",
            *("None", "torch.ones(2, 5)", "(torch.ones(3), 'r', torch.ones(3))"),
            "(torch.ones(3), torch.ones(3), torch.ones(4))",
            "(torch.ones(3).double(), torch.ones(3), torch.ones(3))",
            "(torch.ones(3), torch.ones(3), torch.ones(3) / 0)",
            "(1e30 * torch.ones(3), torch.ones(3), torch.ones(3))",
            "tuple(torch.eye(3))",
        ),
        "deaf": returns(
            "score(q, k, r)",
            *("None", "1.0", "k @ q.T", "torch.ones(len(q), len(k))", "q @ k.T / 0"),
            "-stable_volume(q, k, r)",
            "-stable_volume(q, k, r) / k.square().sum(-1)",
            "q @ k.T / (q.norm(dim=1)[:, None] * k.norm(dim=1))",
        ),
    },
    "trm": {
        "disguise": returns(
            "same_class(a, b)",
            *("None", "1", "False", "True", "a == b", "sorted(a) == sorted(b)"),
            "len(set(zip(a, b))) == len(set(a))",
            "len(set(zip(a, b))) == len(set(b))",
        ),
        "stop": returns(
            "steps_taken(q, level)",
            *("None", "[1, 2, 3, 1]", "q", "q.argmax(0) + 1", "(q.sigmoid() > level).sum(0)"),
            *("(q.sigmoid() > level).int().argmax(0)", "(q > level).int().argmax(0) + 1"),
            "(q.fill_(0) > level).int().argmax(0) + 1",
        ),
        "average": returns(
            "left_of_start(d, n)",
            *("None", "'all'", "d * n", "1 - d**n", "(1 - d) ** n", "(1 - d) * d**n"),
            *("d ** (n - 1)", "0.9**n"),
        ),
        "cycle": [
            CYCLE.format(thought=thought, found=found)
            for thought, found in (
                *(("net(x + y + z)", "None"), ("net(x + y + z)", "(..., ...)")),
                *(("net(x + y + z)", "y"), ("net(x + y + z)", "(y, 1.0)")),
                *(("net(x + y + z)", "(z, net(y + z))"), ("net(x + y + start)", "(net(y + z), z)")),
                *(("net(x + z)", "(net(y + z), z)"), ("net(y + z)", "(net(y + z), z)")),
                *(("net(x + y + z)", "(net(x + y + z), z)"), ("net(x + y + z)", "(net(z), z)")),
                *(
                    ("z + net(x + y + z)", "(net(y + z), z)"),
                    ("net(x + y + z)", "(y + net(y + z), z)"),
                ),
            )
        ],
    },
}

for stem in WRONG:
    for name, told in exercises.wrong(stem).items():
        WRONG[stem][name] = [code for code, _ in told]
