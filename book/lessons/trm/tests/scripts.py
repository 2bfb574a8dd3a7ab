"""What a reader does with the lesson's board, a line each; why stands above some lines."""

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
    """As the lesson has it: a recorded network, and one as it starts."""
    made = SudokuExplorer(failures=FAILURES)
    made.load("trained here", measure.alone(evidence.network()), recipe.LIVE.config, recipe.TASK)
    made.load("untrained", None, recipe.LIVE.config, recipe.TASK)
    return made


def starts(config: Config, seeds: int) -> dict[str, Tensor]:
    states = [TRM(config, Generator().manual_seed(seed)).state_dict() for seed in range(seeds)]
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


def drawing() -> list[SudokuExplorer]:
    """One puzzle, three looks, by the recorded network."""
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
    """The explorer with the panel, and what tells of what was trained: a figure, the claims."""
    made, recorded = small(), evidence.recorded()
    made.lesson = lesson()
    right, numbers = torch.ones(16, 1).bool(), torch.zeros(16, 1)
    live = evidence.Live(measure.Solving(right, numbers, numbers))
    told = table(claims.lesson(recorded), "the claim", lesson="trm")
    return [made, figures.looks(live, recorded), told.data]


THINKING = """
press .trm-more > summary
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=sudoku&run=untrained&seed=0&puzzle=.2.1.....2.3.1..5.6.....53...11.....&step=4\
&shown=mind&selected=7
press Back to the page
press Show alone
go to ?show=sudoku
go to ?show=sudoku&run=x&seed=9&puzzle=1&step=25&shown=x&selected=36
press Back to the page
# words open what is in mind, from the first look on, and a failure; and give back what was there
press Back
press mind
press mind
press Look
press fails
press fails
# a look is a step: what came of it is said, drawn and heard; back is not thought again
press Look
press Back
press Back
press Play
# what is in mind, and one cell
press what is in mind
press .trm-cell 20
# it is seen to fail, on one puzzle after another, to the end
press See it fail
press See it fail
press its answer
press Play
# another network thinks about the same puzzle
choose "untrained" of Model
# with motion it goes on a step at a time, until it is stopped
press Start over
js moving("Play", ".trm-told", "Look 2:")
# who does not mind motion sees look by look, and goes on from one by hand
js matchMedia = () => ({ matches: false })
press Play
js for (const name of ["Play", "Look"]) \
  [...document.querySelectorAll("button")].find((each) => each.textContent === name).click()
# after the last that it fails comes the first again
press See it fail
"""
BOARDS = f"""
press .trm-more > summary
# before the first look a cell is a clue or a blank; keys lead from cell to cell
press Start over
press .trm-cell 7
keys ArrowRight ArrowDown End
keys ArrowRight ArrowUp Home
keys ArrowLeft ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown
keys ArrowUp ArrowUp ArrowUp ArrowUp ArrowUp ArrowUp
# what stands twice is named, with its cells; what leaves no solution; one goes back
keys 4
keys 1
keys 2
press Start over
press .trm-cell 1
keys 1
keys Delete
# what is no digit of this board
press .trm-cell 2
keys 7
keys 6
keys 4
keys F4 Control+5
# without a clue that was needed there are several solutions; one more is a puzzle yet
keys Backspace
keys 4
press .trm-cell 8
press 3 as the clue in row 2, column 3
press 3 as the clue in row 2, column 3
# the board as a text; one that cannot be leaves what was there
type "" into Puzzle
press .trm-cell 2
keys q
type "<img src=x onerror=alert(1)>" into Puzzle
type "\u200b7" into Puzzle
type "{"." * 300}" into Puzzle
type "+--+ |6 2 4 1 5 3| 153246 241365 536421 362514 41563_" into Puzzle
type "004000 100200 040065 000000 300010 005___" into Puzzle
type "624153153246241365536421362514415632" into Puzzle
press Look
# a board of several solutions is filled, and judged by the rules
press Clear
press .trm-cell 0
keys 5
type "55.................................." into Puzzle
press Play
press Start over
"""
ARRIVING = """
press .trm-more > summary
# the second of two seeds; what was chosen stays while another training arrives
choose "1" of Seed
press .trm-cell 6
press what is in mind
js all = models[0].get("runs")
js models[0].set("runs", { "two seeds": all["no numbers"], even: all.even })
press its answer
# no class of boards was held out there; here all that symmetries make of a grid
choose "even" of Model
# a draft stays as well, unless a kernel has another puzzle, or the boards are others
press Clear
press .trm-cell 3
keys 2
js models[0].set("runs", all)
js models[0].set("puzzle", "......4.4.1..2.."); models[0].set("step", 2)
js models[0].set("shown", "mind"); models[0].set("selected", 15)
press Clear
choose "<b>larger</b>" of Model
# none is left: a board, and no model until one arrives
js models[0].set("runs", {})
press Draw an easy one
js models[0].set("runs", { "<b>larger</b>": all["<b>larger</b>"] })
press Look
js models[0].set("selected", 30); models[0].set("run", "two seeds"); models[0].set("runs", all)
# whichever of two a message names first
js models[0].set("runs", {}); models[0].set("runs", all); models[0].set("run", "even")
"""
KEYS = """
# all by the keyboard, in the order in which it is seen
focus Model
keys Tab Tab 3
keys Space
keys Tab Enter
keys Tab Tab Enter
keys Shift+Tab Shift+Tab Enter
keys Tab Tab Tab Enter
keys Enter
keys Tab Enter
keys Tab Tab Enter
keys Tab ArrowRight
keys Tab ArrowRight
keys Tab Enter
keys Tab Tab Tab Tab Control+a Delete
"""
SEVEN = (
    'js const { set } = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage"); '
    "const better = ({ count, step }) => "
    "({ count, step, solved: Math.ceil(0.7 * count), looks: [[1, 20], [8, 70]] }); "
    "const told = (data) => ({ data: { ...data, judged: data.judged && better(data.judged) } }); "
    'Object.defineProperty(Worker.prototype, "onmessage", '
    "{ set(tell) { set.call(this, ({ data }) => tell(told(data))); } })"
)
TRAINING = f"""
# a guess, and a training to its end; what came out is in figure and claims, and where one looks
press fewer than 30
press Train
choose "yours" of Model
press Start over
# a cell that is pressed is taken apart below; a key that is refused says so there
press .trm-cell 5
press .trm-more > summary
focus .trm-cell 5
keys 9
# a Worker that solves seven of ten: not as guessed, and the challenge is met
{SEVEN}
press Train
# smaller ones; how long they take is said before, and on the way, pauses left out
press .attn-settings > summary
choose "4" of Puzzles at once
choose "20" of Steps
choose "60" of Steps
press 2
press off
js seconds = 0; performance.now = () => 1000 * seconds
press One step
js seconds = 4
press One step
js seconds = 60
press One step
# another run is looked at while this one waits; then it ends
choose "two seeds" of Model
choose "yours" of Model
press Train
# three in a row are told against one guess, and the challenge counts them
press Another seed
press 60 to 90
press 3 seeds
# another lesson, in which these are more looks than it allows; and none
js given = {{ ...models[0].get("lesson"), look: 0, goal: {{ solved: 0.7, steps: 29 }} }}
js models[0].set("lesson", given)
press Train
js models[0].set("runs", {{}})
js models[0].set("lesson", {{}})
"""
KEEPING = """
# after a first run weights are kept, taken back, a file; another day they are there
press Train
press Another seed
press One step
press Keep
press One step
press Take back
press Download
reload
press Start over
press Take back
# nonsense that stands there is not taken
js for (const key of Object.keys(localStorage)) localStorage[key] = "[[nonsense"
press Another seed
# a browser that keeps nothing says so
js Object.defineProperty(window, "localStorage", { get() { throw new Error("barred"); } })
press One step
press Keep
press Take back
"""
RECURSION = """
# a use of the network at a time: three thoughts, an answer, and so on to the last
press Next
press Next
press Next
press Next
press Next
press Back
# on a phone the boards stand under one another
width 360
press Next
keys Enter Enter Enter Enter Enter Enter Enter
press Start over
"""
SCRIPTS = {
    "thinking": (lambda: on_site(explorer(), "fails", "mind"), THINKING),
    "boards": (lambda: [explorer()], BOARDS),
    "arriving": (lambda: [small()], ARRIVING),
    "keys": (lambda: [small()], KEYS),
    "training": (taught, TRAINING),
    "keeping": (lambda: taught()[:1], KEEPING),
    "recursion": (drawing, RECURSION),
}
