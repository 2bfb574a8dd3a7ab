"""Wrong answers to each exercise that a page checks, as readers may write them."""

import inspect

from .. import exercises
from ..chapters.dialectical.test_checks import may


def returns(head: str, *values: str) -> list[str]:
    """A function with this head, for each value that it returns."""
    return [f"import math\n\ndef {head}:\n    return {value}" for value in values]


def assigned(name: str, *values: str) -> list[str]:
    return [f"{name} = {value}" for value in values]


ENTROPY = """import math

def entropy(*all):
    return -sum([q * math.log(q) for q in all])

def floor(p):
    first = entropy(p / 3, p / 3, p / 3, 1 - p)
    last = entropy(p / 3, p / 3, 1 - 2 * p / 3)
    return {value}"""
MAY = inspect.getsource(may).replace("may(", "allowed(").replace("return found", "return {value}")
PAST = """def mask(scores, keep):
    past = torch.ones_like(scores).triu(1).bool()
    past = scores.masked_fill(past, -math.inf)
    return {value}"""
CUT = """def reads_ahead(model):
    x = torch.zeros(1, 6, dtype=torch.long)
    before = model(x)
    for i in {cuts}:
        for token in {tokens}:
            changed = x.clone()
            changed[:, {changed}] = token
            if (model(changed)[:, :i] != before[:, :i]).any():
                return True
    return False"""
ACCURACY = """def accuracy(model, period):
    task = copying.Copying(16, 24, (period,))
    x = task.sample(64, Generator().manual_seed(0))
    return task.probe(model, x)["accuracy"].item()

def copies_by_content(model):
    return {value}"""


def cut(cuts: str = "range(1, 6)", tokens: str = "range(7)", changed: str = "i:") -> str:
    return CUT.format(cuts=cuts, tokens=tokens, changed=changed)


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
    "dialectical": {
        "mask": [
            PAST.format(value=value)
            for value in (
                *("past", "scores", "None", "1.0", "scores[0]", "scores - math.inf"),
                *("past + (~keep).float() * -math.inf", "scores.masked_fill(~keep, -math.inf)"),
                *("past.masked_fill(~keep, -math.inf)", "past.masked_fill(keep, -math.inf)"),
                "past.masked_fill(~keep[:, None], -math.inf)",
                "past.masked_fill(~keep, -math.inf).softmax(-1)",
            )
        ],
        "ahead": [
            "def reads_ahead(model):\n    return False",
            "def reads_ahead(model):\n    return True",
            "def reads_ahead(model):\n    return 0.7",
            "def reads_ahead(model):\n    return None",
            cut(cuts="[3, 4]", changed="i"),
            cut(cuts="[1]"),
            cut(cuts="[4]"),
            cut(tokens="[1, 6]"),
            cut(tokens="range(6)"),
        ],
        "hide": returns(
            "sly(tokens)",
            *("None", "torch.zeros(len(tokens), 4)", "torch.zeros(len(tokens), 4, 7)"),
            *("F.one_hot(tokens, 7).float() * math.nan", "F.one_hot(tokens, 7).float()"),
            "F.one_hot(tokens[:, [3, 3, 3, 3]], 7).float()",
            "F.one_hot(tokens.zero_(), 7).float()",
        ),
        "floor": [
            ENTROPY.format(value=value)
            for value in (
                *("first + last", "2 * first / (2 + 2 * p)", "(first + last) / 2", "1.0", "None"),
                *("(first + last) / (3 + 2 * p)", "-(first + last) / (2 + 2 * p)", "'much'"),
                *("(first + last) / (2 + p)", "first / (1 + 2 * p)"),
                "(first + last) / (2 + 2 * p) / math.log(2)",
            )
        ],
        "grammar": [
            MAY.format(value=value)
            for value in (
                *("None", "3", "'(x'", "'_'", "')'", "set('()abc ') - {')'}", "found - {' '}"),
                *("found - {'c'}", "found - ({' '} if remaining == 0 else set())"),
            )
        ],
    },
    "equilibrium": {},
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
    "trm": {},
}

for stem in WRONG:
    for name, told in exercises.wrong(stem).items():
        WRONG[stem][name] = [code for code, _ in told]
