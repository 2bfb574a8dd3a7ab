"""What the page says of its runs, beside the reports and figures that it shows of them."""

import math
import re

from tests.pages.said import COUNT, Reading

MACHINE = {
    "proper": r"(?<=at position )\d+",  # of two that are as wrong
    "causal-planted": r"(?<=  \()\d+$",  # rows that are read at once hang on how busy it is
}


def said(page: Reading) -> None:
    lesson = page("your_model")
    cells = lesson.cells

    def told(cell: str, words: str) -> list[float]:
        """The numbers of a report; each # in the words is one."""
        found = re.search(re.escape(words).replace(r"\#", r"(-?[\d.]*\d)"), cells[cell])
        assert found, f"{cell} does not report “{words}”"
        return [float(number) for number in found.groups()]

    before = not re.search("mask|dropout|while it trains|training mode", cells["title"])
    lesson("What would you look at first?", where=before)  # it is the mask, in training mode
    (floor,), uniform = told("floor", "the floor: # nats a token"), math.log(8)
    trained, held = told("train-figure", "ends at # as it trains and at # on held-out")
    useless = trained < 0.1 * floor and held > 2 * uniform
    lesson("Too good as it trains, useless when asked", where=useless)
    lesson("a loss far below what its texts allow, and is useless on texts", where=useless)
    lesson("as it trains that falls and one on held-out texts that rises", where=useless)

    leaks = re.findall(r"leak \w+ (\w+), \w+ .*? first in (.*?);", cells["causal-planted"])
    lesson("In evaluation mode nothing moves", where={mode for mode, _ in leaks} == {"train"})
    first = all(module == "blocks.0.attention (Attention)" for _, module in leaks)
    lesson("does so is the first block's attention", where=bool(leaks) and first)
    ahead = told("influence-figure", "# cells stand out in training mode, # in evaluation mode")
    lesson("In training it reads ahead, and only then", where=ahead[0] > 0 == ahead[1])
    passes = "16 tokens of 8: ok (" in cells["causal-mended"]
    lesson("The mended model passes, and the report says how small", where=passes)

    planted, mended = cells["floor-report"].split("floor, of")[1:]
    cells = cells | {"planted": planted, "mended": mended}
    one, two, three = (told("mended", f"{k}-gram #")[0] for k in (1, 2, 3))
    little = max(abs(one - uniform), abs(two - uniform)) < 0.01 and three - floor < 0.3
    lesson("and pairs tell nothing here, three tokens nearly all", where=little)
    ok = "bad" not in mended and 0.01 < told("mended", "loss #")[0] - floor < 0.06
    lesson("The mended one ends a few hundredths above the floor", where=ok)
    below = "below the source's entropy" in planted
    lesson("pays less than the source's own uncertainty", where=below)

    low, ours, theirs = told(
        "compare-figure", "at # the one with the factor ends at #, the one without at #"
    )
    lesson(f"At the rate where this was tried, {low:g}, it does", where=ours < theirs)
    quarter = 0.15 < theirs - ours < 0.35
    lesson(f"At {low:g} the factor is worth about a quarter of a nat", where=quarter)
    (seeds,) = told("compare-rates", "not in pairs, # seeds each")
    best, other = told("compare-rates", "rates: # for ours, # for theirs")
    level = best == other and cells["compare-rates"].startswith("could not be told")
    lesson("at the best rates nothing can be told", where=level)
    there = f"Both ways are best at {best:g}, and there, on {COUNT[int(seeds)]} other seeds, it"
    lesson(f"{there} *could not be told* which is better", where=level)

    wrong, asked = told("slope", "Detached # of # wrong")
    half = told("slope", "Masked # of # wrong") == [0, asked] and 0 < wrong < asked
    lesson("all others get half of what they should", where=half)
    whole, texts = told("twins", "leak twins # of # test items stand")
    lesson(f"Of {texts:g} test texts {whole:g} stand in the training data as they are")
    (short,) = told("twins", "warned of) leak twins # of")
    lesson(f"and the first six tokens of {short:g}")
    (total,) = told("proper", "the probabilities sum to #")
    right = "ok sums they are one" in cells["proper"]
    lesson(f"The probabilities sum to {total:.2f}, since a bonus", where=right)
    none = "no verdict; not ok: causal" in cells["audit-planted"]
    lesson("With the planted model in it the same page says: no verdict", where=none)
    example = "Recurrent, 20 tokens of 12: ok" in cells["yours-asked"]
    lesson("What stands here at first is a small recurrent network", where=example)
