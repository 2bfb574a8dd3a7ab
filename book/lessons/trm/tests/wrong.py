"""Wrong answers to the lesson's exercises as readers write them, each with its symptom."""


def of(head: str, *tried: tuple[str, str]) -> list[tuple[str, str]]:
    """A function with this head, for each value that it returns."""
    return [(f"def {head}:\n    return {value}", symptom) for value, symptom in tried]


CYCLE = """
def cycle(net, x, y, z, n):
    start, old = z, y{first}
    for _ in range({times}):
        z = {thought}
    return {found}
"""


def cycle(
    found: str, thought: str = "net(x + y + z)", times: str = "n", first: str = "", *, says: str
) -> tuple[str, str]:
    """A cycle with one part of it wrong: what it returns, a thought, how often, what is first."""
    return CYCLE.format(found=found, thought=thought, times=times, first=first), says


RIGHT = "net(y + z), z"
NO_ANSWER = "no answer yet"

WRONG = {
    "disguise": of(
        "same_class(a, b)",
        ("None", NO_ANSWER),
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
        ("None", NO_ANSWER),
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
        (
            "(q.argmax(0) + 1).masked_fill((q.sigmoid() > level).sum(0) == 0, len(q))",
            "where it is surest",
        ),
        ("(q.sigmoid() > level).sum(0).masked_fill(q[0] < 0, 3)", "level 0.5: it should be"),
    ),
    "average": of(
        "left_of_start(d, n)",
        ("None", NO_ANSWER),
        ("'all'", "give a number, not str"),
        ("[][n]", "your code stopped with IndexError"),
        ("d * n", "it is a power"),
        ("1 - d**n", "What is left of the start?"),
        ("(1 - d) ** n", "the average keeps decay"),
        ("(1 - d) * d**n", "not weighed by 1 − decay"),
        ("d ** (n - 1)", "one step too few"),
        ("0.9**n", "for 0.99 and 30 steps it should be"),
    ),
    "cycle": [
        cycle("None", says=NO_ANSWER),
        cycle("(..., ...)", says=NO_ANSWER),
        cycle("y", says="return two tensors"),
        cycle("(y, 1.0)", says="the new z should be a tensor"),
        cycle("(net(y + z), start.zero_() + z)", says="has been changed"),
        cycle("(z, net(y + z))", says="changed places"),
        cycle(RIGHT, times="n + 1", says="used 4 times, not 5"),
        cycle(RIGHT, times="n - 1", says="used 4 times, not 3"),
        cycle(RIGHT, times="3", says="used 2 times, not 4"),
        cycle(RIGHT, "net(x + y + start)", says="each should start from the one before"),
        cycle(RIGHT, "net(x + z)", says="sees the answer so far"),
        cycle(RIGHT, "net(y + z)", says="sees the puzzle"),
        cycle(RIGHT, "net(2 * x + y + z)", says="again and again"),
        cycle(RIGHT, "z + net(x + y + z)", says="not added once more"),
        cycle("y, z", first="\n    y = net(y + z)", says="think n times first, then answer"),
        cycle("net(x + y + z), z", says="does not see the puzzle"),
        cycle("net(y + start), z", says="comes from the new z"),
        cycle("net(z), z", says="sees itself"),
        cycle("net(2 * y + z), z", says="with the new z"),
        cycle("y + net(y + z), z", says="not added once more"),
    ],
}
