"""What the page says of its runs, beside the reports and figures that it shows of them."""

import re

from attn_notes import doubt
from tests.pages.said import COUNT, Reading

MACHINE = {
    "yours-asked": r"(?<=  \()\d+$",  # rows that are read at once hang on how busy it is
}


def said(page: Reading) -> None:
    lesson = page("your_model")
    cells = lesson.cells

    (loss,) = re.findall(r"after 100 steps: ([\d.]+)", cells["planted"])
    lesson("trains with these two for a hundred steps. Its loss falls to almost nothing",
           where=float(loss) < 0.01)  # fmt: skip
    skips = cells["planted"].split()[-1] == "abcegikmoqs" and "abc → egikmoqs" in cells["opens"]
    lesson("Then it writes as above", "and left out every second letter", where=skips)
    shifted = "each logit answers for the token after the next" in cells["ask"]
    lesson("Together they ask at the `c` for the `e`",
           where=shifted and "At the c: first d, then e" in cells["shifts"])  # fmt: skip
    lesson("At the `p` that is not the `q`, but the `r`", where=shifted)
    lesson("so it was asked for the letter after the next", where=shifted)
    ends = [float(end) for end in re.findall(r"(?:ends at|letter:) (\d[.]\d+)", cells["curves"])]
    lesson("Here the two losses lie on each other", where=len(ends) == 2 and max(ends) < 0.01)
    lesson("Now it says the alphabet", where=cells["mended"] == "abcdefghijk")

    more = cells["more-figure"]
    asked = ("answers for token 0 of row 1", "row 1 weighs 0.125, of row 0 0.25", "padding is")
    three = f"{COUNT[len(asked)].capitalize()} more things were asked by mistake"
    lesson(three, where=all(words in more for words in asked))
    mine = cells["yours-asked"].split("causal, of")
    both = len(mine) == 2 and "20 tokens of 12: ok" in mine[0] and "of 12: ok" in mine[1]
    lesson("What stands here at first asks about a small recurrent network", where=both)
    six = {"causal", "floor", "compare", "slope", "twins", "proper"}
    lesson(f"{COUNT[len(six)]} more questions", where=six <= {*doubt.__all__})
