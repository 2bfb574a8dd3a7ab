"""The chapter's figures of models and what they cost: functions of its evidence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from matplotlib.axes import Axes
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
    label_lines,
    legend_below,
)
from book.kit.words import median
from book.lessons.triple_product import claims, evidence, explorer, recipe
from book.lessons.triple_product.evidence import Costs, Learnings, Sweep, seeds
from book.lessons.triple_product.learnt import ByToken, Loudness, Places, Transfer
from book.lessons.triple_product.rules import Reach

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
    """A row of letters that ends in a question, and where a trained head looks for the answer."""
    _, attention = explorer.counting(explorer.AT_HOME)
    shown = slice(len(attention) - recipe.HALF - 1, len(attention))
    with figure(2.6, 1.7) as (fig, ax):
        ax.bar(range(recipe.HALF + 1), attention[shown].tolist(), color=COLOUR["dot"], width=0.7)
        for i, letter in enumerate(explorer.AT_HOME[shown] + "?"):
            ax.text(i, -0.16, letter, ha="center", va="center", fontsize=10.5)
        ax.set(xlim=(-0.7, recipe.HALF + 1.7), ylim=(-0.3, 1.05), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.axhline(0, color=GREY, linewidth=1)
    return Picture(
        fig,
        title="",
        caption="",
        alt="A row of letters that ends in a question mark. One tall bar stands over one of them.",
    )


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
                    ax.plot(lengths, ratio, color=colour, linestyle=style, label=claims.NAMES[form])
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


def unknown(best: Mapping[str, Tensor]) -> Picture:
    """What the best predictor still pays for each token: task → [t]."""
    styles = dict(zip(best, ("-", "--"), strict=True))
    with figure(5.5, 2.5) as (fig, ax):
        for name, losses in best.items():
            places = torch.arange(2, len(losses) + 2)
            ax.step(places, losses, styles[name], where="mid", color=FLOOR, label=f"period {name}")
        ax.set(xlabel="predicted token", ylabel="nats", ylim=(0, None))
        ax.set_xticks([2, 7, 13, 18, 24])
        legend_below(fig)
    said = "; ".join(
        f"period {name}: {losses[:5].mean():.2f} nats for the first five, {losses[-5:].mean():.2f} "
        f"for the last five, {losses.mean():.2f} on average"
        for name, losses in best.items()
    )
    return Picture(
        fig,
        title="What nobody can know: the first letters, and for a moment the period",
        caption="What the best possible predictor pays.",
        alt=f"What the best possible predictor pays for each token. {said}.",
    )


def _medians(learnings: Learnings) -> str:
    """The median of each kind above the floor at the end."""
    return ", ".join(f"{kind} {median(run.above_floor[-1]):.3f}" for kind, run in learnings.items())


def one_layer(one: Learnings) -> Picture:
    """Loss above the floor, one layer and one period."""
    with figure() as (fig, ax):
        for kind, run in one.items():
            band(ax, run.steps, run.above_floor, COLOUR[kind], kind)
        ax.set(yscale="log", xlabel="step", ylabel="nats above the floor")
        label_lines(ax)
    return Picture(
        fig,
        title="How one layer learns to copy at one period",
        caption="One layer, period 12: loss above the floor on held-out sequences, "
        f"{seeds(one)} seeds, median and middle half.",
        alt="Loss above the floor against steps, log scale, one layer, one period. Medians at the "
        f"end: {_medians(one)} nats.",
    )


def learning(found: Mapping[str, Learnings]) -> Picture:
    """The loss against the steps, beside the floor: one of `recipe.TASKS` → kinds."""
    with figure(5.5, 2.9, columns=len(found), sharey=True) as (fig, axes):
        for ax, (name, kinds) in zip(axes, found.items(), strict=True):
            for kind, run in kinds.items():
                band(ax, run.steps, run.loss, COLOUR[kind], kind)
            floor = recipe.TASKS[name].floor
            ax.axhline(floor, color=FLOOR, linestyle="--", linewidth=1, label="floor")
            ax.set_title(TRAINED[name], fontsize=10)
            ax.set(ylim=(1, 3), xlabel="step")
            ax.set_xticks([0, int(run.steps[-1])])
        axes[0].set_ylabel("loss, nats")
        legend_below(fig)
    near = {
        name: max(median(run.above_floor[-1]) for run in kinds.values())
        for name, kinds in found.items()
    }
    far = [name for name, gap in near.items() if gap >= 0.3]
    title = "The loss beside the floor"
    if not any(map(math.isnan, near.values())):
        if not far:
            title = "All come near their floor"
        elif far == ["one layer, random period"]:
            title = "Where the period varies, one layer stays far above the floor"
    return Picture(
        fig,
        title,
        caption=f"Held-out sequences, {seeds(next(iter(found.values())))} seeds: median and middle "
        "half. Dashed: no predictor is lower.",
        alt="Loss against steps. Above the floor at the end, medians: "
        + " ".join(
            f"{TRAINED[name].replace(chr(10), ' ')}: {_medians(kinds)}."
            for name, kinds in found.items()
        ),
    )


def where(tokens: ByToken) -> Picture:
    """The loss of each predicted token."""
    predicted = torch.arange(2, len(tokens.best) + 2)
    with figure(5.5, 2.6) as (fig, ax):
        for kind, losses in tokens.losses.items():
            band(ax, predicted, losses, COLOUR[kind], kind)
        ax.step(
            predicted, tokens.best, where="mid", color=FLOOR, linewidth=1.2, label="best possible"
        )
        ax.set(xlabel="predicted token", ylabel="mean loss, nats", ylim=(0, None))
        label_lines(ax)
    share = {kind: tokens.on_copies(kind) for kind in tokens.losses}
    means = {kind: tokens.means(kind) for kind in tokens.losses}
    unknown = tokens.best[: tokens.known].mean().item()
    return Picture(
        fig,
        title="Most of the surplus is where nothing can be known",
        caption="The loss, token by token. Of the surplus over the best possible, the copies hold "
        + ", ".join(f"{100 * part:.0f} % ({kind})" for kind, part in share.items())
        + "; the rest is in the first half, where nothing can be known and the models are surer "
        "than they should be.",
        alt="Mean loss of each predicted token. In the first half, where the best possible is "
        f"ln 16 = {unknown:.2f}: "
        + ", ".join(f"{kind} {first:.2f}" for kind, (first, _) in means.items())
        + " on average. In the second half: "
        + ", ".join(f"{kind} {second:.2f}" for kind, (_, second) in means.items())
        + ".",
    )


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


def transfer(moved: Mapping[str, Transfer]) -> Picture:
    """What the lesson's models copy by period, those of one layer and period first."""
    counts = claims.induction(moved["one layer"]).verdict is False
    picture = _transfer(
        moved,
        "Trained at one period, one layer has learnt a distance"
        if counts
        else "How well they copy at periods on which they were not trained",
    )
    asked = {question.name: (float(period), None) for period, question in evidence.ASKED.items()}
    yours = [
        Yours(
            ax,
            {f"{kind}, {name}": f"{kind}, {name}" for kind in recipe.KINDS},
            series="transfer",
            reads={f"at period {period}": float(period) for period in evidence.ASKED},
            unit=" %",
            guesses=asked if name == "one layer" else {},
            recorded={f"{kind}, {name}": _moved(each, kind) for kind in each.accuracy},
        )
        for ax, (name, each) in zip(picture.fig.axes, moved.items(), strict=True)
    ]
    return replace(picture, lesson="triple_product", yours=yours)


def _moved(each: Transfer, kind: str) -> str:
    """What the lesson's own copy at the period of the source, and one letter off."""
    seen, off = (median(each.at(kind, period)) for period in evidence.ASKED)
    return (
        f"The median of those trained with this page gets {100 * seen:.0f} % at period "
        f"{recipe.HALF} and {100 * off:.0f} % at {recipe.HALF - 1}."
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


RULES = {
    "placed": "count: weigh letters\nby where they stand",
    "near": "match: what followed this\nletter, at a possible distance",
    "matched": "do both",
}
"""The rules by hand that the lesson draws, as it names them."""


def reaches(reach: Reach, copies: Tensor) -> Picture:
    """What rules get where the period varies, and two layers with the dot product [m]."""
    right = {text: getattr(reach, rule) for rule, text in RULES.items()}
    model, middle = "two layers, trained", median(copies)
    with figure(5.5, 2.3) as (fig, ax):
        ax.barh([*right], [*right.values()], color=GREY, alpha=0.6, height=0.62)
        ax.barh(model, middle, color=COLOUR["dot"], height=0.62)
        ax.plot(copies, [model] * len(copies), "o", color=INK, markersize=3)
        for text, share in {**right, model: middle}.items():
            ax.text(1.04, text, f"{share:.2f}", va="center", fontsize=10)
        ax.invert_yaxis()
        ax.set(xlim=(0, 1.16), xlabel="share of copies right, periods 6 to 12")
        ax.set_xticks([0, 0.5, 1])
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return Picture(
        fig,
        "A rule that counts and matches is right more often than the trained model",
        f"Three rules, and two layers with the dot product; dots: {len(copies)} seeds.",
        "Four bars, share of copies right. "
        + ", ".join(f"{text.replace(chr(10), ' ')}: {share:.2f}" for text, share in right.items())
        + f"; two layers with the dot product: {middle:.2f}.",
    )


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

    def at(name: str, *places: int) -> str:
        return "; ".join(
            f"{place} back {median(met[place - 1]):.2f} after a match, "
            f"{median(never[place - 1]):.2f} without"
            for met, never in [found[name]["dot"]]
            for place in places
        )

    count = found["two layers"]["dot"].shape[-1]
    return Picture(
        fig,
        "One layer goes by the distance, two layers by a match at a distance that they know",
        "Random letters: how often the letter so many places back is predicted, if the present "
        "letter stood right before it (a match), and if that is new. Median and middle half of "
        f"{count} seeds.",
        "Share of predictions that are the letter so many places back, on random letters. "
        + " ".join(
            f"{TRAINED[name].replace(chr(10), ' ')}: {at(name, 3, 9, 12, 18)}." for name in names
        ),
    )


# --- Two layers


def two_layers(one: Learnings, two: Learnings) -> Picture:
    """Share of copies right at random periods, one layer and two."""
    with figure(5.5, 2.8, columns=3, sharey=True) as (fig, axes):
        for ax, kind in zip(axes, one, strict=True):
            run = two[kind]
            band(ax, one[kind].steps, one[kind].accuracy, GREY, "one layer")
            band(ax, run.steps, run.accuracy, COLOUR[kind], "two layers")
            ax.set_title(kind, fontsize=10)
            ax.set(ylim=(0, 1.02), xticks=[0, int(run.steps[-1])])
        axes[0].set_ylabel("share right")
        axes[1].set_xlabel("step")
        label_lines(axes[-1])
    ends = {kind: (one[kind].accuracy[-1], two[kind].accuracy[-1]) for kind in one}
    return Picture(
        fig,
        title="Where the period varies, two layers copy more than one with every score",
        caption="Period drawn from 6 to 12: share of the last twelve letters right, "
        f"{seeds(two)} seeds, median and middle half.",
        alt="Share of copies right on sequences of random period. At the end, medians: "
        + "; ".join(
            f"{kind} {median(single):.2f} with one layer, {median(both):.2f} with two"
            for kind, (single, both) in ends.items()
        )
        + ".",
    )


# --- Loud strangers, loud friends and whispers


def loudness(loud: Loudness) -> Picture:
    """Share of copies right when one token is made louder or quieter."""
    panels = (loud.others, "the eleven other copies"), (loud.own, "the copy of the loud token")
    with figure(5.5, 2.9, columns=2, sharey=True) as (fig, axes):
        for ax, (accuracy, title) in zip(axes, panels, strict=True):
            for kind, shares in accuracy.items():
                band(ax, torch.tensor(loud.factors), shares, COLOUR[kind], kind)
            ax.set(xscale="log", ylim=(0, 1.03), xlabel="its embedding, times")
            ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
            ax.set_title(title, fontsize=10)
        axes[0].set_ylabel("share right")
        legend_below(fig)

    def at(of: str) -> str:
        return "; ".join(
            f"{kind} " + ", ".join(f"{loud.at(of, kind, c):.2f}" for c in (0.1, 3.0, 100.0))
            for kind in loud.own
        )

    count = next(iter(loud.own.values())).shape[1]
    both = loud.at("others", "volume", 100.0) > claims.SOLVED > loud.at("own", "volume", 3.0)
    return Picture(
        fig,
        title="The volume does not hear a loud stranger, nor a loud friend"
        if both
        else "One token made louder or quieter",
        caption=f"Median of {count} seeds and middle half.",
        alt="Share of copies right when one token's embedding is multiplied. Other copies at a "
        f"factor of 0.1, 3 and 100: {at('others')}. The token's own copy: {at('own')}.",
    )


# --- Inside a head


def plane(drawn: Mapping[str, Places]) -> Picture:
    """Keys of a trained head, seen from their queries' planes, by kind."""
    with figure(5.5, 2.8, columns=2) as (fig, axes):
        for ax, (kind, places) in zip(axes, drawn.items(), strict=True):
            ax.scatter(
                *places.others.T, s=6, color=GREY, alpha=0.6, linewidth=0, label="other keys"
            )
            ax.scatter(
                *places.right.T, s=8, color=COLOUR[kind], linewidth=0,
                label=f"the right source, {kind}",
            )  # fmt: skip
            ax.set_title(kind, fontsize=10)
            ax.set(xlim=(0, None), ylim=(0, None), xlabel="length in the plane")
        axes[0].set_ylabel("height above the plane")
        legend_below(fig)
    ratio = {kind: places.ratio for kind, places in drawn.items()}
    return Picture(
        fig,
        title="The right source lies lower over the plane than the other keys",
        caption="Keys of one trained head, as their queries see them. Under the volume the winner "
        "is the lowest key, under the angle the flattest.",
        alt="Two scatter plots of keys seen from their query's plane. The right source's median "
        "height is "
        + ", ".join(f"{value:.2f} of the others' with the {kind}" for kind, value in ratio.items())
        + ".",
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


def recorded(found: Mapping[str, Learnings]) -> Picture:
    """The comparison with more seeds and more steps."""
    with figure(5.5, 2.9, columns=3, sharey=True) as (fig, axes):
        for ax, (layers, kinds) in zip(axes, found.items(), strict=True):
            for kind, run in kinds.items():
                band(ax, run.steps, run.above_floor, COLOUR[kind], kind)
            ax.set(yscale="log", xlabel="step")
            ax.set_title(TRAINED[layers], fontsize=10)
            ax.set_xticks([0, int(run.steps[-1])])
        axes[0].set_ylabel("nats above the floor")
        legend_below(fig)
    count = seeds(found["two layers"])
    return Picture(
        fig,
        title="The same comparison with more seeds and more steps",
        caption=f"Recorded: {count} seeds, median and middle half.",
        alt=f"Recorded losses above the floor, {count} seeds. Medians at the end: "
        + " ".join(f"{layers}: {_medians(kinds)}." for layers, kinds in found.items()),
    )
