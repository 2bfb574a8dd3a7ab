"""Predict, then compute: what a reader expected, beside what came out and the best possible.

A chapter asks for numbers before its main run:

    prediction = {"cats": ..., "dogs": ...}

and scores them after it, against parts that its `evidence.predicted` makes of the run:

    predictions.score("animals", prediction, evidence.predicted(live))

What was predicted is kept in a file beside the notebook, `predictions-animals.json`. A teacher
puts the files of a class into one folder, each in a folder of its own or under another name that
begins so, and `together("folder", "animals")` draws them as one figure. Nobody's name is in them.
"""

import html
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from statistics import median
from typing import NamedTuple, SupportsFloat

from attn_notes import allowed, figures
from attn_notes.figures import FLOOR, GREY, OURS, Picture
from attn_notes.notebook import table

TOLD = ("part", "guess", "came", "best", "low", "high")
"""What a file says of each part."""


class Part(NamedTuple):
    """One number that is asked for.

    Args:
        name: of the part, as in the reader's dictionary.
        low: the smallest number that makes sense.
        high: the largest.
        came: what the run gave.
        best: the best that anything could reach, where that is known.
    """

    name: str
    low: float
    high: float
    came: float
    best: float | None = None

    def points(self, guess: float) -> float:
        """From 1, exact, to 0, off by half the range or more.

        >>> Part("share", 0.0, 100.0, came=80.0).points(70.0)
        0.8
        """
        return max(0.0, 1 - abs(guess - self.came) / ((self.high - self.low) / 2))


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
            f"{some}{100 * self.share:.0f} of 100 points. Exact is full marks, half the range off "
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
    return "–" if value is None else f"{value:.3g}"


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
            dict(zip(TOLD, (p.name, guesses[p.name], p.came, p.best, p.low, p.high), strict=True))
            for p in parts
            if p.name in guesses
        ]
        Path(file_name(chapter)).write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return found


# A class


def collected(folder: str | Path, chapter: str) -> tuple[dict[str, list[dict[str, float]]], int]:
    """Part → what each file says of it, and how many files could not be read.

    Raises:
        FileNotFoundError: no file of this chapter is below the folder.
    """
    pattern = f"predictions-{chapter}*.json"
    paths = sorted(Path(folder).rglob(pattern))
    if not paths:
        raise FileNotFoundError(f"below {folder} is no file {pattern}")
    found: dict[str, list[dict[str, float]]] = {}
    unread = 0
    for path in paths:
        try:
            entries = [_checked(entry) for entry in json.loads(path.read_text("utf-8"))]
        except (ValueError, TypeError, KeyError):
            unread += 1
            continue
        for name, entry in entries:
            found.setdefault(name, []).append(entry)
    return found, unread


def _checked(entry: Mapping[str, object]) -> tuple[str, dict[str, float]]:
    """A part's name and its numbers, as a file has them.

    Raises:
        ValueError: there is something else.
    """
    numbers = {name: entry[name] for name in TOLD[1:] if entry[name] is not None}
    if not isinstance(entry["part"], str) or not {"guess", "came", "low", "high"} <= set(numbers):
        raise ValueError("not a prediction")
    kept: dict[str, float] = {}
    for name, value in numbers.items():
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} is no number")
        kept[name] = float(value)
    if not kept["low"] < kept["high"]:
        raise ValueError("an empty range")
    return entry["part"], kept


def together(folder: str | Path, chapter: str) -> Picture:
    """A class's predictions of one chapter, as one figure: every dot a student.

    Args:
        folder: that the students' files are in, at any depth.
        chapter: its stem.

    Raises:
        FileNotFoundError: there are none.
    """
    found, unread = collected(folder, chapter)
    names = list(found)
    told, odd = [], 0
    with figures.figure(5.5, 0.9 + 0.55 * max(1, len(names))) as (fig, ax):
        for row, name in enumerate(names):
            # One scale for all: the share of the range in which a part's numbers lie.
            ranges = Counter((entry["low"], entry["high"]) for entry in found[name])
            ((low, high), _), *others = ranges.most_common()
            entries = [e for e in found[name] if (e["low"], e["high"]) == (low, high)]
            odd += sum(count for _, count in others)

            def at(value: float, low: float = low, high: float = high) -> float:
                return (value - low) / (high - low)

            guesses = sorted(entry["guess"] for entry in entries)
            heights = [row - 0.3 * (i % 5 - 2) / 2 for i in range(len(guesses))]
            ax.plot([at(g) for g in guesses], heights, "o", color=OURS, markersize=5, alpha=0.6)
            came = median([entry["came"] for entry in entries])
            ax.plot([at(came)] * 2, [row - 0.42, row + 0.42], color=FLOOR, linewidth=2)
            best = entries[0].get("best")
            if best is not None:
                ax.plot(at(best), row, "D", color=GREY, markerfacecolor="none", markersize=8)
            told.append(
                f"{name}: median prediction {shown(median(guesses))}, came out {shown(came)}"
            )
            label = f"{shown(low)} to {shown(high)}"
            ax.annotate(label, (1.07, row), color=GREY, fontsize=10, va="center")
        ax.set(xlim=(-0.03, 1.25), ylim=(len(names) - 0.5, -0.5), xticks=[])
        ax.set_yticks(range(len(names)), names)
        ax.spines["bottom"].set_visible(False)
    students = max((len(entries) for entries in found.values()), default=0)
    spoilt = f" Files that could not be read: {unread}." if unread else ""
    spoilt += f" Left out, since they name another range: {odd}." if odd else ""
    return Picture(
        fig,
        f"What {students} expected, and what came out",
        "Every dot a prediction; the line is what came out, the median of their runs; a diamond is "
        f"the best possible. Each row has a range of its own, on its right.{spoilt}",
        ". ".join(told) + "." if told else "No prediction could be read.",
    )
