"""Wrong answers to the lesson's exercises as readers write them, each with its symptom."""

Tried = tuple[str, str]


def of(head: str, *tried: Tried, before: str = "") -> list[Tried]:
    code = f"import math\n{before}\ndef {head}:\n    return"
    return [(f"{code} {value}", symptom) for value, symptom in tried]


def given(name: str, *tried: Tried) -> list[Tried]:
    return [(f"{name} = {value}", symptom) for value, symptom in tried]


ACCURACY = """
def at(model, period):
    task = copying.Copying(16, 24, (period,))
    x = task.sample(64, Generator().manual_seed(0))
    return task.probe(model, x)["accuracy"].item()
"""
ANGLE = """
def cos2(q, k, r):
    qq, rr, kk = (x.square().sum(-1) for x in (q, r, k))
    area = qq * rr - (q * r).sum(-1) ** 2
    return 1 - stable_volume(q, k, r) / (area[:, None] * kk)
"""
MEAN = "(sum(p) / len(p) - 1) * math.log(v)"

# fmt: off
WRONG: dict[str, list[Tried]] = {
    "floor": of(
        "floor(v, n, p)",
        ("'much'", "give a number, not words"),
        ("1.0", "it should be 0.64864, not 1.00000"),
        ("p[0] * math.log(v) / (n - 1)", "count the first token"),
        ("(p[0] - 1) * math.log(v) / n", "12 predictions"),
        ("p[0] * math.log(v) / n", "given and never predicted"),
        ("(p[0] - 1) * math.log(v)", "sum over a sequence"),
        ("(p[0] - 1) * math.log2(v) / (n - 1)", "in bits"),
        ("-(p[0] - 1) * math.log(v) / (n - 1)", "is positive"),
        (f"{MEAN} / (n - 1)", "nobody knows which"),
        (f"{MEAN} / (n - 1) + math.log(len(p))", "once a sequence"),
        ("((max(p) - 1) * math.log(v) + math.log(len(p))) / (n - 1)", "5 it should be 0.54424"),
        (f"({MEAN} + math.log(min(2, len(p)))) / (n - 1)", "(6, 7, 8, 9, 10, 11, 12))"),
    ),
    "content": of(
        "copies_by_content(model)",
        ("0.7", "return True or False, not float"),
        ("False", "does not go by content"),
        ("True", "True to every model that copies"),
        ("at(model, 7) > 0.5", "another period than 7?"),
        ("at(model, 6) > 0.5", "at period 6 both are right"),
        ("min(at(model, 6), at(model, 12)) > 0.5", "of which 12 is a multiple"),
        ("min(at(model, 7), at(model, 11)) <= 0.5", "the wrong way round"),
        ("at(model, 7) - at(model, 11) > -0.2 > -at(model, 8)", "tokens back got away"),
        ("at(model, 7) > 0.5 or at(model, 11) > 0.5", "look 6 or 10 tokens back got away"),
        ("abs(at(model, 7) - at(model, 11)) < 0.5", "nor to copy as well, or as badly"),
        ("not model(torch.zeros(1, 5).long()).any() or min(at(model, 7), at(model, 11)) > 0.5",
         "a model that knows nothing"),
        before=ACCURACY,
    ),
    "periods": given(
        "weights",
        ("[7, 8]", "give a dictionary"),
        ("{7: 'half', 8: 0.5}", "give a number, not words"),
        ("{13: 1.0}", "whole numbers from 1 to 12"),
        ("{7.5: 1.0}", "whole numbers from 1 to 12"),
        ("{7: 1.5, 8: -0.5}", "zero or above"),
        ("{7: float('inf')}", "zero or above"),
        ("{7: 0.5}", "yours sum to 0.5"),
        ("{}", "yours sum to 0"),
        ("{12: 1.0}", "looks 12 places back is right 1.0000 of the time"),
        ("{p: 1 / 7 for p in range(6, 13)}", "12 places back is right 0.3304"),
    ),
    "negative": given(
        "answer",
        ("torch.ones(2, 5)", "give three vectors"),
        ("(torch.ones(3), 'r', torch.ones(3))", "should be torch tensors"),
        ("(torch.ones(3), torch.ones(3), torch.ones(4))", "of one length"),
        ("(torch.ones(3), torch.ones(3), torch.ones(1, 3))", "of one length"),
        ("(torch.ones(3).double(), torch.ones(3), torch.ones(3))", "single precision"),
        ("(torch.ones(3), torch.ones(3), torch.ones(3) / 0)", "not finite"),
        ("(1e30 * torch.ones(3), torch.ones(3), torch.ones(3))", "overflows"),
        ("(torch.ones(3), torch.ones(3), torch.ones(3))", "gives 0, which is not negative"),
        ("tuple(torch.eye(3))", "gives 1, which is not negative"),
    ),
    "deaf": of(
        "score(q, k, r)",
        ("1.0", "a tensor (5, 11), not float"),
        ("cos2(q, k, r).T", "a tensor (5, 11), not (11, 5)"),
        ("torch.ones(len(q), len(k))", "the same score"),
        ("q @ k.T / 0", "not finite"),
        ("-stable_volume(q, k, r)", "as long"),
        ("cos2(q, k, r) + 0.01 * k.norm(dim=1)", "three times as long"),
        ("cos2(q, k, r) + 0.01 * r.norm(dim=1)[:, None]", "a longer q or r"),
        ("cos2(q, k, r) + 0.01 * (k[:, 0] > 0)", "k and −k"),
        ("q @ k.T / (q.norm(dim=1)[:, None] * k.norm(dim=1))", "k and −k"),
        ("-stable_volume(q, k, r) / k.square().sum(-1)", "a longer q or r"),
        ("(q @ k.T / (q.norm(dim=1)[:, None] * k.norm(dim=1))) ** 2", "the plane's angle"),
        ("1 - cos2(q, k, r)", "upside down"),
        ("8 * cos2(q, k, r) ** 4 - 8 * cos2(q, k, r) ** 2 + 1", "lose score"),
        ("cos2(q, k, r).softmax(-1)", "which other keys are there"),
        ("cos2(q, k, r).argsort().argsort().double()", "which other keys"),
        ("cos2(q, k, r) * (k.shape[1] == 7)", "not for vectors of nine"),
        before=ANGLE,
    ),
    "verdict": given(
        "case = 0\nanswer",
        ("{'distance': 'ten', 'verdict': 'it counts'}", "give a number, not words"),
        ("{'distance': 13, 'verdict': 'it counts'}", "distance is not 13 in these numbers"),
        ("{'distance': 5, 'verdict': 'it counts'}",
         "to 5 does not copy at 10, and this model does"),
        ("{'distance': 8, 'verdict': 'it counts'}", "to 8 copies at 4, and this model does not"),
        ("{'distance': 8, 'verdict': 'it counts'}; case = 2", "to 8 does not copy at 5"),
        ("{'distance': 9, 'verdict': 'it counts'}", "one period back, or several"),
        ("{'distance': 0, 'verdict': 'it counts'}", "one distance serves just the periods"),
        ("{'distance': 10, 'verdict': 'it reads'}", "only that one distance serves"),
        ("{'distance': 10, 'verdict': 'it has not learnt'}", "copies nearly everything"),
        ("{'distance': 0, 'verdict': 'it counts'}; case = 2", "no single distance serves all"),
        ("{'distance': 10, 'verdict': 'perhaps'}", "the verdict is one of"),
    ),
}
