"""Wrong answers to the lesson's exercises, as readers write them, each with its symptom."""

JUDGED = """import math

a, b, c = map(math.exp, checks.softmax.seen(0)["scores of a, b and c"])
case = 0
answer = {{"all three": {all_three}, "masked": {masked}, "verdict": {verdict!r}}}"""
LEFT = "torch.ones(len(scores), len(scores)).tril()"  # what may be read


def judged(
    all_three: str = "a / (a + b + c)",
    masked: str = "a / (a + b)",
    verdict: str = "it does not double",
) -> str:
    return JUDGED.format(all_three=all_three, masked=masked, verdict=verdict)


def masked(value: str) -> str:
    return f"import math\n\ndef masked(scores):\n    left = {LEFT}\n    return {value}"


WRONG = {
    "softmax": [
        (judged(all_three="0.0"), "raise e to each score before"),
        (judged(all_three="a / (a + b)"), "that is with the mask already"),
        (judged(all_three="..."), "still open: all three"),
        (judged(masked="a / (a + b + c)"), "add up to one"),
        (judged(masked="a / (a + b + 1)"), "e⁰ is 1"),
        (judged(masked="'much'"), "give a number, not words"),
        (judged(verdict="it doubles, short of e times"), "cannot give as much as that"),
        (judged(verdict="it grows e times"), "against the other"),
        (judged(verdict="so be it"), "the verdict is one of"),
        ("case, answer = 0, 0.19", "give a dictionary with all three"),
    ],
    "disagree": [
        ('answer = ("cab", 1)', "for cab it reads an a and an a is written"),
        ('answer = ("aab", 3)', "for aab it reads a b and a b is written"),
        ('answer = ("aab", 2)', "stands in the text"),
        ('answer = ("aab", 0)', "1, 2 or 3"),
        ('answer = ("aad", 2)', "three letters, each a, b or c"),
        ('answer = "aab"', 'as ("cab", 1)'),
        ("answer = (2, 'aab')", "three letters"),
        ("answer = None", "no answer yet"),
        ("answer = (..., ...)", "no answer yet"),
    ],
    "triangle": [
        (masked("scores"), "nothing is struck out"),
        (masked("scores[0]"), "of a table of 5 × 5"),
        (masked("[[0.0]]"), "return a tensor"),
        (masked("scores.masked_fill(left == 0, -math.inf)[:5, :5]"), "one as large"),
        (masked("left"), "what may be read"),
        (masked("scores * left"), "e⁰ is 1"),
        (masked("scores.masked_fill(left == 1, -math.inf)"), "a whole row"),
        (masked("scores.masked_fill(left.mT == 1, -math.inf)"), "a whole row"),
        (masked("scores.masked_fill(left.mT.triu(1).mT == 1, -math.inf)"), "the other triangle"),
        (masked("scores + (1 - left) * -math.inf"), "0 · −∞"),
        (masked("scores - 3 * left.mT.triu(1)"), "if only a little"),
        (masked("scores.masked_fill(left == 0, -math.inf).softmax(-1)"), "shares already"),
        (masked("(2 * scores).masked_fill(left == 0, -math.inf)"), "keep its score"),
    ],
}
