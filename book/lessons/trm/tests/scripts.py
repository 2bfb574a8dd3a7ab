"""Pages with the lesson's board; what a reader does there, their transcripts say."""

import math
import os
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from book.kit.claims import table
from book.lessons.trm import claims, evidence, figures, measure, recipe
from book.lessons.trm.widget import SudokuExplorer, recursion
from tests.transcripts.played import on_site

FAILURES = [".2.1.....2.3.1..5.6.....53...11.....", "..1.....3.62.263.5.......5...4...2.."]
SMALL = replace(recipe.LIVE.config, width=8, multiple=4, layers=1, latent_steps=1)
SQUARE, SQUARES = replace(SMALL, vocabulary=5, cells=16), Sudoku(2, 2, held_out_share=0.3)


@patch.dict(os.environ, FAST="1")
def explorer() -> SudokuExplorer:
    made = SudokuExplorer(failures=FAILURES)
    made.load("trained here", measure.alone(evidence.network()), recipe.LIVE.config, recipe.TASK)
    made.load("untrained", None, recipe.LIVE.config, recipe.TASK)
    return made


def starts(config: Config, seeds: int) -> dict[str, Tensor]:
    states = [TRM(config, Generator().manual_seed(seed)).state_dict() for seed in range(seeds)]
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


def drawing() -> list[SudokuExplorer]:
    return [recursion(evidence.network(), recipe.TASK, 3)]


def small() -> SudokuExplorer:
    """Runs of many kinds, most of them on boards of four times four."""
    made, one = SudokuExplorer(), starts(SQUARE, 1)
    nothing, even = ({name: by * x for name, x in one.items()} for by in (math.nan, 0))
    made.load("two seeds", starts(SQUARE, 2), SQUARE, SQUARES)
    made.load("no numbers", nothing, SQUARE, replace(SQUARES, held_out_share=0.0))
    made.load("even", even, SQUARE, replace(SQUARES, symmetries="all"))
    made.load("<b>larger</b>", starts(SMALL, 1), SMALL, recipe.TASK)
    return made


@cache
def lesson() -> dict[str, Any]:
    """The lesson's panel with a network and boards small enough to train to the end at once."""
    made, judged = SudokuExplorer(), {"along": 4, "last": 10, "steps": 8, "probes": 4}
    change = {"config": SQUARE, "sizes": {8: 30, 4: 60}, "judged": judged, "look": 0.3}
    made.teach(**recipe.lesson(SQUARES) | change | {"goal": {"solved": 0.7, "steps": 30}})
    return made.lesson


def taught() -> list[Any]:
    made, recorded = small(), evidence.recorded()
    made.lesson = lesson()
    right, numbers = torch.ones(16, 1).bool(), torch.zeros(16, 1)
    live = evidence.Live(measure.Solving(right, numbers, numbers))
    told = table(claims.lesson(recorded), "the claim", lesson="trm")
    return [made, figures.looks(live, recorded), told.data]


PAGES = {
    "thinking": lambda: on_site(explorer(), "fails", "mind"), "boards": lambda: [explorer()],
    "arriving": lambda: [small()], "keys": lambda: [small()], "training": taught,
    "keeping": lambda: taught()[:1], "recursion": drawing,
}  # fmt: skip
