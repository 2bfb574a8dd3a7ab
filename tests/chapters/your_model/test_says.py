"""What the lesson says of its runs, held to the runs: its cells are executed, once."""

import ast
import math
import re
from functools import cache
from typing import Any

import pytest
from dependencies import python_code, read_notebook

from attn_notes import doubt
from attn_notes.doubt.comparing import Compared
from attn_notes.doubt.reports import Answer, Report
from attn_notes.figures import Picture

from ... import exercises
from ...says import COUNT, Page, titled

NOTEBOOK = exercises.ROOT / "book" / "your_model.ipynb"
LESSON = Page("your_model")
CELLS = [c for c in read_notebook(NOTEBOOK).cells if c.cell_type == "code"]


@cache
def ran() -> dict[str, Any]:
    """The notebook's names, and what each cell shows, by its id."""
    names: dict[str, Any] = {}
    for cell in CELLS:
        tree = ast.parse(python_code(cell.source))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell.id, "exec"), names)
        if isinstance(last, ast.Expr):
            names[cell.id] = eval(compile(ast.Expression(last.value), cell.id, "eval"), names)
    return names


def of(report: Report, check: str, mode: str = "") -> Answer:
    (found,) = (a for a in report.answers if a.check == check and a.mode.startswith(mode))
    return found


pytestmark = pytest.mark.slow  # the cells train, half a minute in all


def test_the_question_is_asked_before_it_is_answered() -> None:
    """It is the mask, in training mode: neither is named above the question."""
    assert "What would you look at first?" in LESSON.cells["title"]
    assert not re.search("mask|dropout|while it trains|training mode", LESSON.cells["title"])


@pytest.mark.long
def test_the_loss_falls_through_the_floor_and_held_out_texts_say_no() -> None:
    planted, mended = ran()["curves"]
    floor = ran()["entropy"]
    titled(
        ran()["train-figure"],
        "Too good as it trains, useless when asked",
        where=planted[-1][1] < 0.1 * floor and planted[-1][2] > 2 * math.log(ran()["V"]),
    )
    assert abs(mended[-1][2] - floor) < 0.1
    LESSON.says("A loss as it trains that falls and one on held-out texts that rises")
    LESSON.says("trains to a loss far below what its texts allow, and is useless on texts")


def test_it_reads_ahead_in_training_mode_alone() -> None:
    report = ran()["report"]
    reads = of(report, "suffix", "train, double")
    LESSON.says(
        "In evaluation mode nothing moves.",
        "the first module that does so is the first block's attention",
        where=reads.verdict == "leak"
        and reads.module == "blocks.0.attention (Attention)"
        and all(a.mode.startswith("train") for a in report.bad),
    )
    titled(
        ran()["influence-figure"],
        "In training it reads ahead, and only then",
        where=all(a.verdict == "ok" for a in report.answers if a.mode.startswith("eval")),
    )
    asked = doubt.causal(ran()["mended"], ran()["x"], ran()["V"])
    LESSON.says("The mended model passes, and the report says how small", where=asked.ok)


def test_what_counting_gets_and_which_loss_lies_below() -> None:
    given = (ran()["known"], ran()["test"], ran()["V"])
    floors, entropy = ran()["floors"], ran()["entropy"]
    one, two, three = (of(floors, f"{k}-gram").size for k in (1, 2, 3))
    uniform = math.log(ran()["V"])
    LESSON.says(
        "Single tokens and pairs tell nothing here, three tokens nearly all",
        where=abs(one - uniform) < 0.01 and abs(two - uniform) < 0.01 and three - entropy < 0.3,
    )
    mended = of(floors, "loss")
    LESSON.says(
        "The mended one ends a few hundredths above the floor",
        where=floors.ok and 0.01 < mended.size - entropy < 0.06,
    )
    paid = ran()["losses"](ran()["planted"].train(), ran()["test"]).detach()
    below = doubt.floor(*given, entropy=entropy, losses=paid)
    LESSON.says(
        "pays less than the source's own uncertainty", where=of(below, "loss").verdict == "leak"
    )


def test_the_factor_was_a_rate() -> None:
    compared: Compared = ran()["compared"]
    low = min(ran()["rates"])
    worth = compared.swept[1][low] - compared.swept[0][low]
    LESSON.says(f"At the rate where this was tried, {low}, it does", where=worth > 0)
    LESSON.says(
        f"At {low} the factor is worth about a quarter of a nat.", where=0.15 < worth < 0.35
    )
    best, seeds = set(compared.rates), COUNT[len(compared.ours)]
    LESSON.says(
        f"Both ways are best at {best.pop()}, and there, on {seeds} other seeds, it *could not be "
        "told* which is better",
        where=compared.verdict is None and not best and not compared.notes,
    )
    titled(
        ran()["compare-figure"],
        "At a low rate the factor wins; at the best rates nothing can be told",
        where=worth > 0 and compared.verdict is None,
    )


def test_what_a_detached_half_makes_wrong() -> None:
    found = ran()["found"]
    right = {a.check for a in found.answers if not a.bad}
    behind = ("head", "blocks.1.second", "blocks.1.network")
    LESSON.says(
        "Right are only the parameters behind the last attention, in its block's network and the "
        "head",
        where=right == {a.check for a in found.answers if a.check.startswith(behind)},
    )
    asked = doubt.slope(ran()["Transformer"](ran()["Masked"], drop=0.0), ran()["loss"])
    assert asked.ok


def test_twins_and_sums() -> None:
    known, test = ran()["known"], ran()["test"]
    whole, short = (
        round(of(doubt.twins(known[:, :t], test[:, :t]), "twins").size * len(test)) for t in (16, 6)
    )
    LESSON.says(
        f"Of {len(test)} test texts {whole} stand in the training data as they are, and the first "
        f"six tokens of {short}"
    )
    wrong = doubt.proper(ran()["scored"], ran()["x"], ran()["V"])
    assert doubt.proper(lambda x: ran()["mended"](x).log_softmax(-1), ran()["x"], ran()["V"]).ok
    LESSON.says(
        f"The probabilities sum to {1 + wrong.answers[0].size:.2f}, since a bonus",
        where=not wrong.ok,
    )


def test_the_page_to_hand_in_has_a_verdict_and_with_a_leak_none() -> None:
    assert ran()["audit"].verdict == "could not be told"
    LESSON.says(
        "With the planted model in it the same page says: no verdict.",
        where=ran()["void"].verdict.startswith("no verdict; not ok: causal"),
    )


def test_its_own_example_is_a_file_that_passes() -> None:
    asked = doubt.made(ran()["YOURS"])
    assert doubt.causal(**asked).ok
    assert isinstance(ran()["influence-figure"], Picture)
