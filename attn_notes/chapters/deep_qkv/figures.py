"""The chapter's figures: results in, a picture with title, caption and alternative text out.

The title of a live run is computed from it. What recordings show is titled by hand, and
tests/chapters/deep_qkv/said.py holds each title to its record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from textwrap import fill
from typing import NamedTuple

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Generator, Tensor

from attn_notes import figures
from attn_notes.analysis import statistics
from attn_notes.analysis.words import listed, number, span
from attn_notes.cell.lesson import WRITTEN
from attn_notes.chapters.deep_qkv import evidence, measure, pull, recipe
from attn_notes.chapters.deep_qkv.claims import (
    LOSS_QUESTIONS,
    NAMES,
    NTH,
    comparisons,
    step_or_never,
)
from attn_notes.chapters.deep_qkv.evidence import NEVER, Along, Bodies, Crowd, Crowds, Live
from attn_notes.figures import Picture, Yours
from attn_notes.models.deep_qkv import VARIANTS, ProjectionWeight, Sorter
from attn_notes.tasks import sorting

PREDICTED = ("letter 2", "letter 3", "|", *NTH)
_BLUE, _, _, _MAUVE, _VIOLET = figures.COLOURS
COLOUR = dict(
    zip(
        ("gated", "plain", "fixed_gate", "plain_third", "strict"),
        (figures.PUBLISHED, figures.OURS, figures.CONTROL, _MAUVE, _VIOLET),
        strict=True,
    )
)
_QUARTILES = torch.tensor([0.25, 0.5, 0.75])
STYLE = {"all": "-", "knowable": "--", "answer": ":"}


# The lesson


def floor_bars() -> Picture:
    """What each of the six predictions costs the best predictor."""
    entropies = sorting.entropies(sorting.all_sequences())
    mean = float(entropies.mean())
    with figures.figure(5.5, 2.3) as (fig, ax):
        ax.bar(range(6), entropies.tolist(), color=figures.GREY, width=0.7)
        ax.axhline(mean, color=figures.INK, linewidth=1, linestyle="--")
        ax.text(5.4, mean + 0.04, f"mean {mean:.4f}", ha="right", va="bottom")
        ax.set_xticks(range(6), PREDICTED)
        ax.set(ylabel="least loss, nats", xlabel="predicted token")
    return Picture(
        fig,
        "Two of the six predictions cost something, whoever makes them",
        "The least possible loss of each prediction, counted over the 27 inputs. Their mean is "
        "the floor.",
        "Bars of the least possible loss: "
        + ", ".join(f"{n} {h:.4f}" for n, h in zip(PREDICTED, entropies.tolist(), strict=True))
        + f"; their mean is {mean:.4f} nats.",
    )


@torch.no_grad()
def weight_parts(weight: ProjectionWeight) -> Picture:
    """How a gated weight of one head is made, part by part."""
    parts = {
        "A": weight.A[0], "B": weight.B[0], "AB": (weight.A @ weight.B)[0],
        "softmax(AB)": weight.gate()[0], "base": weight.base[0], "W": weight()[0],
    }  # fmt: skip
    gate = parts["softmax(AB)"]
    low, high = float(gate.min()), float(gate.max())
    tallest = max(len(matrix) for matrix in parts.values())
    with figures.figure(5.5, 3.7, rows=2, columns=3) as (fig, axes):
        for ax, (name, matrix) in zip(axes.flat, parts.items(), strict=True):
            figures.heat_map(ax, matrix, signed=name != "softmax(AB)", numbers=True, size=10.0)
            above = (tallest - len(matrix)) / 2  # cells of one size in all six
            ax.set(aspect="auto", ylim=(tallest - above, -above))
            ax.set_title(name, fontsize=10)
    return Picture(
        fig,
        "Untrained, the gate does not choose: it divides by three",
        "The query weights of one untrained head, blue below zero and orange above. The softmax's "
        f"entries lie between {low:.2f} and {high:.2f}.",
        "Six heat maps of one head: A, B, their product, its row softmax, base, and base times "
        f"softmax. The softmax lies between {low:.2f} and {high:.2f}, so W looks like base, only "
        "paler.",
    )


def one_seed(losses: Sequence[float]) -> Picture:
    """The loss of a single sorter, step by step, above the floor that was drawn first."""
    above = losses[-1] - sorting.FLOOR
    with figures.figure(5.5, 2.4) as (fig, ax):
        ax.axhline(sorting.FLOOR, color=figures.INK, linewidth=1.2, linestyle="--")
        ax.text(len(losses), sorting.FLOOR * 0.93, "floor", ha="right", va="top")
        ax.plot(range(len(losses)), losses, color=COLOUR["plain"])
        ax.set(xlabel="step", ylabel="loss, nats", yscale="log")
        ax.set_ylim(0.25, max(*losses, 1) * 1.1)
        ax.set_yticks([0.3, 1, 3], ["0.3", "1", "3"], minor=False)
        ax.minorticks_off()
    return Picture(
        fig,
        f"One plain sorter ends {max(above, 0):.3f} nats above the floor"
        if above > -1e-5
        else "A loss below the floor: something leaks",
        "The loss over all 27 inputs. Broken line: the floor.",
        f"The loss falls from {losses[0]:.2f} to {losses[-1]:.4f} nats in {len(losses)} steps; the "
        f"floor is {sorting.FLOOR:.4f}.",
        lesson="deep_qkv",
        yours=[
            Yours(
                ax,
                {"plain": "plain", **WRITTEN},
                series="loss",
                guesses={evidence.LOWEST.name: (None, None)},
                reads={"ends at": None},
                unit=" nats",
            )
        ],
    )


class Curve(NamedTuple):
    """How a kind is drawn: its seeds, its colour and its line."""

    crowd: Crowd
    colour: str
    style: str = "-"


def curves(crowds: Crowds) -> dict[str, Curve]:
    """Each kind by its name, in the colour of its weights and the line of its loss."""
    specs = {kind: recipe.KINDS[kind] for kind in crowds}
    return {
        NAMES[kind]: Curve(crowds[kind], COLOUR[spec.variant], STYLE[spec.part])
        for kind, spec in specs.items()
    }


def draw_race(ax: Axes, drawn: Mapping[str, Curve], *, medians: bool = True) -> None:
    """Survival curves, each with its name to the right of where it ends."""
    order = sorted(drawn, key=lambda name: (drawn[name].crowd.arrived, -drawn[name].crowd.delay))
    heights = torch.linspace(0.97, 0.03, len(order)).tolist() if len(order) > 1 else [0.5]
    for name, height in zip(order, heights, strict=True):
        here, colour, style = drawn[name]
        share = 100 * statistics.not_yet(here.arrivals, here.steps)
        ax.step(here.steps, share, where="post", color=colour, linestyle=style)
        ax.annotate(
            fill(f"{name}: {step_or_never(here.median)}" if medians else name, 20),
            xy=(float(here.steps[-1]), float(share[-1])),
            xytext=(1.07, height),
            textcoords="axes fraction",
            va="center",
            color=colour,
            fontsize=10,
            arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), "color": colour, "linewidth": 0.7,
                        "linestyle": style, "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip
    ax.set(ylim=(-2, 102), xlabel="step", ylabel="% of seeds not converged")
    ax.set_xlim(0, max(float(each.crowd.steps[-1]) for each in drawn.values()))
    ax.locator_params(axis="x", nbins=4)


def race(crowds: Crowds, title: str, *, medians: bool = True) -> Picture:
    """Who has not yet sorted all 27 inputs for good, against steps.

    Args:
        crowds: the kinds.
        title: what they show.
        medians: whether the step by which half of its seeds have stands beside each name.
    """
    return _race(curves(crowds), title, medians=medians)


def live_race(crowds: Live) -> Picture:
    """Who of the lesson's own has not yet sorted all 27 inputs for good, and of the reader's."""
    picture = race(crowds, race_title(crowds), medians=False)
    recorded = {
        kind: f"Of the {len(here.arrivals)} seeds trained with this page {here.arrived} do, the "
        f"median {'never' if here.median == NEVER else f'from step {here.median:,.0f} on'}."
        for kind, here in crowds.items()
    }
    names = {kind: NAMES[kind] for kind in crowds}
    return replace(
        picture,
        lesson="deep_qkv",
        yours=[Yours(picture.fig.axes[0], {**names, **WRITTEN}, "arrivals", recorded=recorded)],
    )


def _race(drawn: Mapping[str, Curve], title: str, *, medians: bool = True) -> Picture:
    first = next(iter(drawn.values())).crowd
    with figures.figure(5.5, 0.9 + 0.45 * max(4, len(drawn))) as (fig, ax):
        draw_race(ax, drawn, medians=medians)
    caption = (
        f"The share of {len(first.arrivals)} seeds that have not converged. Lower is better; "
        "who ends above zero has seeds that never do."
    )
    if medians:
        caption += " Beside each name: the step by which half have."
    said = "; ".join(
        f"{name} {here.arrived} of {len(here.arrivals)}, median {step_or_never(here.median)}"
        for name, (here, *_) in drawn.items()
    )
    return Picture(fig, title, caption, f"Survival curves. Seeds that converge: {said}.")


def race_title(crowds: Live) -> str:
    """Who never converges, most first; where everybody does, who is first, by the mean step."""
    lost = {kind: len(here.arrivals) - here.arrived for kind, here in crowds.items()}
    never = sorted((kind for kind, n in lost.items() if n), key=lambda kind: -lost[kind])
    if not never:
        first = min(crowds, key=lambda kind: crowds[kind].delay)
        return f"Every seed converges; {NAMES[first]} is first"
    seeds = len(crowds[never[0]].arrivals)
    others = "; of the other kinds all do" if len(never) < len(crowds) else ""
    each = listed([f"{lost[kind]} {NAMES[kind]}" for kind in never])
    return f"Of {seeds} seeds each, {each} never converge{others}"


MARKS = (("o", figures.INK), ("s", figures.GREY), ("D", figures.GREY))
"""By which the evidence is told apart: live, at its own rate, as published."""


def gate_effects(bodies: Bodies) -> Picture:
    """What the gate does, and what its control does."""
    caption = (
        "The chance that a random seed of the first converges before one of the second. Grey: "
        "where 19 of 20 comparisons of a kind with itself would lie."
    )
    return _effects(comparisons(bodies), GATE_TITLE, caption)


def loss_effects(bodies: Bodies) -> Picture:
    """What leaving two letters out of the loss does, beside every way to make the weights."""
    caption = "The chances of being first, as above; grey, what chance does."
    return _effects(comparisons(bodies, LOSS_QUESTIONS), LOSS_TITLE, caption)


GATE_TITLE = (
    "At its own rate the gate helps, and so does its control; as published, neither can be told"
)
LOSS_TITLE = "With two letters out of the loss the plain sorter is before all three others"


def _effects(
    found: Mapping[str, Mapping[str, statistics.Comparison]], title: str, caption: str
) -> Picture:
    """For each question, by each body of evidence, the chance that the first kind is first.

    Around one half stands what chance makes of it.
    """
    bodies = list(dict.fromkeys(body for each in found.values() for body in each))
    with figures.figure(5.5, 1.3 + max(0.5, 0.27 * len(bodies)) * len(found)) as (fig, ax):
        ax.axvline(0.5, color=figures.GREY, linewidth=1)
        for row, each in enumerate(found.values()):
            for body, c in each.items():
                i = bodies.index(body)
                y = row + 0.26 * (i - (len(bodies) - 1) / 2)
                mark, colour = MARKS[i]
                ax.barh(y, c.high - c.low, 0.2, c.low, color=figures.GREY, alpha=0.25)
                label = None if row else body
                ax.plot(c.first, y, mark, color=colour, markersize=6, label=label)
        ax.set_yticks(range(len(found)), list(found))
        ax.set(xlim=(0, 1.02), ylim=(len(found) - 0.4, -0.6))
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0\nnever", ".25", ".5\neven", ".75", "1\nalways"])
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        figures.legend_below(fig)
    said = " ".join(
        f"{question}, {body}: {c.first:.2f}; chance alone {c.low:.2f} to {c.high:.2f}."
        for question, each in found.items()
        for body, c in each.items()
    )
    return Picture(
        fig,
        title,
        caption,
        said,
    )


PULL_TITLE = "Taking the pull of the two letters out shows no help; asking to repeat a letter does"


def pulled(ways: Crowds) -> Picture:
    """Sorters on all six predictions, and what becomes of them with two of these changed."""
    drawn = {
        pull.ALL_SIX: Curve(ways[pull.ALL_SIX], COLOUR["plain"]),
        pull.YIELDING: Curve(ways[pull.YIELDING], _MAUVE),
        pull.REPEAT: Curve(ways[pull.REPEAT], figures.GREY),
        pull.OUT: Curve(ways[pull.OUT], COLOUR["plain"], STYLE["knowable"]),
    }
    return _race(drawn, PULL_TITLE)


def emblem() -> Picture:
    """The case in a small picture: seeds still to converge, with the new part and without."""
    crowds = {name: evidence.recorded("chosen")[name] for name in ("plain", "gated")}
    with figures.figure(2.6, 1.7) as (fig, ax):
        for kind, name, at in (("plain", "old", (330, 56)), ("gated", "new", (30, 22))):
            here = crowds[kind]
            share = 100 * statistics.not_yet(here.arrivals, here.steps)
            ax.step(here.steps, share, where="post", color=COLOUR[kind], linewidth=2.4)
            ax.text(*at, name, color=COLOUR[kind], fontsize=12)
        ax.set(xlim=(0, 600), ylim=(0, 104), xticks=[], yticks=[])
    return Picture(
        fig,
        "",
        "",
        "Two falling curves, the share of sorters that have not learnt yet: the old kind of "
        "weights above, the new kind below for most of the way.",
    )


# The evidence


def rates(sweep: Mapping[str, Mapping[float, Crowd]], kinds: Sequence[str]) -> Picture:
    """How soon each kind is done at each learning rate."""
    best = {kind: evidence.best_rate(sweep[kind]) for kind in kinds}
    with figures.figure(5.5, 3.2) as (fig, ax):
        ends = sorted(kinds, key=lambda kind: -list(sweep[kind].values())[-1].delay)
        heights = dict(zip(ends, torch.linspace(0.97, 0.03, len(ends)).tolist(), strict=True))
        for kind in kinds:
            spec, crowds = recipe.KINDS[kind], sweep[kind]
            colour, delays = COLOUR[spec.variant], [c.delay for c in crowds.values()]
            ax.plot(list(crowds), delays, STYLE[spec.part], color=colour, marker=".")
            ax.plot(best[kind], crowds[best[kind]].delay, "o", color=colour, markersize=8)
            ax.annotate(
                fill(NAMES[kind], 20), (list(crowds)[-1], delays[-1]), (1.07, heights[kind]),
                textcoords="axes fraction", va="center", color=colour, fontsize=10,
                arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), "color": colour,
                            "linewidth": 0.7},
            )  # fmt: skip
        ax.set(xscale="log", xlabel="learning rate", ylabel="mean step")
        ax.set_xticks(recipe.RATES, [f"{r:g}" for r in recipe.RATES])
        ax.minorticks_off()
    return Picture(
        fig,
        "Every kind has its best rate inside the sweep",
        "The mean step at which a seed sorts everything for good, one that never does counted as "
        "the last. A large dot is the rate that was chosen.",
        "Mean step by learning rate. "
        + " ".join(
            f"{NAMES[kind]}: "
            + ", ".join(f"{c.delay:.0f} at {rate:g}" for rate, c in sweep[kind].items())
            + f"; chosen {best[kind]:g}."
            for kind in kinds
        ),
    )


OWN_RATE = (
    "Of 32 seeds each, 5 gated, 4 plain and 2 plain started at a third never converge; of the "
    "other kinds all do"
)
PARTS = "With two letters out of the loss both kinds of weights converge sooner"
AS_PUBLISHED = (
    "As published, no way to make the weights can be told from plain; what the loss counts can"
)


def pulling(along: Along) -> Picture:
    """How the gradient of the two letters stands to that of the other four, beside other pairs."""
    two, *others = map(along.cosines, pull.PAIRS)
    steps = along.steps[1:]
    with figures.figure(5.5, 2.6, columns=2) as (fig, axes):
        for each in others:
            middle = each.quantile(0.5, dim=1)
            axes[0].plot(along.steps, middle, color=figures.GREY, linewidth=0.8, alpha=0.6)
        figures.band(axes[0], along.steps, two, _BLUE)
        axes[0].axhline(0, color=figures.INK, linewidth=0.8)
        axes[0].set(ylim=(-1, 1), ylabel="cosine of the gradients", xlabel="step")
        for i, share in reversed([*enumerate(along.opposed.T)]):
            colour, width = (figures.GREY, 0.8) if i else (_BLUE, 1.8)
            axes[1].plot(steps, 100 * share, color=colour, linewidth=width)
        axes[1].set(ylim=(0, 62), ylabel="% of steps opposed", xlabel="step")
        for ax in axes:
            ax.set_xlim(0, 400)
    rest = [along.middle(pair, 30, 100) for pair in pull.PAIRS[1:]]
    return Picture(
        fig,
        "The two letters pull against the other four, and so do any two of the six",
        "Plain sorters on all six predictions. Left: the gradient of letters two and three beside "
        "that of the other four, median and middle half of the seeds (blue); grey, the medians of "
        "the 14 other ways to split six predictions into two and four. Right: the steps that help "
        "one side of a split and hurt the other.",
        "Two plots. Of steps 30 to 100 the median cosine is "
        f"{number(along.middle(pull.PAIRS[0], 30, 100), 2)} for the two letters and from "
        f"{span(rest, 2)} for other pairs.",
    )


def loss_curves(crowds: Crowds) -> Picture:
    """The loss above the floor, median and middle half of the seeds."""
    with figures.figure(6.2, 2.4, columns=len(crowds), sharex=True, sharey=True) as (fig, axes):
        ends = {}
        for ax, (kind, here) in zip(axes, crowds.items(), strict=True):
            low, middle, high = (here.curves - sorting.FLOOR).T
            colour = COLOUR[recipe.KINDS[kind].variant]
            ax.fill_between(here.steps, low, high, color=colour, alpha=0.22, linewidth=0)
            ax.plot(here.steps, middle, color=colour)
            ax.set_yscale("log")
            ax.set_title(fill(NAMES[kind], 15), fontsize=10)
            ax.set_xticks([0, int(here.steps[-1])])
            ends[kind] = float(middle[-1])
        axes[0].set_ylabel("nats above the floor")
        axes[len(axes) // 2].set_xlabel("step")
    return Picture(
        fig,
        "The median seed of every kind ends within 0.002 nats of the floor",
        "Loss above the floor: median, and the band between the quartiles. The bands show who "
        "stays behind.",
        "Loss above the floor against steps. Medians at the end: "
        + ", ".join(f"{NAMES[kind]} {end:.4f}" for kind, end in ends.items())
        + " nats.",
        wide=True,
    )


def prediction_losses(crowds: Crowds, kind: str) -> Picture:
    """What each of the six predictions costs a kind before training, early, and at the end."""
    here = crowds[kind]
    assert here.losses is not None
    entropies = sorting.entropies(sorting.all_sequences())
    with figures.figure(5.5, 2.6, columns=len(here.moments), sharey=True) as (fig, axes):
        for ax, moment, losses in zip(axes, here.moments, here.losses, strict=True):
            low, middle, high = losses.quantile(_QUARTILES, dim=0)
            ax.bar(range(6), middle.tolist(), color=figures.GREY)
            ax.vlines(range(6), low, high, color=figures.INK, linewidth=1)
            ax.hlines(
                entropies, torch.arange(6) - 0.45, torch.arange(6) + 0.45,
                color=figures.FLOOR, linewidth=2.4,
            )  # fmt: skip
            ax.set_xticks(range(6), ["2", "3", "|", "1st", "2nd", "3rd"], fontsize=8.5)
            ax.set_title(f"step {moment}", fontsize=10)
        axes[0].set_ylabel("nats")
        axes[len(axes) // 2].set_xlabel("predicted token")
    return Picture(
        fig,
        "At the end no prediction is more than 0.001 nats above its floor",
        f"Loss of each prediction of {NAMES[kind]} sorters: median seed, and a line between the "
        "quartiles; the level lines are the floor. At first the models are sure of the wrong "
        "things, which costs more than an even guess.",
        f"Loss of each of the six predictions of {NAMES[kind]} sorters at steps "
        + listed([str(m) for m in here.moments])
        + ". Medians at the end: "
        + ", ".join(f"{x:.3f}" for x in here.losses[-1].median(0).values.tolist())
        + " nats.",
    )


def _to_plane(rows: Float[Tensor, "n 3"]) -> Float[Tensor, "n 2"]:
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])
    return rows @ corners


@torch.no_grad()
def gate_rows(models: Sequence[Sorter]) -> Float[Tensor, "n 3"]:
    """Every row of every q, k and v gate."""
    gates = [w.gate() for model in models for w in measure.projections(model).values()]
    return torch.cat(gates).reshape(-1, gates[0].shape[-1])


def simplex(models: Mapping[str, Sequence[Sorter]]) -> Picture:
    """The rows of gates as points of a triangle: name → models."""
    with figures.figure(5.5, 1.75, columns=len(models)) as (fig, axes):
        largest = {}
        for ax, (name, group) in zip(axes, models.items(), strict=True):
            rows = gate_rows(group)
            largest[name] = float(rows.amax(-1).median())
            ax.plot([0, 1, 0.5, 0], [0, 0, 3**0.5 / 2, 0], color=figures.GREY, linewidth=0.8)
            ax.plot(
                *_to_plane(rows).T, ".", color=COLOUR[group[0].config.variant], markersize=3,
                alpha=0.35, rasterized=True,
            )  # fmt: skip
            ax.set(aspect="equal", xticks=[], yticks=[])
            ax.set_title(name, fontsize=10)
            ax.spines[:].set_visible(False)
    said = ", ".join(f"{name} {x:.2f}" for name, x in largest.items())
    return Picture(
        fig,
        "Trained gates choose",
        "Every row of every query, key and value gate. A corner keeps one of a head's three "
        "dimensions and shuts two, the middle divides by three. The median of a row's largest "
        f"entry: {said}.",
        f"Triangles of gate rows. The median of a row's largest entry: {said}.",
    )


def spectra(n: int = 500) -> Picture:
    """Singular values of a product of rank 1 and of its softmax, untrained."""
    temperatures = (1.0, 0.1, 0.01)
    with figures.figure(5.5, 2.6, columns=3, sharey=True) as (fig, axes):
        seconds = []
        for ax, temperature in zip(axes, temperatures, strict=True):
            both = measure.untrained_spectra(1, temperature, n, Generator().manual_seed(0))
            for values, colour, marker, label in zip(
                both, (figures.GREY, _BLUE), "so", ("AB", "softmax(AB/τ)"), strict=True
            ):
                low, mid, high = values.flatten(0, 1).quantile(torch.tensor([0.1, 0.5, 0.9]), dim=0)
                ax.vlines([1, 2, 3], low.clamp(min=1e-8), high, color=colour, alpha=0.6)
                ax.plot([1, 2, 3], mid.clamp(min=1e-8), marker, color=colour, markersize=5)
                if ax is axes[0]:
                    ax.annotate(
                        label, (3, float(mid[2].clamp(min=1e-8))), (-4, 9),
                        textcoords="offset points", ha="right", fontsize=10, color=colour,
                    )  # fmt: skip
            seconds.append(float(both[1].flatten(0, 1)[:, 1].median()))
            ax.set(yscale="log", ylim=(3e-9, 2), xticks=[1, 2, 3])
            ax.set_title(f"τ = {temperature:g}", fontsize=10)
        axes[0].set_ylabel("relative to the first")
        axes[1].set_xlabel("singular value, by size")
    return Picture(
        fig,
        "Rank 1 goes in, full rank comes out",
        f"Singular values of AB (grey, zero to rounding after the first) and of its row softmax "
        f"(blue), {n} untrained layers, median and middle 80 %.",
        "Singular values of a product of rank 1 and of its row softmax. The product's second and "
        "third are zero to rounding; the softmax's second is "
        + ", ".join(
            f"{s:.3f} at temperature {t:g}" for s, t in zip(seconds, temperatures, strict=True)
        )
        + ".",
    )


def rank_temperature(crowds: Crowds) -> Picture:
    """The share of seeds that converge, by rank and temperature."""
    with figures.figure(5.2, 2.5, columns=2) as (fig, axes):
        said = []
        for ax, variant in zip(axes, ("gated", "strict"), strict=True):
            share = torch.tensor([
                [_share(crowds[f"{variant} {r} {t}"]) for t in recipe.TEMPERATURES]
                for r in recipe.RANKS
            ])  # fmt: skip
            x = [f"{t:g}" for t in recipe.TEMPERATURES]
            figures.heat_map(ax, share, x=x, y=[str(r) for r in recipe.RANKS], numbers=True)
            ax.set(title=variant, xlabel="temperature τ", ylabel="rank r")
            said.append(f"{variant} from {share.min():.2f} to {share.max():.2f}")
    first = next(iter(crowds.values()))
    return Picture(
        fig,
        "Of all runs of rank 1 88 % sort everything, of rank 3 83 %",
        f"The share of {len(first.solved)} seeds that sort all 27 inputs after "
        f"{int(first.steps[-1]):,} steps, at a learning rate of {recipe.LIVE.lr:g}.",
        "Share of seeds that sort all 27 inputs, by rank and temperature: " + "; ".join(said) + ".",
    )


def _share(here: Crowd) -> float:
    return float((here.solved == recipe.SOLVED).float().mean())


def strict_sums(models: Mapping[str, Sorter]) -> Picture:
    """The sum of a token's key in one head against the sum of its query in the other."""
    with figures.figure(5.5, 2.9, columns=len(models), sharex=True, sharey=True) as (fig, axes):
        gap = {}
        for ax, (name, model) in zip(axes, models.items(), strict=True):
            sums = measure.projection_sums(model)  # [q k v, heads, 27, positions]
            query, key = sums[0, 0].flatten(), sums[1, 1].flatten()
            gap[name] = float((query - key).abs().max())
            ax.axline((0, 0), slope=1, color=figures.GREY, linewidth=0.8)
            colour = COLOUR[model.config.variant]
            ax.plot(query, key, "o", color=colour, markersize=3, alpha=0.4)
            ax.set(title=name, xlabel="Σ q, head 1")
        axes[0].set_ylabel("Σ k, head 2")
    return Picture(
        fig,
        "Strict loses one direction of each head, gated loses none",
        "One dot a token and position, trained models. On the diagonal a query of one head and a "
        "key of the other have the same sum. Dots that coincide look darker.",
        "The sum of a token's key in head 2 against that of its query in head 1. Farthest from the "
        "diagonal: " + "; ".join(f"{name}: {g:.2f}" for name, g in gap.items()) + ".",
    )


def attention_maps(
    model: Sorter, name: str, words: Sequence[str] = ("cab", "bcb", "aac")
) -> Picture:
    """Both heads' attention at the three steps that write, on some words."""
    with figures.figure(5.5, 2.7, rows=2, columns=len(words)) as (fig, axes):
        on_first = []
        for column, word in enumerate(words):
            steps = model.trace(word)
            answer = sorting.decode([s.choice for s in steps])
            for head in range(2):
                rows = torch.zeros(3, 6)
                for i, step in enumerate(steps):
                    rows[i, : step.attention.shape[-1]] = step.attention[head].detach()
                same = [(i, j) for i in range(3) for j in range(3) if answer[i] == word[j]]
                ax = axes[head, column]
                figures.heat_map(
                    ax, rows, x=list(f"{word}|{answer[:2]}"), y=list(answer), frames=same
                )
                ax.xaxis.tick_top()
                if column == 0:
                    ax.set_ylabel(f"head {head + 1}\nwrites")
                share = sum(float(rows[0, j]) for i, j in same if i == 0)
                on_first.append(f"{word}, head {head + 1}: {share:.2f}")
    return Picture(
        fig,
        "What each head reads while three words are sorted",
        f"{name}. The stronger a cell, the more attention. Frames mark the inputs equal to the "
        "letter being written: where a framed cell is strong, the head reads its answer.",
        f"Attention of both heads of {name} while it sorts {listed(list(words))}: a row for each "
        "letter written, a column for each token read. On inputs equal to the first letter "
        "written: " + "; ".join(on_first) + ".",
    )  # fmt: skip


def sensitivities(models: Mapping[str, Callable[[Tensor], Tensor]]) -> Picture:
    """How far each written letter's probabilities move when a letter of the word is replaced.

    The first is the one in question; a perfect sorter is drawn beside them.
    """
    every = {**models, "perfect": sorting.ideal}
    maps = {name: measure.sensitivity(model) for name, model in every.items()}
    first = next(iter(maps.values()))
    i, j = divmod(int(first.argmin()), 3)
    with figures.figure(5.5, 2.5, columns=len(maps)) as (fig, axes):
        for ax, (name, values) in zip(axes, maps.items(), strict=True):
            figures.heat_map(ax, values, x=list(NTH), y=list(NTH), numbers=True)
            ax.set_title(name, fontsize=10)
        axes[0].set_ylabel("letter written")
        axes[len(axes) // 2].set_xlabel("letter replaced")
    least, right = float(first[i, j]), float(maps["perfect"][i, j])
    return Picture(
        fig,
        "It writes its 3rd letter as if it had read neither the 1st nor the 2nd",
        "How far the probabilities of each written letter move when a letter of the word is "
        f"replaced: 0 not at all, 1 wholly. Least: {least:.3f}, where a perfect sorter has "
        f"{right:.2f}.",
        "Maps of dependence, letter written by letter replaced. "
        + " ".join(
            f"{name}: from {values.min():.3f} to {values.max():.3f}."
            for name, values in maps.items()
        ),
    )


def untrained(variant: str) -> list[Sorter]:
    """The sorters as they start, of the seeds whose trained weights are recorded."""
    return recipe.sorters(recipe.KINDS[variant].config, range(recipe.KEPT))


def kinds_of(*parts: str) -> list[str]:
    """The kinds whose loss counts one of these parts: `all`, `knowable` or `answer`."""
    return [name for part in parts for name, kind in recipe.KINDS.items() if kind.part == part]


assert set(COLOUR) == set(VARIANTS)
