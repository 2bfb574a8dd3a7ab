"""Predict, then compute: what a reader expected, beside what came out and the best possible.

A chapter asks for numbers before its main run:

    prediction = {"cats": ..., "dogs": ...}

and scores them after it, against parts that its `evidence.predicted` makes of the run:

    predictions.score("animals", prediction, evidence.predicted(live))

What was predicted is kept in a file beside the notebook, `predictions-animals.json`. A teacher
puts the files of a class into one folder, each in a folder of its own or under whatever name a
learning platform has put before and behind that, and `together("folder", "animals")` draws them as
one figure. Nobody's name is in them.
"""

import html
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from pathlib import Path
from statistics import median
from typing import NamedTuple, SupportsFloat

from attn_notes import allowed, figures
from attn_notes.figures import FLOOR, GREY, INK, OURS, Picture
from attn_notes.notebook import table

TOLD = ("part", "guess", "came", "best", "low", "high", "linthresh")
"""What a file says of each part; one from before there were logarithmic scales lacks the last."""

BAND = 0.32
"""How far from its row a dot may lie, in rows."""


class Part(NamedTuple):
    """One number that is asked for.

    Args:
        name: of the part, as in the reader's dictionary.
        low: the smallest number that makes sense.
        high: the largest.
        came: what the run gave.
        best: the best that anything could reach, where that is known.
        linthresh: where the scale is logarithmic, to either side of zero, and linear between minus
            this and this; none for a linear one.
    """

    name: str
    low: float
    high: float
    came: float
    best: float | None = None
    linthresh: float | None = None

    def points(self, guess: float) -> float:
        """From 1, exact, to 0, off by half the range or more, on the scale that fits the question.

        >>> round(Part("share", 0.0, 100.0, came=80.0).points(70.0), 3)
        0.8
        """
        return max(0.0, 1 - 2 * abs(self.at(guess) - self.at(self.came)))

    def at(self, value: float) -> float:
        """Where a number lies on the part's scale, from 0, the lowest, to 1.

        >>> Part("loss", -1.0, 1.0, came=0.0, linthresh=0.01).at(0.0)
        0.5
        """

        def scaled(x: float) -> float:
            return math.asinh(x / self.linthresh) if self.linthresh else x

        low, high = scaled(self.low), scaled(self.high)
        return (scaled(value) - low) / (high - low)


class Score:
    """What a prediction came to, shown as a table; `share` is its points, from 0 to 1."""

    def __init__(self, chapter: str, parts: Sequence[Part], guesses: Mapping[str, float]) -> None:
        self.chapter, self.parts, self.guesses = chapter, tuple(parts), dict(guesses)
        points = [p.points(guesses[p.name]) if p.name in guesses else 0.0 for p in self.parts]
        self.share = math.fsum(points) / len(points)

    @property
    def words(self) -> str:
        """One sentence."""
        if not self.guesses:
            return "You predicted nothing. Put numbers for the dots, run that cell, then this one."
        some = f"{len(self.guesses)} of {len(self.parts)} predicted: " * (
            len(self.guesses) < len(self.parts)
        )
        return (
            f"{some}{100 * self.share:.0f} of 100 points. Exact is full marks, half the scale off "
            f"is none. Kept in {file_name(self.chapter)}."
        )

    def rows(self) -> list[list[str]]:
        """The table's: part, prediction, what came out, the best possible."""
        return [
            [p.name, shown(self.guesses.get(p.name)), shown(p.came), shown(p.best)]
            for p in self.parts
        ]

    def __repr__(self) -> str:
        lines = [f"{name}: {mine}, came out {came}" for name, mine, came, _ in self.rows()]
        return "\n".join([*lines, self.words])

    def _repr_html_(self) -> str:
        header = ["", "you", "came out", "the best possible"]
        return f"{table(header, self.rows()).data}<p>{html.escape(self.words)}</p>"


def shown(value: float | None) -> str:
    """Three digits, or a dash for none.

    >>> shown(0.36621), shown(90.0), shown(None)
    ('0.366', '90', '–')
    """
    return "–" if value is None else f"{value:.3g}".replace("-", "−")


def file_name(chapter: str) -> str:
    """Of the file that a prediction is kept in, in the notebook's folder."""
    return f"predictions-{chapter}.json"


def score(chapter: str, prediction: Mapping[str, object], parts: Sequence[Part]) -> Score:
    """Hold a prediction against what came out, and keep it if there is one.

    What came out as no number, as where a training broke, is left out.

    Args:
        chapter: its stem.
        prediction: a number for each part's name; `...` where none is made.
        parts: what was asked, with what came out.

    Raises:
        ValueError: a name that was not asked for, something else than a number, or one outside of
            the range that makes sense; nothing came out as a number.
    """
    known, guesses = {part.name: part for part in parts}, {}
    parts = [part for part in parts if math.isfinite(part.came)]
    allowed.some(parts=parts)
    for name, guess in prediction.items():
        if name not in known:
            raise ValueError(f"nobody asked for {name!r}; asked for: {', '.join(known)}")
        if guess is ... or guess is None:
            continue
        low, high = known[name].low, known[name].high
        number = math.nan
        if isinstance(guess, SupportsFloat) and not isinstance(guess, bool):
            number = float(guess)
        if not low <= number <= high:
            raise ValueError(f"{name}: predict a number from {low:g} to {high:g}, not {guess!r}")
        if math.isfinite(known[name].came):
            guesses[name] = number
    found = Score(chapter, parts, guesses)
    if guesses:
        told = [
            dict(zip(TOLD, (p.name, guesses[p.name], *p[3:5], *p[1:3], p.linthresh), strict=True))
            for p in parts
            if p.name in guesses
        ]
        Path(file_name(chapter)).write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return found


# A class


class Guess(NamedTuple):
    """What a file says of a part: the guess, and the part as its notebook had it."""

    guess: float
    part: Part


def collected(folder: str | Path, chapter: str) -> tuple[dict[str, list[Guess]], int]:
    """Part → what each file says of it, and how many files could not be read.

    Moodle and Canvas put a student's name and numbers before a file's own name, and a browser or a
    second submission puts more behind it.

    Raises:
        FileNotFoundError: no file of this chapter is below the folder.
    """
    called = re.compile(rf"(?:.*[^a-z])?predictions-{re.escape(chapter)}(?!\w).*\.json", re.I)
    paths = sorted(p for p in Path(folder).rglob("*") if called.fullmatch(p.name) and p.is_file())
    if not paths:
        raise FileNotFoundError(
            f"below {folder} is no file {file_name(chapter)}, or named after it"
        )
    found: dict[str, list[Guess]] = {}
    unread = 0
    for path in paths:
        try:
            guesses = [_checked(entry) for entry in json.loads(path.read_text("utf-8"))]
        except (ValueError, TypeError, KeyError):
            unread += 1
            continue
        for guess in guesses:
            found.setdefault(guess.part.name, []).append(guess)
    return found, unread


def _checked(entry: Mapping[str, object]) -> Guess:
    """A guess, as a file has it.

    Raises:
        ValueError: there is something else.
        TypeError: a number is missing.
    """
    kept: dict[str, float] = {}
    for name in TOLD[1:]:
        value = entry[name] if name != TOLD[-1] else entry.get(name)
        if value is None:
            continue
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} is no number")
        kept[name] = float(value)
    if not isinstance(entry["part"], str) or "guess" not in kept:
        raise ValueError("not a prediction")
    guess = kept.pop("guess")
    part = Part(entry["part"], **kept)
    if not part.low < part.high or (part.linthresh is not None and part.linthresh <= 0):
        raise ValueError("an empty scale")
    return Guess(guess, part)


def together(folder: str | Path, chapter: str) -> Picture:
    """A class's predictions of one lesson, as one figure: every dot a student.

    Where many guess the same number, a dot grows, and says how many they are.

    Args:
        folder: that the students' files are in, at any depth.
        chapter: its stem.

    Raises:
        FileNotFoundError: there are none.
    """
    found, unread = collected(folder, chapter)
    told, odd = [], 0
    with figures.figure(5.5, 0.9 + 0.7 * max(1, len(found))) as (fig, ax):
        for row, (name, guesses) in enumerate(found.items()):
            # One scale for all: the one that most files have.
            scales = Counter((g.part.low, g.part.high, g.part.linthresh) for g in guesses)
            scale = scales.most_common(1)[0][0]
            alike = [g for g in guesses if (g.part.low, g.part.high, g.part.linthresh) == scale]
            odd += len(guesses) - len(alike)
            part, came = alike[0].part, median(g.part.came for g in alike)
            middle = median(g.guess for g in alike)
            for x, y, count in placed([part.at(g.guess) for g in alike]):
                size = 5 * count**0.5
                ax.plot(x, row + y, "o", color=OURS, markersize=size, alpha=0.6, markeredgewidth=0)
                if count > 1:
                    ax.annotate(
                        str(count), (x, row + y), (0, 0.5 * size + 1), textcoords="offset points",
                        ha="center", va="bottom", fontsize=10, color=INK,
                    )  # fmt: skip
            ax.plot(part.at(middle), row + 0.44, "^", color=OURS, markersize=7, clip_on=False)
            ax.plot([part.at(came)] * 2, [row - 0.42, row + 0.42], color=FLOOR, linewidth=2)
            if part.best is not None:
                ax.plot(
                    part.at(part.best), row, "D", color=GREY, markerfacecolor="none", markersize=8
                )
            told.append(f"{name}: median prediction {shown(middle)}, came out {shown(came)}")
            label = f"{shown(part.low)} to {shown(part.high)}{', log' * bool(part.linthresh)}"
            ax.annotate(label, (1.07, row), color=GREY, fontsize=10, va="center")
        ax.set(xlim=(-0.03, 1.3), ylim=(len(found) - 0.5, -0.5), xticks=[])
        ax.set_yticks(range(len(found)), list(found))
        ax.spines["bottom"].set_visible(False)
    students = max((len(guesses) for guesses in found.values()), default=0)
    spoilt = f" Files that could not be read: {unread}." if unread else ""
    spoilt += f" Left out, since they name another range: {odd}." if odd else ""
    return Picture(
        fig,
        f"What {students} expected, and what came out",
        "Every dot a prediction, or as many as it says; the triangle is their median. The line is "
        "what came out, the median of their runs; a diamond is the best possible. Each row has a "
        f"range of its own, on its right.{spoilt}",
        ". ".join(told) + "." if told else "No prediction could be read.",
    )


def placed(values: Sequence[float]) -> list[tuple[float, float, int]]:
    """Where to draw the dots of a row: along it, beside it, and how many are one dot.

    Equal values are one dot on the row. Others get heights that spread neighbours, the same ones
    each time.

    >>> placed([0.5, 0.1, 0.5])
    [(0.1, 0.0, 1), (0.5, 0.0, 2)]
    """
    counts = sorted(Counter(values).items())
    close = any(b[0] - a[0] < 0.05 for a, b in pairwise(counts))
    heights = [BAND * (i * 3 % 7 - 3) / 3 if close else 0.0 for i in range(len(counts))]
    return [(x, y, count) for (x, count), y in zip(counts, heights, strict=True)]
