"""Predict, then compute: what a reader expected, beside what came out and the best possible.

A lesson asks questions before its main run, in fields (`widgets.guess.Guess`), and scores the
answers after it, against parts that its `evidence.predicted` makes of the run.

The page saves them as `predictions-STEM.json`. A teacher puts the files of a class into one folder,
each in a folder of its own or under whatever name a learning platform has put before and behind
that, and `together("folder", "deep_qkv")` draws them as one figure. Nobody's name is in them.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from book.kit import figures
from book.kit.figures import FLOOR, GREY, INK, OURS, Picture

TOLD = ("part", "guess", "came", "best", "low", "high")
"""What a file says of each part."""

SINCE = ("linthresh", "either")
"""What one says as well, unless it is older."""

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
        either: how far from `came` a guess is still right, as where two ranks cannot be told apart.
    """

    name: str
    low: float
    high: float
    came: float
    best: float | None = None
    linthresh: float | None = None
    either: float = 0

    def at(self, value: float) -> float:
        """Where a number lies on the part's scale, from 0, the lowest, to 1.

        >>> Part("loss", -1.0, 1.0, came=0.0, linthresh=0.01).at(0.0)
        0.5
        """

        def scaled(x: float) -> float:
            return math.asinh(x / self.linthresh) if self.linthresh else x

        low, high = scaled(self.low), scaled(self.high)
        return (scaled(value) - low) / (high - low)


class Number(NamedTuple):
    """A question whose answer is a number.

    Args:
        name: of the part.
        low: the smallest number that makes sense.
        high: the largest.
        label: the question, as the field says it.
        unit: of the number, in words.
        best: the best that anything could reach, where that is known.
        linthresh: as of `Part`.
    """

    name: str
    low: float
    high: float
    label: str
    unit: str = ""
    best: float | None = None
    linthresh: float | None = None

    def asked(self) -> dict[str, Any]:
        """What the field in the page reads."""
        told = self._asdict()
        return {"kind": "number", **{k: told[k] for k in ("name", "low", "high", "label", "unit")}}

    def came(self, value: float) -> Part:
        """The part, once it is known what came out."""
        return Part(self.name, self.low, self.high, value, self.best, self.linthresh)


class Order(NamedTuple):
    """A question whose answer is an order: each item is a part, with its rank, 1 the first.

    Args:
        name: of the question.
        label: the question, as the field says it.
        items: as they stand before anybody has moved one.
    """

    name: str
    label: str
    items: tuple[str, ...]

    def asked(self) -> dict[str, Any]:
        """What the field in the page reads."""
        return {"kind": "order", "name": self.name, "label": self.label, "items": list(self.items)}

    def came(self, order: Sequence[Sequence[str]]) -> list[Part]:
        """The parts, once it is known in which order the items came.

        Args:
            order: the items, those together that cannot be told apart: they share their ranks.
        """
        parts = {}
        rank = 1
        for alike in order:
            last = rank + len(alike) - 1
            for item in alike:
                middle, either = (rank + last) / 2, (last - rank) / 2
                parts[item] = Part(item, 1, len(self.items), middle, either=either)
            rank = last + 1
        return [parts[item] for item in self.items]


class Choice(NamedTuple):
    """A question whose answer is one of several, each a number.

    Args:
        name: of the part.
        label: the question, as the field says it.
        options: words → number.
    """

    name: str
    label: str
    options: Mapping[str, float]

    def asked(self) -> dict[str, Any]:
        """What the field in the page reads."""
        told = {"kind": "choice", "name": self.name, "label": self.label}
        return {**told, "options": list(self.options.items())}  # pairs, which keep their order

    def came(self, value: float) -> Part:
        """The part, once it is known what came out."""
        return Part(self.name, min(self.options.values()), max(self.options.values()), value)


Question = Number | Order | Choice


def shown(value: float | None) -> str:
    """Three digits, or a dash for none.

    >>> shown(0.36621), shown(90.0), shown(None)
    ('0.366', '90', '–')
    """
    return "–" if value is None else f"{value:.3g}".replace("-", "−")


def file_name(chapter: str) -> str:
    """Of the file that a page saves a prediction as."""
    return f"predictions-{chapter}.json"


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
    for name in (*TOLD[1:], *SINCE):
        value = entry.get(name) if name in SINCE else entry[name]
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
