"""What the page says of its runs, beside the reports and figures that it shows of them."""

import math
import re

from attn_notes import doubt
from tests.pages.said import COUNT, Reading


def said(page: Reading) -> None:
    lesson = page("your_model")
    cells = lesson.cells

    (loss,) = re.findall(r"after 100 steps: ([\d.]+)", cells["planted"])
    lesson("trains with these two for a hundred steps. Its loss falls to almost nothing",
           where=float(loss) < 0.01)  # fmt: skip
    skips = cells["planted"].split()[-1] == "abcegikmoqs" and "abc → egikmoqs" in cells["opens"]
    lesson("Then it writes as above", "and left out every second letter", where=skips)
    lesson(f"Such a blind guess costs ln 26, which is {math.log(26):.3f}")
    lesson("Together they ask at the `c` for the `e`",
           "so it was asked for the letter after the next",
           where="each logit answers for the token after the next" in cells["ask"]
           and "At the c: first d, then e" in cells["shifts"])  # fmt: skip
    ends = [float(end) for end in re.findall(r"(?:ends at|letter:) (\d[.]\d+)", cells["curves"])]
    lesson("Here the two losses lie on each other", where=len(ends) == 2 and max(ends) < 0.01)
    lesson("Now it says the alphabet", where=cells["mended"] == "abcdefghijk")

    asked = ("answers for token 0 of row 1", "row 1 weighs 0.125, of row 0 0.25", "padding is")
    three = f"{COUNT[len(asked)].capitalize()} more things were asked by mistake"
    lesson(three, where=all(words in cells["more-figure"] for words in asked))
    mine = cells["yours-asked"].splitlines()
    ok = all(line.startswith("ok") for line in mine) and "answers for the next token" in mine[0]
    lesson("Of the small recurrent network of that example it says, among other things:", where=ok)
    six = {"causal", "floor", "compare", "slope", "twins", "proper"}
    lesson(f"{COUNT[len(six)]} more questions", where=six <= {*doubt.__all__})
