"""The lesson's figures: what was measured → what is drawn, with its conclusion and description."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from torch import Tensor

from attn_notes.doubt.losses import Arrow, Targets
from book.kit import figures as house
from book.kit.figures import FLOOR, GREY, INK, OURS, PUBLISHED, Picture
from book.kit.words import number

TEXT = 6.3
"""Inches, as wide as the text; such letters are then read on a phone as well."""
LETTERS, LARGE, SMALL = 14, 17, 11.5
SHOWN = 9
"""Letters of a text that are drawn."""


def emblem() -> Picture:
    """Four letters in a row, and an arrow from the first that passes over the second."""
    with house.figure(1.75, 1.15) as (fig, ax):
        for i, colour in enumerate((GREY, GREY, PUBLISHED, GREY)):
            ax.plot(i, 0, "s", color=colour, markersize=14, alpha=0.55)
        _arc(ax, 0, 2, 2.2, PUBLISHED)
        ax.set(xlim=(-0.8, 3.8), ylim=(-0.7, 1.6), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    alt = "Four squares in a row; an arrow leads from the first over the second to the third."
    return Picture(fig, title="", caption="", alt=alt)


def _arc(ax: Axes, start: int, end: int, width: float, colour: str) -> None:
    """An arrow from above one place to above another."""
    style = {
        "arrowstyle": "-|>,head_width=0.25,head_length=0.45",
        "connectionstyle": f"arc3,rad={-0.55 if end > start else 0.55}",
        "color": colour,
        "linewidth": width,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    inward = 0.07 if end > start else -0.07
    ax.annotate("", (end - inward, 0.32), (start + inward, 0.32), arrowprops=style)


def letters(row: Tensor) -> list[str]:
    """A text as letters, and a dot for what fills it up."""
    return [chr(ord("a") + k) if 0 <= k < 26 else "•" for k in row.tolist()]


def _strip(ax: Axes, texts: Sequence[Sequence[str]], arrows: Sequence[Arrow], high: int) -> None:
    """Texts in a line, and from each place an arrow to what it is asked for.

    Orange is what goes to another text, to a dot, or farther than to the next, or is heavier than
    the lightest.
    """
    wide = len(texts[0])
    for i, text in enumerate(texts):
        for j, token in enumerate(text):
            x = j + i * (wide + 1)
            ax.text(x, 0, token, ha="center", va="center", fontsize=LARGE)
        if i:
            ax.plot([i * (wide + 1) - 1] * 2, [-0.3, 0.3], color=GREY, linewidth=1)
    lightest = min((abs(arrow.weight) for arrow in arrows), default=1.0)
    for a in arrows:
        if not (0 <= a.place < wide and a.to < wide and max(a.row, a.to_row) < len(texts)):
            continue
        start, end = a.place + a.row * (wide + 1), a.to + a.to_row * (wide + 1)
        heavy = abs(a.weight) / lightest
        plain = a.row == a.to_row and a.to == a.place + 1 and heavy < 1.05
        wrong = not plain or texts[a.to_row][a.to] == "•"
        _arc(ax, start, end, min(1.8 * heavy, 5), PUBLISHED if wrong else OURS)
    ax.set(xlim=(-0.6, len(texts) * (wide + 1) - 1.4), ylim=(-0.5, 0.65 + 0.3 * high))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def opens(given: str, written: str) -> Picture:
    """What was written after what was given, among the letters that were left out."""
    first, said = ord(given[0]), given + written
    places = [ord(letter) - first for letter in said]
    with house.figure(TEXT, 1.3) as (fig, ax):
        for x in range(places[-1] + 1):
            out = x not in places
            ax.text(x, 0, chr(first + x), ha="center", va="center",
                    fontsize=SMALL if out else LARGE,
                    color=GREY if out else INK if x < len(given) else PUBLISHED)  # fmt: skip
        for start, end in pairwise(places[len(given) - 1 :]):
            _arc(ax, start, end, 1.8, PUBLISHED)
        ax.text(-0.4, -0.75, "given", fontsize=LETTERS)
        ax.text(places[len(given)], -0.75, "what it writes", fontsize=LETTERS, color=PUBLISHED,
                ha="left")  # fmt: skip
        ax.set(xlim=(-0.6, places[-1] + 0.6), ylim=(-1.0, 0.95), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return Picture(
        fig,
        title=f"{given} → {written}",
        caption="Small and grey are the letters that it leaves out.",
        alt=f"The alphabet from {said[0]} to {said[-1]}. After {given} arrows lead to "
        f"{', '.join(written)}, each over the letter between.",
    )


def shifts(text: str, at: str) -> Picture:
    """A row of letters, slid to the left by one function and again by the other."""
    rows = {"letters": INK, "collate slides": OURS, "loss slides again": PUBLISHED}
    place = text.index(at)
    with house.figure(TEXT, 2.5) as (fig, ax):
        ax.axvspan(place - 0.42, place + 0.42, color=GREY, alpha=0.2, linewidth=0)
        for y, (name, colour) in enumerate(rows.items()):
            ax.text(-4.9, -y, name, va="center", fontsize=LETTERS, color=colour)
            for x, letter in enumerate(text[y:]):
                here = x == place
                ax.text(x, -y, letter, ha="center", va="center", fontsize=LARGE,
                        color=colour if here else GREY,
                        weight="bold" if here else "normal")  # fmt: skip
                if y:
                    ax.plot([x + 0.78, x + 0.22], [0.72 - y, 0.28 - y], color=colour,
                            linewidth=2.2 if here else 1, alpha=1 if here else 0.5)  # fmt: skip
        ax.set(xlim=(-5, len(text) - 0.4), ylim=(-2.4, 0.4), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    once, twice = text[place + 1], text[place + 2]
    return Picture(
        fig,
        title=f"At the {at}: first {once}, then {twice}",
        caption=f"The grey place has just read {at}; below stands its label after each function.",
        alt=f"The letters {text[0]} to {text[-1]} in a row. Below, the row is slid one place to "
        f"the left, so that under the {at} stands {once}. Below that it is slid again, so that "
        f"{twice} does.",
    )


def asked(tokens: Sequence[object], report: Targets) -> Picture:
    """What the place of each token of the first text is asked for."""
    ahead = {arrow.to - arrow.place for arrow in report.arrows if arrow.row == arrow.to_row}
    names = {1: "the next one", 2: "the one after the next"}
    name = names.get(*ahead) if len(ahead) == 1 else None
    shown = [str(token) for token in tokens[:SHOWN]]
    high = max([1, *ahead])
    with house.figure(TEXT, 1.05 + 0.3 * min(high, 4)) as (fig, ax):
        _strip(ax, [shown], report.arrows, high)
    drawn = sum(a.row == a.to_row == 0 and max(a.place, a.to) < len(shown) for a in report.arrows)
    return Picture(
        fig,
        title=f"Each place is asked for {name}" if name else "What each place is asked for",
        caption="An arrow leads from what was just read to what the loss wants there.",
        alt=f"In a row stand {' '.join(shown)}, and {drawn} arrows lead "
        f"{f'from one to {name}' if name else 'from what was read to what is asked for'}.",
    )


def curves(seen: Mapping[str, Sequence[float]]) -> Picture:
    """Two losses as they fall, and where they end."""
    (one, first), (other, second) = seen.items()
    ends = [number(each[-1]) for each in (first, second)]
    alike = max(first[-1], second[-1]) < 0.05
    with house.figure(TEXT, 2.7) as (fig, ax):
        thick, thin = {"linewidth": 7, "alpha": 0.4}, {"linewidth": 1.6, "alpha": 1}
        ax.plot(first, color=PUBLISHED, **thick)
        ax.plot(second, color=OURS, **thin)
        ax.axhline(0, color=FLOOR, linewidth=1)
        for at, name, colour, line in ((0.6, one, PUBLISHED, thick), (0.4, other, OURS, thin)):
            ax.plot([0.16, 0.23], [at, at], color=colour, transform=ax.transAxes, **line)
            ax.text(0.26, at, name, transform=ax.transAxes, va="center", color=colour,
                    fontsize=LETTERS)  # fmt: skip
        ax.set(xlim=(0, len(first) - 1), ylim=(-0.1, 3.6))
        ax.set_xlabel("step of training", fontsize=LETTERS)
        ax.set_ylabel("loss", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
    return Picture(
        fig,
        title="Here the two losses lie on each other" if alike else "Two losses as they fall",
        caption="One model was asked for the wrong letter, the other for the right one.",
        alt=f"Two curves over {len(first) - 1} steps of training. {one.capitalize()}: it ends at "
        f"{ends[0]} nats. {other.capitalize()}: {ends[1]}.",
    )


def mistakes(texts: Mapping[str, Tensor], reports: Mapping[str, Targets]) -> Picture:
    """Losses that ask for something else: two short texts each, and their arrows."""
    with house.figure(TEXT, 1.25 * len(reports), len(reports), 1) as (fig, axes):
        for ax, (name, report) in zip(axes, reports.items(), strict=True):
            _strip(ax, [letters(row) for row in texts[name]], report.arrows, 1)
            ax.set_title(name, fontsize=LARGE - 1, loc="left", pad=0)
    said = [f"{name}: {report.bad[0].found}" for name, report in reports.items()]
    return Picture(
        fig,
        title="Three more that were found in public",
        caption="What is wrong is orange. A bar parts two texts, a dot fills one up, and a thick "
        "arrow counts for more.",
        alt="Two texts of five letters, three times, with arrows. " + ". ".join(said) + ".",
    )
