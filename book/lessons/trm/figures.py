"""The figures of the lesson: results in, a drawing with title, caption and alt text out."""

import torch
from jaxtyping import Int
from matplotlib.patches import Rectangle
from torch import Tensor

from book.kit import figures
from book.kit.figures import CONTROL, GREY, INK, MAUVE, OURS, PUBLISHED, VIOLET, Picture, Yours
from book.kit.words import median, percent
from book.lessons.trm import evidence
from book.lessons.trm.evidence import Live, Recorded, network
from book.lessons.trm.recipe import (
    DEEP,
    EQUAL,
    ONE_STEP,
    REREADING,
    SHARING,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
)

BASELINES = {TRM_LIVE: OURS, DEEP: MAUVE, EQUAL: CONTROL}
Y, Z = OURS, VIOLET  # the answer and what is in mind, as in the widget
BOX = (TASK.rows, TASK.columns)
PUZZLE = "..4...1..2...4..65......3...1...5..."  # which the widget opens with
COUNT = {1: "one", 2: "two", 5: "five", 6: "six", 8: "eight"}


def seeds(recorded: Recorded) -> int:
    """How many were recorded."""
    return len(recorded.members())


# --- One puzzle


TEXT = 5.5
"""Inches; drawn as wide as the text, letters of 11.5 points are read on a phone as well."""
LETTERS = 11.5
SHOWN = (1, 2, TRAINED)  # looks after which the first board is drawn


def boards() -> Picture:
    """One puzzle after one look, two and eight: what changed, what is wrong, how sure it is."""
    clues, solution = TASK.read(PUZZLE)
    logits, halt = network().trace(clues[None], TRAINED)
    digits, sure = logits[:, 0].argmax(-1), halt[:, 0].sigmoid()
    blank = clues == 0
    wrong = [int(((digits[look - 1] != solution) & blank).sum()) for look in SHOWN]
    before: Int[Tensor, " c"] | None = None
    with figures.figure(TEXT, 2.5, columns=len(SHOWN)) as (fig, axes):
        fig.get_layout_engine().set(wspace=0.08)
        for ax, look in zip(axes, SHOWN, strict=True):
            now = digits[look - 1]
            if before is not None:
                for cell in ((now != before) & blank).nonzero()[:, 0].tolist():
                    row, column = divmod(cell, TASK.side)
                    ax.add_patch(
                        Rectangle((column, row), 1, 1, color=OURS, alpha=0.12, linewidth=0)
                    )
            figures.board(ax, clues, BOX, filled=now, solution=solution, size=13.5)
            ax.set_title(f"after {COUNT[look]} look{'s' * (look > 1)}", fontsize=LETTERS + 0.5)
            ax.set_xlabel(f"{percent(sure[look - 1], 0)} % sure", fontsize=LETTERS + 0.5)
            before = now
    return Picture(
        fig,
        f"{COUNT[wrong[0]].capitalize()} mistakes after one look, and none after eight",
        "Blue digits are the network’s and the others are given; a frame is a mistake, and shaded "
        "is what changed since the board to the left.",
        "A Sudoku of six by six, filled in by the network three times: "
        + "; ".join(
            f"after {COUNT[look]} look{'s' * (look > 1)} {count} cells are wrong, and it is "
            f"{percent(sure[look - 1], 0)} % sure"
            for look, count in zip(SHOWN, wrong, strict=True)
        )
        + ".",
    )


# --- What came out


def looks(live: Live, recorded: Recorded) -> Picture:
    """Minimal puzzles solved against looks."""
    x = torch.arange(1, THINK + 1)
    curve = torch.stack([recorded.solved(TRM_LIVE, "minimal", k) for k in x.tolist()])
    once = median(recorded.solved(DEEP, "minimal", 1))
    with figures.figure(TEXT, 3.3) as (fig, ax):
        figures.band(ax, x, 100 * curve, OURS)
        ax.plot(x, 100 * live.seen.right.float().mean(1), "--", color=INK, linewidth=1.2)
        ax.plot(1, 100 * once, "s", color=MAUVE, markersize=7)
        ax.axvline(TRAINED, color=GREY, linestyle=":", linewidth=1)
        ax.axhline(100 * once, color=MAUVE, linestyle=":", linewidth=1.2)
        for height, where, words, colour in (
            (82.0, "center", "the small network,\nlook after look", OURS),
            (100 * once + 3, "bottom", "four times\nthe weights", MAUVE),
        ):  # right of what a reader guesses and trains
            ax.text(11.4, height, words, color=colour, fontsize=LETTERS, va=where)
        ax.set(ylim=(0, 103), xlim=(0.5, THINK))
        ax.set_xlabel("looks (dotted: as many as in training)", fontsize=LETTERS)
        ax.set_ylabel("solved, of a hundred", fontsize=LETTERS)
        ax.set_xticks([1, 2, 4, 8, 12, 16])
        ax.tick_params(labelsize=LETTERS)
    one, eight, late = (percent(median(curve[k - 1]), 0) for k in (1, TRAINED, THINK))
    return Picture(
        fig,
        "One look solves some, eight looks nearly all",
        f"The line is the middle of {seeds(recorded)} trainings and the band their middle half; "
        "dashed is the network that this page trained.",
        f"Puzzles solved of a hundred, by looks: {one} after one, {eight} after {TRAINED}, {late} "
        f"after {THINK}; {percent(once, 0)} by the network with four times the weights; by the "
        f"one that this page trained {percent(live.solved(1), 0)}, "
        f"{percent(live.solved(TRAINED), 0)} and {percent(live.solved(), 0)}.",
        lesson="trm",
        yours=[
            Yours(
                ax,
                {"recursive": "recursive"},
                series="looks",
                reads={"solved after one look": 1.0, f"after {TRAINED} looks": float(TRAINED)},
                unit=" %",
                guesses={evidence.ASKED[0].name: (float(TRAINED), None)},
                recorded={
                    "recursive": f"The recorded seeds, trained longer, solve {eight} % after "
                    f"{TRAINED} looks, by their median."
                },
            )
        ],
    )


EACH_LAYER = [place + side for place in range(4) for side in (-0.15, 0.15)]  # of two in a box
TAKEN = {
    "eight looks": (TRM_LIVE, TRAINED, OURS, "AAAA", (0, 1, 2)),
    "trained for one look": (ONE_STEP, 1, OURS, "AAAA", (0, 1, 2)),
    "one board, read at every layer": (SHARING, 1, OURS, "AAAA", EACH_LAYER),
    "four sets of weights": (REREADING, 1, MAUVE, "ABCD", EACH_LAYER),
    "puzzle read only once": (DEEP, 1, MAUVE, "ABCD", (0,)),
}
"""What is taken away, one thing after the other: a kind, the looks that it takes, and of one look
the weights that are used one after the other, and where among them the puzzle is read."""


def taken(recorded: Recorded) -> Picture:
    """What is left as one thing after the other is taken away: the network, and each seed a dot."""
    solved = {
        name: 100 * recorded.solved(kind, "minimal", looks)
        for name, (kind, looks, *_) in TAKEN.items()
    }
    with figures.figure(TEXT, 4.4, 1, 2, width_ratios=(1.15, 1), sharey=True) as (fig, axes):
        nets, ax = axes
        for place, (name, values) in enumerate(solved.items()):
            _, looks, colour, weights, reads = TAKEN[name]
            ax.plot(values, [place] * len(values), "o", color=colour, markersize=6, alpha=0.7)
            ax.plot(median(values), place, "|", color=colour, markersize=20)
            ax.text(104, place, f"{median(values):.0f}", fontsize=LETTERS, color=colour,
                    va="center")  # fmt: skip
            words = f"{place}. {name}" if place else name
            nets.text(-0.5, place - 0.34, words, fontsize=LETTERS, va="center")
            for x, letter in enumerate(weights):
                if x:
                    nets.plot([x - 0.66, x - 0.34], [place + 0.2] * 2, color=GREY, linewidth=1.2)
                nets.text(x, place + 0.2, letter, fontsize=LETTERS, ha="center", va="center",
                          color=colour, bbox={"boxstyle": "round,pad=0.25", "facecolor": "none",
                                              "edgecolor": colour})  # fmt: skip
            nets.plot(reads, [place - 0.09] * len(reads), "v", color=INK, markersize=4)
            nets.text(3.6, place + 0.2, f"× {looks}", fontsize=LETTERS, va="center", color=colour)
        ax.axhline(2.5, color=GREY, linewidth=1, linestyle=":")
        ax.text(100, 2.54, "four times the weights", color=MAUVE, fontsize=LETTERS, ha="right",
                va="top")  # fmt: skip
        nets.set(xlim=(-0.6, 4.6), yticks=[], xticks=[])
        ax.set(xlim=(0, 100), ylim=(len(solved) - 0.4, -0.6))
        ax.set_xlabel("solved, of a hundred", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
        ax.tick_params(axis="y", length=0)
        nets.spines[:].set_visible(False)
    return Picture(
        fig,
        "The fall comes where each use gets weights of its own",
        "Going down, more is changed. A letter is a set of weights for two layers, and a triangle "
        "reads the puzzle; a dot is a training, the bar their middle.",
        "Five networks, each changed further. Weights used in a look, and puzzles solved of a "
        "hundred, by their middle: "
        + ", ".join(
            f"{name} {TAKEN[name][3]} {median(values):.0f}" for name, values in solved.items()
        )
        + ".",
        lesson="trm",
        yours=[Yours(ax, guesses={evidence.ASKED[1].name: (None, 4.0)})],
    )


def piles(live: Live) -> Picture:
    """How sure it is of its boards after one look and after eight, right ones and wrong ones."""
    shown = (1, TRAINED)
    with figures.figure(TEXT, 3.0, columns=2) as (fig, axes):
        for ax, look in zip(axes, shown, strict=True):
            sure, right = live.seen.halt[look - 1].sigmoid(), live.seen.right[look - 1]
            tenth = (10 * sure).long().clamp(max=9)
            good, bad = (torch.bincount(tenth[found], minlength=10) for found in (right, ~right))
            places = [10 * k + 5 for k in range(10)]
            ax.bar(places, good.tolist(), width=8.6, color=OURS)
            ax.bar(places, bad.tolist(), width=8.6, bottom=good.tolist(), color=PUBLISHED)
            ax.set_title(f"after {COUNT[look]} look{'s' * (look > 1)}", fontsize=LETTERS + 0.5)
            ax.set(xlim=(0, 100), xticks=[0, 50, 100])
            ax.set_xlabel("sure, by its own word, %", fontsize=LETTERS)
            ax.tick_params(labelsize=LETTERS)
            most = float((good + bad).max())
            ax.set_ylim(0, 1.1 * most)
            if look == TRAINED:
                ax.text(86, 0.5 * most, "right", color=OURS, fontsize=LETTERS, ha="right")
                ax.text(8, 0.09 * most, "wrong", color=PUBLISHED, fontsize=LETTERS)
        axes[0].set_ylabel("boards", fontsize=LETTERS)
    held = live.sure()
    return Picture(
        fig,
        "After one look it doubts; after eight, right and wrong lie apart",
        f"{live.boards:,} fresh puzzles, by the network that this page trained: how many boards it "
        "is so sure of; blue are right, orange wrong. Each chart has its own scale. After eight "
        f"looks it gives {held.held} more than even chances, and of these {held.held_right} are "
        "right.",
        f"Two bar charts of {live.boards:,} boards by how sure the network is. After one look they "
        "are spread from unsure to sure, wrong ones to the left and right ones to the right. After "
        f"eight it is more than half sure of {held.held}, of which {held.held_right} are right.",
    )


MISREAD = ".2.1.....2.3.1..5.6.....53...11....."
"""Of a thousand fresh ones that which the recorded network has wrong and is surest of."""


def misread() -> Picture:
    """A board that is wrong and held to be right: one of its clues was taken for another digit."""
    clues, solution = TASK.read(MISREAD)
    logits, halt = network().trace(clues[None], TRAINED)
    written, sure = logits[-1, 0].argmax(-1), percent(halt[-1, 0].sigmoid(), 0)
    mistaken = (clues > 0) & (written != clues)
    given, read = (int(board[mistaken]) for board in (clues, written))
    with figures.figure(TEXT, 3.0, columns=2) as (fig, (puzzle, board)):
        fig.get_layout_engine().set(wspace=0.1)
        figures.board(puzzle, clues, BOX, size=16.0)
        kept = clues.masked_fill(mistaken, 0)
        figures.board(board, kept, BOX, filled=written, solution=written.where(~mistaken, clues),
                      size=16.0)  # fmt: skip
        for ax, words in ((puzzle, "the puzzle"), (board, f"what it wrote, {sure} % sure")):
            ax.set_title(words, fontsize=LETTERS + 0.5)
    wrong = int((written != solution).sum())
    return Picture(
        fig,
        f"It read the {given} in the first row as a {read}",
        "Blue is what the network wrote; in the frame stands what it read in the place of a digit "
        "that was given.",
        f"Two boards of six by six. On the left a puzzle, with a {given} in its first row. On the "
        f"right what the network wrote, {sure} % sure: a flawless Sudoku, in which a {read} stands "
        f"in the place of that {given}, and {wrong} cells are not what they should be.",
    )


# --- On the landing page


def emblem() -> Picture:
    """A board after one look, with what is wrong in it, and an arrow that comes back to it."""
    clues, solution = TASK.read(PUZZLE)
    logits, _ = network().trace(clues[None], 1)
    filled = logits[0, 0].argmax(-1)
    wrong = int((filled != solution).sum())
    with figures.figure(1.75, 1.15, columns=2, width_ratios=(3, 1)) as (fig, (ax, side)):
        figures.board(ax, clues, BOX, filled=filled, solution=solution, size=8.0)
        side.axis("off")
        arrow = dict(arrowstyle="-|>", color=OURS, linewidth=2, connectionstyle="arc3,rad=-1.2")
        side.annotate("", (0, 0.25), (0, 0.75), arrowprops=arrow)
    return Picture(
        fig,
        "",
        "",
        f"A Sudoku of six by six, filled in: {wrong} cells are in a frame, for they are wrong. An "
        "arrow leads from the board back to it.",
    )
