"""The chapter's figures of models and what they cost: functions of its evidence."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from torch import Tensor

from attn_notes.analysis.statistics import Effect
from book.kit.figures import (
    CONTROL,
    CORRECTED,
    FLOOR,
    GREY,
    INK,
    MAUVE,
    PUBLISHED,
    VIOLET,
    Picture,
    Yours,
    band,
    figure,
    legend_below,
)
from book.kit.words import median, span
from book.lessons.triple_product import evidence, explorer, recipe
from book.lessons.triple_product.evidence import Body, Costs, Sweep
from book.lessons.triple_product.learnt import Loudness, Transfer

TEXT = 5.5  # inches: as wide as the text
LETTERS = 13.0  # points, of the lesson's own figures
SPELLED = {recipe.ONE["seeds"]: "three", recipe.RECORDED: "eight"}

COLOUR = {
    "dot": VIOLET,
    "volume": PUBLISHED,
    "angle": CORRECTED,
    recipe.WIDER: MAUVE,
    "line": CONTROL,
}
TRAINED = {
    "one layer": "one layer,\ntrained at 12",
    "one layer, random period": "one layer,\ntrained at 6 to 12",
    "two layers": "two layers,\ntrained at 6 to 12",
    "two layers, period 12": "two layers,\ntrained at 12",
}
"""What stands over a panel, by the names of `recipe.TASKS`."""

LINE = {
    "expanded": (PUBLISHED, "-"),
    "projected": (GREY, "-"),
    "residual": (GREY, "--"),
    "stable": (GREY, ":"),
    "features": (CORRECTED, "-"),
    "dot": (COLOUR["dot"], "-"),
    "fused dot": (COLOUR["dot"], ":"),
}
"""Colour and style of each form, and of the dot product beside them."""


def emblem() -> Picture:
    """A word that begins again, and the look that is four letters back."""
    text = "beadbea?"
    with figure(1.75, 1.15) as (fig, ax):
        for i, letter in enumerate(text):
            ax.text(i, 0, letter, ha="center", va="center", fontsize=12)
        arrow = {"arrowstyle": "-|>", "color": COLOUR["dot"], "linewidth": 2}
        ax.annotate("", (3, 0.5), (7, 0.5), arrowprops=arrow | {"connectionstyle": "arc3,rad=0.55"})
        ax.set(xlim=(-0.7, 7.7), ylim=(-0.8, 2.6))
        ax.axis("off")
    alt = (
        "The letters b, e, a, d, then b, e, a and a question mark, from which an arrow leads to d."
    )
    return Picture(fig, title="", caption="", alt=alt)


# --- One determinant, several ways


def costs(recorded: Costs) -> Picture:
    """Time and memory of each form against the published expansion."""
    lengths = recorded.lengths
    with figure(5.5, 4.6, rows=2, columns=2, sharex=True, sharey="row") as (fig, axes):
        for column, d in enumerate(recorded.dimensions):
            for row, what in enumerate(("seconds", "bytes")):
                ax = axes[row, column]
                published = recorded.of(d, "expanded", what)
                for form, (colour, style) in LINE.items():
                    ratio = [
                        ours / theirs
                        for ours, theirs in zip(recorded.of(d, form, what), published, strict=True)
                    ]
                    ax.plot(
                        lengths, ratio, color=colour, linestyle=style, label=evidence.NAMES[form]
                    )
                ax.set(xscale="log", yscale="log")
                ax.set_xticks([32, 128, 512, 2048], ["32", "128", "512", "2048"])
                ax.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
                ax.minorticks_off()
            axes[0, column].set_title(f"d = {d}", fontsize=10)
            axes[1, column].set_xlabel("length of the sequence")
        axes[0, 0].set_ylabel("time")
        axes[1, 0].set_ylabel("peak memory")
        legend_below(fig)
    d = recorded.dimensions[0]
    return Picture(
        fig,
        title="Quadratic features pay for long sequences and small heads",
        caption="A forward and backward pass of each form, recorded on one CPU thread, as "
        "multiples of what the published expansion takes: below 1 is better. Batches of "
        f"{recipe.POSITIONS} positions, or one longer sequence; two heads.",
        alt="Four panels: time and peak memory of each form against the published expansion, over "
        f"sequence lengths from {lengths[0]} to {lengths[-1]}, for heads of "
        f"{' and '.join(map(str, recorded.dimensions))} dimensions. At {lengths[-1]} and d = {d} "
        f"the quadratic features are {recorded.gain(d, 'features'):.0f} times as fast as the "
        f"expansion, the form that stops at zero {recorded.gain(d, 'projected'):.1f} times.",
    )


# --- The floor, and how the kinds learn


# --- Place or token


def offsets(found: Mapping[str, Tensor]) -> Picture:
    """Where trained heads look on random sequences: kind → [t, m]."""
    source = recipe.HALF - 1
    with figure(5.5, 2.3, columns=3, sharey=True) as (fig, axes):
        for ax, (kind, profiles) in zip(axes, found.items(), strict=True):
            ax.plot(profiles, color=COLOUR[kind], alpha=0.8, linewidth=1.3)
            ax.axvline(source, color=GREY, linestyle=":", linewidth=1)
            ax.set_title(kind, fontsize=10)
            ax.set_xticks([0, source, 2 * source])
        axes[0].set(ylabel="mean attention", ylim=(0, 1))
        axes[1].set_xlabel("places back")
    return Picture(
        fig,
        title="With nothing to find, they still look 11 places back",
        caption="On random sequences, where there is nothing to copy: mean attention by distance, "
        f"for each seed the head that looks most to {source} places back.",
        alt="Mean attention by distance on random sequences, the head of each seed that looks most "
        f"to {source} places back. There it gives "
        + ", ".join(
            f"{kind} {profiles[source].min():.2f} to {profiles[source].max():.2f}"
            for kind, profiles in found.items()
        )
        + ".",
    )


def transfer(each: Transfer) -> Picture:
    """What the lesson's one layer copies, by where a text begins again."""
    chance, right = 100 / recipe.FIXED.vocabulary, 100 * each.accuracy["dot"]
    counts = evidence.strictly_tests_induction(*evidence.home_and_elsewhere(each)) is False
    with figure(TEXT, 3.3) as (fig, ax):
        band(ax, torch.tensor(each.periods), right, COLOUR["dot"])
        ax.axhline(chance, color=FLOOR, linestyle=":", linewidth=1)
        ax.text(16.1, chance + 4, "a guess", ha="right", fontsize=LETTERS)
        ax.set(ylim=(0, 108), xlim=(5.8, 16.2))
        ax.set_xlabel("letters after which the text begins again", fontsize=LETTERS)
        ax.set_ylabel("copied right, %", fontsize=LETTERS)
        ax.set_xticks(each.periods)
        ax.set_yticks([0, 50, 100])
        ax.tick_params(labelsize=LETTERS)
    kind, count = "dot, one layer", right.shape[1]
    seen, off = (float(median(each.at("dot", p))) for p in (recipe.HALF, recipe.HALF - 1))
    yours = Yours(
        ax,
        {kind: "one layer, taught twelve"},
        series="transfer",
        reads={f"at {p}": float(p) for p in (recipe.HALF, recipe.HALF - 1)},
        unit=" %",
        guesses={evidence.ELEVEN.name: (float(recipe.HALF - 1), None)},
        recorded={
            kind: f"The middle one of those trained with this page gets {100 * seen:.0f} % at "
            f"twelve and {100 * off:.0f} % at eleven."
        },
    )
    return Picture(
        fig,
        title="Taught at twelve, it copies at twelve and guesses at eleven"
        if counts
        else "How well they copy where a text begins again elsewhere",
        caption=f"The middle one of {SPELLED[count]} models with one layer, and their middle half.",
        alt="Share of letters copied right, against the letters after which the text begins "
        "again. "
        + ", ".join(
            f"{median(row):.0f} % at {p}" for p, row in zip(each.periods, right, strict=True)
        )
        + f". A guess gets {chance:.0f} %.",
        lesson="triple_product",
        yours=[yours],
    )


TAUGHT = {
    "one layer": "one layer,\ntaught twelve",
    "two layers, period 12": "two layers,\ntaught twelve",
    "one layer, random period": "one layer,\ntaught six to twelve",
    "two layers": "two layers,\ntaught six to twelve",
}
"""The four ways of `cure`, by the names of `recipe.TASKS`."""


def cure(body: Body) -> Picture:
    """What one layer and two copy at eleven, taught one period and taught many."""
    rows = {name: 100 * body.moved[name].at("dot", recipe.HALF - 1) for name in TAUGHT}
    with figure(TEXT, 3.4) as (fig, ax):
        for row, right in enumerate(rows.values()):
            ax.plot(right, [row] * len(right), "o", color=COLOUR["dot"], markersize=7, alpha=0.5)
        ax.axvline(100 / recipe.FIXED.vocabulary, color=FLOOR, linestyle=":", linewidth=1)
        ax.set(xlim=(0, 106), ylim=(len(rows) - 0.5, -0.5))
        ax.set_yticks(range(len(rows)), TAUGHT.values())
        ax.set_xticks([0, 50, 100])
        ax.set_xlabel("copied right at eleven, %", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
        ax.tick_params(axis="y", length=0)
    count = len(next(iter(rows.values())))
    yours = Yours(
        ax,
        {f"dot, {name}": words.replace("\n", " ") for name, words in TAUGHT.items()},
        form="dots",
        series="eleven",
        reads={"at eleven": None},
        unit=" %",
    )
    return Picture(
        fig,
        title="It takes two layers, and texts that vary",
        caption=f"Each dot is a model, {SPELLED[count]} of each kind; the dotted line is a guess.",
        alt="Four rows of dots, letters copied right where the text begins again after eleven. "
        + " ".join(
            f"{TAUGHT[name].replace(chr(10), ' ')}: {span(right, 0)} %."
            for name, right in rows.items()
        ),
        lesson="triple_product",
        yours=[yours],
    )


def depth(moved: Mapping[str, Transfer]) -> Picture:
    """One layer and two that have seen one period."""
    names = ("one layer", "two layers, period 12")
    return _transfer(
        {name: moved[name] for name in names},
        "Two layers that have seen one period count as well",
    )


def task(moved: Mapping[str, Transfer]) -> Picture:
    """One layer and two that have seen many periods."""
    names = ("one layer, random period", "two layers")
    return _transfer(
        {name: moved[name] for name in names},
        "Where the period varies, one layer still counts, and two can copy",
    )


def _transfer(moved: Mapping[str, Transfer], title: str) -> Picture:
    """Share of copies right by period: one of `recipe.TASKS` → where it was tried."""
    chance = 1 / recipe.FIXED.vocabulary
    with figure(5.5, 2.9, columns=len(moved), sharey=True, squeeze=False) as (fig, grid):
        axes = grid[0]
        for ax, (name, each) in zip(axes, moved.items(), strict=True):
            shade(ax, [p for p in each.periods if p in each.home])
            for kind, accuracy in each.accuracy.items():
                band(ax, torch.tensor(each.periods), 100 * accuracy, COLOUR[kind], kind)
            ax.axhline(100 * chance, color=FLOOR, linestyle=":", linewidth=1, label="chance")
            ax.set_title(TRAINED[name], fontsize=10)
            ax.set(ylim=(0, 103), xlabel="period at test")
            ax.set_xticks(each.periods[:: 2 if len(moved) < 3 else 5])
        axes[0].set_ylabel("copies right, %")
        legend_below(fig)

    def said(name: str, each: Transfer) -> str:
        home, away = ([f"{kind} {float(at(kind).min() if low else at(kind).max()):.2f}"
                       for kind in each.accuracy] for at, low in
                      ((each.at_home, True), (each.elsewhere, False)))  # fmt: skip
        return (
            f"{TRAINED[name].replace(chr(10), ' ')}: where they were trained at least "
            f"{', '.join(home)}; elsewhere at most {', '.join(away)}."
        )

    count = next(iter(next(iter(moved.values())).accuracy.values())).shape[1]
    return Picture(
        fig,
        title,
        caption="Trained at the shaded periods, tested at others. In sequences of two periods "
        "every letter of the copy counts but its first. Median and middle half of "
        f"{count} seeds.",
        alt="Share of copies right against the period at test. "
        + " ".join(said(name, each) for name, each in moved.items())
        + f" Chance is {chance:.2f}.",
    )


def shade(ax: Axes, seen: Sequence[int]) -> None:
    """Mark the periods, or the distances, of training."""
    ax.axvspan(min(seen) - 0.4, max(seen) + 0.4, color=GREY, alpha=0.12, linewidth=0)


def follows(found: Mapping[str, Mapping[str, Tensor]]) -> Picture:
    """On random letters: how often the letter so far back is predicted, after a match and without.

    One of `recipe.TASKS` → kind → [2, d, m]; drawn is the dot product.
    """
    names = ("one layer", "two layers")
    with figure(5.5, 2.9, columns=2, sharey=True) as (fig, axes):
        for ax, name in zip(axes, names, strict=True):
            met, never = found[name]["dot"]
            back = torch.arange(1, len(met) + 1)
            shade(ax, recipe.TASKS[name].periods)
            band(ax, back, met, COLOUR["dot"], "after a match")
            band(ax, back, never, GREY, "the present letter is new")
            ax.set_title(TRAINED[name], fontsize=10)
            ax.set(ylim=(0, 1.03), xlabel="places back")
            ax.set_xticks([1, 6, 12, 18])
        axes[0].set_ylabel("share predicted")
        legend_below(fig)
    count = found["two layers"]["dot"].shape[-1]
    return Picture(
        fig,
        "One layer goes by the distance, two layers by a match at a distance that they know",
        "Random letters: how often the letter so many places back is predicted, if the present "
        "letter stood right before it (a match), and if that is new. Median and middle half of "
        f"{count} seeds.",
        "Share of predictions that are the letter so many places back, on random letters. "
        + " ".join(
            f"{TRAINED[name].replace(chr(10), ' ')}: {_followed(found[name]['dot'])}."
            for name in names
        ),
    )


def _followed(found: Tensor) -> str:
    met, never = found
    return "; ".join(
        f"{place} back {median(met[place - 1]):.2f} after a match, "
        f"{median(never[place - 1]):.2f} without"
        for place in (3, 9, 12, 18)
    )


def matched(found: Tensor) -> Picture:
    """The same of two layers with the dot product alone [2, d, m], as the lesson draws it."""
    met, never = 100 * found
    back = torch.arange(1, len(met) + 1)
    seen = recipe.RANDOM.periods
    with figure(TEXT, 3.3) as (fig, ax):
        shade(ax, seen)
        band(ax, back, met, COLOUR["dot"])
        band(ax, back, never, GREY)
        ax.text(sum(seen) / len(seen), 102, "its texts", ha="center", fontsize=LETTERS)
        ax.text(14.2, 62, "after a match", color=COLOUR["dot"], fontsize=LETTERS)
        ax.text(9, 40, "without a match", color=GREY, ha="center", fontsize=LETTERS)
        ax.set(ylim=(0, 112), xlim=(0.6, 18.4))
        ax.set_xlabel("how far back the letter stands", fontsize=LETTERS)
        ax.set_ylabel("predicted, %", fontsize=LETTERS)
        ax.set_xticks([1, 3, 6, 9, 12, 15, 18])
        ax.set_yticks([0, 50, 100])
        ax.tick_params(labelsize=LETTERS)
    return Picture(
        fig,
        "It follows a match that is about as far back as in its texts",
        "How often two layers name the letter so far back, among random letters: in colour after a "
        "match there, in grey where the present letter is new; the middle one of "
        f"{SPELLED[found.shape[-1]]} models, and their middle half.",
        f"Share of predictions that are the letter so far back: {_followed(found)}.",
    )


# --- Two ways to copy, and the circuit that matches

COUNT, MATCH = PUBLISHED, CORRECTED  # colours of counting, and of matching
Place = tuple[float | int, float]


def _letters(ax: Axes, text: str, y: float, size: float = 15) -> None:
    """A row of letters, and the gap that comes next."""
    for x, letter in enumerate(f"{text}?"):
        ax.text(x, y, letter, ha="center", va="center", fontsize=size, family="monospace")


def _arrow(ax: Axes, start: Place, end: Place, **how: object) -> None:
    """A bent arrow from one place to another."""
    drawn = {"arrowstyle": "-|>", "lw": 1.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
    ax.annotate("", end, start, arrowprops=drawn | how)


def ways() -> Picture:
    """Counting and matching, where a text begins again after four letters and after three."""
    rows = (("beadbea", "begins again after four"), ("beabea", "begins again after three"))
    with figure(TEXT, 3.3) as (fig, ax):
        for row, (text, words) in enumerate(rows):
            y, gap = -3.2 * row, len(text)
            before = text.index(text[-1])
            ax.text(-0.4, y + 1.45, words, fontsize=LETTERS, color=GREY)
            _letters(ax, text, y)
            bent = {"connectionstyle": "arc3,rad=0.28", "color": COUNT}
            _arrow(ax, (gap, y + 0.45), (gap - 4, y + 0.45), **bent)
            bent = {"connectionstyle": "arc3,rad=-0.3", "color": MATCH}
            _arrow(ax, (gap - 1, y - 0.45), (before, y - 0.45), **bent)
            bent = {"connectionstyle": "arc3,rad=0.5", "color": MATCH}
            _arrow(ax, (before + 0.25, y - 0.6), (before + 1, y - 0.45), **bent)
            for at, colour, name, letter in (
                (0.5, COUNT, "count four", text[-4]),
                (-0.5, MATCH, "match", text[before + 1]),
            ):
                said = f"{name}: {letter}"
                ax.text(gap + 0.7, y + at, said, color=colour, va="center", fontsize=LETTERS)
        ax.set(xlim=(-0.6, 11.6), ylim=(-4.7, 1.9))
        ax.set_axis_off()
    return Picture(
        fig,
        "One letter earlier, and the two ways part",
        "",
        "Two rows of letters with a gap at the end. In “bead bea” both ways write a d. In "
        "“bea bea” whoever counts four back writes an a, and whoever matches the a writes a b.",
    )


def circuit(found: explorer.Circuit) -> Picture:
    """The two looks that match, with the shares of a trained model."""
    text, source = found.text, found.source
    last = len(text) - 1
    notes, finds = (f"{100 * share:.0f} %" for share in (found.notes, found.finds))
    with figure(TEXT, 3.2) as (fig, ax):
        _letters(ax, text, 0.0, 12.5)
        for x in range(1, len(text)):
            ours = x == source
            _arrow(
                ax, (x - 1, 0.4), (x, 1.05), color=MAUVE if ours else GREY,
                lw=1.8 if ours else 0.7, mutation_scale=10 if ours else 6,
            )  # fmt: skip
            ax.text(
                x, 1.4, text[x - 1], ha="center", va="center", family="monospace",
                fontsize=12.5 if ours else 10, color=MAUVE if ours else GREY,
            )  # fmt: skip
        way = [(last + 0.45, 0.1), (last + 2.6, 3.4), (source + 2, 4.2), (source + 0.1, 1.85)]
        path = Path(way, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        head = {"arrowstyle": "-|>", "mutation_scale": 13, "linewidth": 1.8, "color": MATCH}
        ax.add_patch(FancyArrowPatch(path=path, **head))
        bent = {"connectionstyle": "arc3,rad=0.3", "color": MATCH}
        _arrow(ax, (source, -0.45), (len(text), -0.45), **bent)
        ax.text(
            -0.7, 2.05, f"first look: note the\nletter before ({notes})", color=MAUVE,
            fontsize=LETTERS,
        )  # fmt: skip
        ax.text(
            11.2, 3.6, f"second look: find the note k ({finds})", color=MATCH,
            fontsize=LETTERS, ha="center",
        )  # fmt: skip
        ax.text(12.5, -2.35, "and fetch the d", color=MATCH, fontsize=LETTERS, ha="center")
        ax.set(xlim=(-0.7, len(text) + 0.6), ylim=(-2.6, 4.3))
        ax.set_axis_off()
    letter, sought = text[source], text[last]
    return Picture(
        fig,
        "The first look notes, the second finds and fetches",
        "The text that begins again after eleven, without a j; in brackets, how much of the look "
        "goes there, in a trained model with two layers.",
        f"The letters {text} and a gap. Over each stands the letter before it. An arrow leads "
        f"from the {sought} at the end to the note {sought} over the first {letter}, share "
        f"{finds}, and another from that {letter} to the gap. The {letter} gives "
        f"{notes} of its first look to the {text[source - 1]} before it.",
    )


# --- Loud strangers, loud friends and whispers


def loudness(loud: Loudness) -> Picture:
    """Share of copies right when one token is made louder or quieter."""
    panels = (loud.others, "the eleven others"), (loud.own, "the changed letter itself")
    named = {
        "the eleven others": {"dot": (9, 38), "volume": (0.33, 16), "angle": (4.5, 64)},
        "the changed letter itself": {"dot": (0.7, 20), "volume": (3.3, 46), "angle": (0.024, 46)},
    }
    with figure(TEXT, 3.2, columns=2, sharey=True) as (fig, axes):
        for ax, (accuracy, title) in zip(axes, panels, strict=True):
            for kind, shares in accuracy.items():
                band(ax, torch.tensor(loud.factors), 100 * shares, COLOUR[kind])
                ax.text(*named[title][kind], kind, color=COLOUR[kind], fontsize=LETTERS)
            ax.set(xscale="log", ylim=(0, 103))
            ax.set_xlabel("times as loud", fontsize=LETTERS)
            ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
            ax.set_yticks([0, 50, 100])
            ax.tick_params(labelsize=LETTERS)
            ax.set_title(title, fontsize=LETTERS)
        axes[0].set_ylabel("copied right, %", fontsize=LETTERS)
        marked, lost = 3.0, 100 * loud.at("own", "volume", 3.0)
        axes[1].axvline(marked, color=GREY, linestyle=":", linewidth=1)
        axes[1].text(4, lost + 4, "× 3", fontsize=LETTERS)

    def at(of: str) -> str:
        return "; ".join(
            f"{kind} " + ", ".join(f"{loud.at(of, kind, c):.2f}" for c in (0.1, 3.0, 100.0))
            for kind in loud.own
        )

    count = next(iter(loud.own.values())).shape[1]
    whisper, stranger = (loud.at("others", "volume", factor) for factor in (0.1, 100.0))
    as_said = stranger > evidence.COPIED > max(whisper, loud.at("own", "volume", 3.0))
    return Picture(
        fig,
        title="The volume does not hear what is loud, and follows a whisper"
        if as_said
        else "One token made louder or quieter",
        caption=f"The middle one of {SPELLED[count]} models of each kind, and their middle half.",
        alt="Share of copies right when one token's embedding is multiplied. Other copies at a "
        f"factor of 0.1, 3 and 100: {at('others')}. The token's own copy: {at('own')}.",
    )


# --- Who ends lower


def effects(found: Mapping[str, Mapping[str, Effect]]) -> Picture:
    """Steps of training → score → its loss less the dot product's, with intervals."""
    names = list(next(iter(found.values())))
    with figure(5.5, 0.9 + 0.62 * len(names)) as (fig, ax):
        ax.axvline(0, color=GREY, linewidth=1)
        for row, name in enumerate(names):
            for i, (steps, each) in enumerate(found.items()):
                e, y = each[name], row + 0.28 * (i - (len(found) - 1) / 2)
                ax.plot([e.low, e.high], [y, y], color=COLOUR[name], linewidth=2)
                ax.plot(
                    e.middle, y, "os"[i % 2], color=COLOUR[name], markersize=6,
                    fillstyle=("none", "full")[i % 2], label=steps if row == 0 else None,
                )  # fmt: skip
        ax.set_yticks(range(len(names)), names)
        ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="nats above the dot product")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        legend = legend_below(fig)
        for handle in legend.legend_handles:
            handle.set_color(INK)
    said = " ".join(
        f"{name}, {steps}: {e.middle:+.3f} ({e.low:+.3f} to {e.high:+.3f}).".replace("-", "−")
        for name in names
        for steps, each in found.items()
        for e in [each[name]]
    )
    return Picture(
        fig,
        "The angle is behind the dot product after 800 steps and ahead after 3,000",
        "Two layers, periods 6 to 12: the loss at the end less that of a dot product with as many "
        "parameters. The middle of all differences between two seeds, with its 95 % interval: all "
        "shifts that a rank test does not refuse. Left of zero is better.",
        f"Loss less the dot product's, in nats. {said}",
    )


# --- More seeds, more steps


def rates(found: Sweep) -> Picture:
    """Loss at the end against the learning rate."""
    with figure(5.5, 2.7, columns=2, sharey=True) as (fig, axes):
        for ax, (layers, scores) in zip(axes, found.ends.items(), strict=True):
            for score, ends in scores.items():
                band(ax, torch.tensor(found.rates), ends, COLOUR[score], score)
            ax.set(xscale="log", yscale="log", xlabel="learning rate")
            ax.set_title(layers, fontsize=10)
        axes[0].set_ylabel("nats above the floor")
        legend_below(fig)
    best = {
        layers: {score: found.best(layers, score) for score in scores}
        for layers, scores in found.ends.items()
    }
    return Picture(
        fig,
        title="The volume wants a smaller rate than the others",
        caption=f"Every score at five learning rates, {found.seeds} seeds, "
        f"{found.steps['one layer']} steps with one layer and {found.steps['two layers']} with "
        "two.",
        alt="Loss above the floor at the end against the learning rate, for "
        f"{len(best['one layer'])} scores with one layer and two. "
        + " ".join(
            f"{layers}, best rate: "
            + ", ".join(f"{score} {rate:g}" for score, rate in rates.items())
            + "."
            for layers, rates in best.items()
        ),
    )
