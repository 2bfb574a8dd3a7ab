"""Wrong answers to each exercise as readers write them, and by which symptom each is told."""

MASK = """def mask(scores, keep):
    t = len(keep)
    itself = torch.eye(t, dtype=torch.bool)
    seen = torch.ones(t, t, dtype=torch.bool).tril()
    past = scores.masked_fill(~seen, -math.inf)
    right = scores.masked_fill(~(seen & keep | itself), -math.inf)
    may = (seen & keep).float()
    return {}"""
AHEAD = """def reads_ahead(model):
    x = torch.zeros(1, 6, dtype=torch.long)
    before = model(x)
    for i in {}:
        for token in {}:
            changed = x.clone()
            changed[:, {}] = token
            if {}:
                return True
    return False"""
MOVED = "(model(changed)[:, :i] != before[:, :i]).any()"
HIDE = """def sly(tokens):
    hot = F.one_hot(tokens, 7).float()
    return {}"""
FLOOR = """import math

def entropy(*all):
    return -sum([q * math.log(q) for q in all])

def floor(p):
    first = entropy(p / 3, p / 3, p / 3, 1 - p)
    last = entropy(p / 3, p / 3, 1 - 2 * p / 3)
    right = (first + last) / (2 + 2 * p)
    return {}"""
GRAMMAR = """def allowed(depth, remaining):
    found = set()
    if depth + 1 <= remaining - 1:
        found.add("(")
    if depth >= 1:
        found.add(")")
    if depth <= remaining - 1:
        found |= set("abc ")
    if depth == 0:
        found.add(" ")
    return {}"""
CUTS, TOKENS = "range(1, 6)", "range(7)"
PADDING, LATER = "looks at padding, which can stand anywhere", "looks at a later one."
ZERO, ROWS = "you leave a score of 0, and the softmax makes e⁰", "its rows"

# fmt: off
PRICED = """case = 0
answer = {{"second": {second}, "floor": {floor}, "verdict": {verdict!r}}}"""


def priced(second: str = "0.50", floor: str = "0.63", verdict: str = "it reads ahead") -> str:
    return PRICED.format(second=second, floor=floor, verdict=verdict)


WRONG: dict[str, list[tuple[str, str]]] = {
    "price": [
        ("case, answer = 0, 0.63", "give a dictionary with floor, second, verdict"),
        (priced("...", "...", "it is honest"), "still open: floor, second"),
        (priced(second="0.22"), "the price of x alone"),
        (priced(second="0.92"), "weigh each price by its chance"),
        (priced(second="0.72"), "that is in bits"),
        (priced(floor="1.89"), "a whole string's"),
        (priced(floor="0.94"), "costs nothing, but it counts"),
        (priced(floor="1.09"), "knows the third"),
        (priced(verdict="no leak is shown"), "nobody honest pays less than the floor"),
        (priced(verdict="it is honest"), "may read ahead"),
    ],
    "mask": [(MASK.format(value), symptom) for value, symptom in (
        ("1.0", "return (6, 6), not float"),
        ("scores[0]", "return (6, 6), not (6,)"),
        ("seen & keep", "not which of them stay"),
        ("right.softmax(-1)", "that is attention already"),
        ("past.masked_fill(~keep, -math.inf).softmax(-1)", "that is attention already"),
        ("past + (~keep).float() * -math.inf", "as 0 · −∞"),
        ("scores.masked_fill(may == 0, math.inf)", "a score is +∞"),
        ("scores - math.inf", "−∞ all over"),
        ("past", PADDING),
        ("scores", PADDING),
        ("scores.masked_fill(~(seen & (keep.float().cumsum(0) > 0) | itself), -math.inf)", PADDING),
        ("past * keep.float().clamp(1e-9)", "looks at padding"),
        ("scores.masked_fill(~keep, -math.inf)", LATER),
        ("scores.zero_()", "what was passed in has been changed"),
        ("scores * may", ZERO),
        ("scores.tril() * keep", ZERO),
        ("(past + (~keep).float() * -math.inf).nan_to_num(nan=0.0, neginf=-1e9)", ZERO),
        ("scores.masked_fill(~(seen & keep & ~itself), -1e9)", "should look at itself, too"),
        ("past.masked_fill(~keep[:, None], -math.inf)", ROWS),
        ("past.masked_fill(~keep[:, None], -1e9)", ROWS),
        ("scores.T.masked_fill(~(seen & keep | itself), -math.inf).T", "the other triangle?"),
        ("past.masked_fill(keep, -math.inf)", "looks at padding and at no other token"),
        ("scores - 20 * (1 - may)", "padding, if only a little"),
        ("right.clamp(min=-5)", "if only a little"),
        ("scores.masked_fill(~keep, -math.inf) - 20 * (1 - seen.float())", "a later one, if only"),
        ("right * 2", "follow its own scores"),
        ("right.clamp(min=-110)", PADDING),
        ("right.masked_fill(~torch.ones(t, t).triu(-2).bool(), -math.inf)", "at all before it"),
        ("past.masked_fill(~keep, -math.inf)", "would spread"),
        ("right if t == 6 else scores", "but not for two"),
    )],
    "ahead": [
        *((f"def reads_ahead(model):\n    return {value}", symptom) for value, symptom in (
            ("0.7", "return True or False, not float"),
            ("False", "always, got away"), ("True", "was accused"))),
        *((AHEAD.format(*parts), symptom) for parts, symptom in (
            (("[3]", "[1]", "i", MOVED.replace(":i", "i - 1")), "third token ahead"),
            (("[3, 4]", TOKENS, "i", MOVED), "Change every later token"),
            (("[1]", TOKENS, "i:", MOVED), "last but one position"),
            (("[4]", TOKENS, "i:", MOVED), "from its first position"),
            (("[1, 5]", TOKENS, "i:", MOVED), "from a middle position"),
            ((CUTS, "[1, 6]", "i:", MOVED), "letter, b"),
            ((CUTS, "range(6)", "i:", MOVED), "become padding"),
            ((CUTS, TOKENS, "i:", "not (model(changed) - before)[:, :i].abs().max() < 1e-6"),
             "−∞ − (−∞)"))),
    ],
    "hide": [(HIDE.format(value), symptom) for value, symptom in (
        ("torch.zeros(len(tokens), 4)", "return logits (2401, 4, 7), not"),
        ("hot * float('nan')", "no finite numbers"),
        ("hot", "there is nothing to find"),
        ("F.one_hot(tokens[:, [3, 3, 3, 3]], 7).float()",
         "the detector finds it, on `(a)(` beside `(a)b`, where one token is another: a logit "
         "before moves by 1"),
        ("hot * (tokens[:, 1:] == tokens[:, 1:2]).all(1)[:, None, None]",
         "on `((((` beside `(a)b`, where all 3 later ones are another at once: a logit before"),
        ("F.one_hot(tokens.zero_(), 7).float()", "has been changed"),
    )],
    "floor": [(FLOOR.format(value), symptom) for value, symptom in (
        ("'much'", "give a number, not words"),
        ("first + last", "a mean over predictions"),
        ("2 * first / (2 + 2 * p)", "need not say which"),
        ("(first + last) / 2", "2 + 2p predictions on average, no"),
        ("(first + last) / (3 + 2 * p)", "first bracket is given"),
        ("(entropy(p, 1 - p) + entropy(p / 3, 1 - p / 3)) / (2 + 2 * p)",
         "one of three characters"),
        ("right / math.log(2)", "in bits"),
        ("-right", "is positive"),
        ("(first + last) / (2 + p)", "after both brackets"),
        ("first / (1 + 2 * p)", "the end is a prediction too"),
        ("1.0", "for p = 0.25 it should be 0.56123"),
        ("right if p == 0.25 else 1.0", "but not for p = 0."),
    )],
    "grammar": [(GRAMMAR.format(value), symptom) for value, symptom in (
        ("3", "return characters, not int"),
        ("'(x'", "{'x'} is not among"),
        ("'_'", "padding is never written"),
        ("')'", "With 0 open and 1 left: there is nothing to close"),
        ("set('()abc ') - {')'}",
         "With 0 open and 1 left: after `(` there would be 1 to close with 0."),
        ("found | set('a')",
         "With 1 open and 1 left: after a filler there would be 1 to close with 0."),
        ("found | set('(') if depth == 2 and remaining == 3 else found",
         "With 2 open and 3 left: after `(` there would be 3 to close with 2."),
        ("found - {' '}", "With 0 open and 1 left: the text may end, and the end is a space"),
        ("found - ({' '} if remaining == 0 else set())", "With 0 open and 0 left: the text may"),
        ("found - {'c'}", "With 0 open and 1 left: ['c'] could come, and you forbid it"),
    )],
}
# fmt: on
