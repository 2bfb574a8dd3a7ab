"""Wrong answers to the lesson's exercises as readers write them, each with its symptom."""


def of(head: str, *tried: tuple[str, str]) -> list[tuple[str, str]]:
    return [(f"def {head}:\n    return {value}", symptom) for value, symptom in tried]


LOOK = """case = 0
answer = {{"mind": {mind}, "answer": {answer}, "verdict": {verdict!r}}}"""


def look(mind: str = "7", answer: str = "3.5", verdict: str = "it rises") -> str:
    """One look at the puzzle 8, from nothing, by a network that halves."""
    return LOOK.format(mind=mind, answer=answer, verdict=verdict)


# fmt: off
WRONG = {
    "disguise": of(
        "same_class(a, b)",
        ("1", "return True or False"),
        ("False", "of its own class"),
        ("True", "two rows exchanged"),
        ("a == b", "the same grid in disguise"),
        ("sorted(a) == sorted(b) and a[:4] != b[4:8]", "in other places"),
        ("all(b[a.index(y)] == x for x, y in zip(a, b))", "still the same grid"),
        ("sorted(a) == sorted(b)", "two rows exchanged"),
        ("len(set(zip(a, b))) == len(set(a))", "may not get one name"),
        ("len(set(zip(a, b))) == len(set(b))", "may not get two names"),
    ),
    "stop": of(
        "steps_taken(q, level)",
        ("[1, 2, 3, 1]", "one number a puzzle, not list"),
        ("q", "not (3, 4)"),
        ("(q.fill_(0) > level).int().argmax(0) + 1", "has been changed"),
        ("torch.tensor([0, 1, 2, 0])", "counted from 1"),
        ("(q.sigmoid() > level).int().argmax(0) + 1", "all three steps are taken"),
        ("(q > level).int().argmax(0) + 1", "all three steps are taken"),
        ("torch.tensor([1, 2, 3, 1])", "does the level count?"),
        ("torch.tensor([2, 3, 3, 1]) if level > 0.5 else torch.tensor([1, 2, 3, 1])", "nine steps"),
        ("torch.cat([q[:-1] > level, q[:1] < 99]).int().argmax(0) + 1", "compare σ(q)"),
        ("torch.tensor([3, 2, 3, 3])", "Stop at the first"),
        ("q.argmax(0) + 1", "all three steps are taken"),
        ("(q.argmax(0) + 1).masked_fill((q.sigmoid() > level).sum(0) == 0, len(q))",
         "where it is surest"),
        ("(q.sigmoid() > level).sum(0).masked_fill(q[0] < 0, 3)", "level 0.5: it should be"),
    ),
    "average": of(
        "left_of_start(d, n)",
        ("'all'", "give a number, not words"),
        ("[][n]", "your code stopped with IndexError"),
        ("d * n", "it is a power"),
        ("1 - d**n", "What is left of the start?"),
        ("(1 - d) ** n", "the average keeps decay"),
        ("(1 - d) * d**n", "not weighed by 1 − decay"),
        ("d ** (n - 1)", "one step too few"),
        ("0.9**n", "for 0.99 and 30 steps it should be"),
    ),
    "look": [
        ("case, answer = 0, 3.5", "give a dictionary with answer, mind, verdict"),
        (look("...", "...", "it rises"), "still open: answer, mind"),
        (look(mind="4"), "each thought starts from the one before"),
        (look(mind="6"), "that is two"),
        (look(mind="7.5"), "that is four"),
        (look(mind="0"), "a thought reads the puzzle, too"),
        (look(answer="7.5"), "an answer leaves the puzzle aside"),
        (look(answer="0"), "from what is in mind after thinking"),
        (look(answer="3"), "answer is not 3 in these numbers"),
        (look(verdict="it falls"), "above the answer, and draws it up"),
        (look(verdict="it stays"), "another mind and another answer"),
        (look(verdict="so be it"), "the verdict is one of"),
    ],
}
