"""Wrong answers to the lesson's exercises, as readers write them, each with its symptom."""

LOOP = """def future_leak(model, tokens):
    found = []
    for i in {places}:
        altered = tokens.clone()
        altered[:, i] = {token}
        change = (model(tokens) - model(altered)){kept}
        found.append({much})
    return {all}"""

JUDGED = """from attn_notes.analysis.statistics import rank_p

case = {case}
seen = {{name: torch.tensor(steps).float() for name, steps in checks.part.seen(case).items()}}
answer = {{"p": {p}, "verdict": {verdict!r}}}"""
HELD = "rank_p(seen['gated'], seen['divided by three'])"


def floor(value: str) -> str:
    return f"import math\n\ndef floor(letters, length):\n    return {value}"


def leak(**changed: str) -> str:
    right = {
        "places": "range(1, 6)", "token": "(altered[:, i] + 1) % 4", "kept": "[:, :i]",
        "much": "change.abs().max().item()", "all": "max(found)",
    }  # fmt: skip
    return LOOP.format(**right | changed)


def judged(p: str = HELD, verdict: str = "cannot be told", case: int = 0) -> str:
    return JUDGED.format(p=p, verdict=verdict, case=case)


PART = 1  # a case in which it was the part
LARGEST, SHAPE = "Return the largest change of any logit", "should have shape"
FAR = "you find whoever reads the very next token, but a model whose logits at position 0 read"
WRONG = {
    "floor": [
        (floor("2 * math.log2(3) / 6"), "in bits"),
        (floor("math.log(3) / 2"), "count the first letter"),
        (floor("2 * math.log(3) / 7"), "six predictions"),
        (floor("math.log(3)"), "the mean over two letters"),
        (floor("math.log(3) / 3"), "size of the alphabet"),
        (floor("math.log(letters) / 3"), "length of the word"),
        (floor("(length - 1) * math.log(letters) / (2 * length) + (length < 2)"), "of one letter"),
        (floor("2 * math.log(3)"), "sum over a sequence"),
        (floor("-math.log(3) / 3"), "which is positive"),
        (floor('"much"'), "give a number, not words"),
        (floor("1.0"), "it should be 0.3662041, not 1"),
        (floor("None"), "no answer yet"),
        ("def floor(*_):\n    raise RuntimeError('boom')", "stopped with RuntimeError: boom"),
    ],
    "leak": [
        (leak(places="[5]"), "position 0 read the token at position 1 got away"),
        (leak(places="range(1, 5)"), "position 0 read the token at position 5 got away"),
        (leak(places="[1]"), "position 0 read the token at position 2 got away"),
        (leak(kept=""), "a causal sorter was found to leak"),
        (leak(kept="[:, i - 1]"), f"{FAR} the token at position 2 got away"),
        (leak(much="change.abs().max() > 1e-5", all="any(found)"), "not whether one does"),
        (leak(much="change.abs().mean().item()"), LARGEST),
        (leak(much="9 * change.norm().item()"), LARGEST),
        (leak(much="change.max().item()"), "moves one way is found"),
        (leak(token="1"), "got away with it. Do you change every"),
        ("def future_leak(model, tokens):\n    return 0.0", "got away"),
        ("def future_leak(model, tokens):\n    tokens[:, 5] = 1\n    return 0.0", "`clone` them"),
        (leak(token="altered[:, i] + 1"), "token ids run from 0 to 3"),
    ],
    "rank": [
        (f"answer = {value}", symptom)
        for value, symptom in (
            ("(torch.ones(6, 1), torch.ones(1, 3))", "everywhere"),
            ("(torch.ones(6, 2), torch.ones(2, 3))", f"A {SHAPE} (6, 1), not (6, 2)"),
            ("(torch.ones(6, 1), torch.ones(3, 1))", f"B {SHAPE} (1, 3), not (3, 1)"),
            ("torch.ones(6, 3)", "give two tensors"),
            ("(torch.arange(6.0)[:, None], torch.tensor([[1.0, 0, -1]]))", "the rank is above 1"),
            ("(torch.full((6, 1), torch.nan), torch.ones(1, 3))", "not finite"),
        )
    ],
    "verdict": [
        (judged(p="rank_p(seen['gated'], seen['plain'])"), "gated weights against plain ones"),
        (judged(p=f"{HELD} / 2"), "two sides"),
        (judged(verdict="the part"), "only divided by three arrive no later"),
        (judged(verdict="no difference"), "cannot be told apart does not make them equal"),
        (judged(case=PART), "hold gated weights against divided ones"),
        (judged(verdict="yes"), "the verdict is one of “cannot be told”, “no difference”, “the"),
    ],
    "rescue": [("def rescue():\n    return 3", "return what `train` returns")],
}
