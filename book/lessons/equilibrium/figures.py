"""The chapter's figures: functions of its evidence, each with its conclusion as title.

A title that speaks of a record stands here as it is, and a test holds it: said.py.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from attn_notes.models.equilibrium import TOLERANCE
from attn_notes.tasks.text import Text
from book.kit import figures as house
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
)
from book.kit.words import median, signed, span
from book.lessons.equilibrium import estimators, evidence, lesson, probes, recipe
from book.lessons.equilibrium.evidence import at_most
from book.lessons.equilibrium.widget import EquilibriumExplorer

KINDS = {
    "BPTT": GREY,
    "AEP": CORRECTED,
    "AEP, clipped": PUBLISHED,
    "naive EP": VIOLET,
    "frozen": CONTROL,
}
"""The colour of each kind of estimator, in every figure."""
CORRECTIONS = {"none": "naive EP", "clipped": "AEP, clipped", "full": "AEP"}
LABELS = {
    "BPTT": "BPTT",
    "AEP": "AEP",
    "AEP, clipped": "AEP with the limit",
    "naive EP": "naive",
    "frozen": "attention frozen",
}
"""What each kind is called in a figure."""


def teach(widget: EquilibriumExplorer, text: Text) -> None:
    """Let the reader train a small model by three of them in the page."""
    widget.teach(**lesson.settings(text))


def butterfly(ax: Axes, found: probes.Credit, row: int) -> list[Tensor]:
    """Of the credit for one prediction, the share of each letter: true above, naive below."""
    shares = [found.maps[way][row] / found.maps[way][row].sum() for way in ("exact", "naive EP")]
    for side, share, kind in zip((1, -1), shares, ("AEP", "naive EP"), strict=True):
        ax.bar(
            range(len(share)),
            (side * share).tolist(),
            bottom=side * GAP,
            color=KINDS[kind],
            width=0.72,
        )
    for at, letter in enumerate(found.letters):
        weight = "bold" if at == row else "normal"
        ink = INK if at <= row else GREY
        ax.text(at, 0, letter, color=ink, ha="center", va="center", fontsize=11, fontweight=weight)
    ax.set(xlim=(-0.6, len(found.letters) - 0.4), ylim=(-0.85, 0.85), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return shares


GAP = 0.1  # between the bars and the middle, where the letters stand


def one_prediction(found: probes.Credit) -> Picture:
    """Where the credit for one prediction goes, in truth and by the naive way."""
    row = recipe.ASKED
    with house.figure(5.5, 3.0) as (fig, ax):
        true, naive = butterfly(ax, found, row)
        ax.text(row + 0.6, 0.62, "the true credit: this letter\nand those before it", fontsize=10,
                color=KINDS["AEP"], va="center")  # fmt: skip
        ax.text(row - 0.6, -0.62, "the naive way: this letter\nand those that come later",
                fontsize=10, color=KINDS["naive EP"], va="center", ha="right")  # fmt: skip
    read = "".join(found.letters[: row + 1]).replace("␣", " ")
    before, later = (f"{100 * share:.0f} %" for share in (true[:row].sum(), naive[row + 1 :].sum()))
    return Picture(
        fig,
        "The naive way gives credit to letters that come later",
        f"What comes after “{read}”? A bar, up or down, is a letter's share of the credit for the "
        f"answer, in a trained model. Letters before the bold one have {before} in truth; the "
        f"naive way gives {later} to those after.",
        f"Bars over and under the letters {''.join(found.letters)}. For the prediction after the "
        f"{row + 1}th, true credit lies on it and on those before, {before} on these; the naive "
        f"way's lies on it and on those after, {later} on these.",
    )


def emblem() -> Picture:
    """Two rings on springs between two walls, one of them pushed."""
    walls, rings = (0, 3), (1.15, 2.3)
    with house.figure(1.75, 1.15) as (fig, ax):
        for start, end in pairwise((walls[0], *rings, walls[1])):
            x = torch.linspace(start, end, 12)
            ax.plot(x, 0.12 * torch.tensor([0.0, *[1, -1] * 5, 0.0]), color=GREY, linewidth=1)
        ax.vlines(walls, -0.5, 0.5, color=INK, linewidth=3)
        ax.plot(rings, [0, 0], "o", color=INK, markersize=9)
        arrow = {"arrowstyle": "-|>", "color": PUBLISHED, "linewidth": 2}
        ax.annotate("", (2.45, 0.5), (1.6, 0.5), arrowprops=arrow)
        ax.set(xlim=(-0.1, 3.1), ylim=(-1, 1))
        ax.axis("off")
    alt = "Two rings in a row between two walls, joined by springs; an arrow pushes the right one."
    return Picture(fig, "", "", alt)


def _rows(
    ax: Axes, ends: Sequence[tuple[str, str, Sequence[float] | Tensor]], counted: float
) -> None:
    """A row of dots for each name, kind and its ends, and where counting pairs comes to."""
    ax.axvline(counted, color=FLOOR, linestyle=":", linewidth=1)
    ax.annotate(
        "counting pairs", (counted, 1), (0, 4), ha="center", fontsize=10,
        xycoords=ax.get_xaxis_transform(), textcoords="offset points",
    )  # fmt: skip
    for row, (_, kind, values) in enumerate(ends):
        ax.plot(values, [row] * len(values), "o", color=KINDS[kind], markersize=7, alpha=0.6)
    ax.set_yticks(range(len(ends)), [name for name, _, _ in ends])
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="loss, nats a letter", ylim=(len(ends) - 0.5, -0.5))


def ends(found: evidence.Training) -> Picture:
    """Where each kind ends, seed by seed, beside counting pairs."""
    pairs = found.counted["pairs"]
    with house.figure(5.5, 2.9) as (fig, ax):
        _rows(ax, [(LABELS[kind], kind, found.ends[kind]) for kind in KINDS], pairs)
        ax.set(xlim=(2.4, 2.6), xticks=[2.4, 2.45, 2.5, 2.55, 2.6])
    return Picture(
        fig,
        "The limit costs AEP most of what it gains",
        f"{found.seeds} recorded models of each kind, a dot each, on text never seen. Further left "
        "is better. Counting pairs is to count which letter follows which.",
        "Ends in nats a letter, from the best model to the worst: "
        + "; ".join(
            f"{LABELS[k]} {found.ends[k].min():.3f} to {found.ends[k].max():.3f}" for k in KINDS
        )
        + f"; counting pairs {pairs:.3f}.",
    )


def in_page(page: evidence.Page) -> Picture:
    """The same of the smaller model, which trains in the page."""
    kinds = list(KINDS)
    ways = sorted(page.ends, key=lambda way: kinds.index(recipe.IN_PAGE_WAYS[way]))
    *_, (goal, least) = page.yardsticks.items()
    with house.figure(5.5, 2.2) as (fig, ax):
        _rows(ax, [(way, recipe.IN_PAGE_WAYS[way], page.ends[way]) for way in ways], least)
        ax.set(xlim=IN_PAGE_ENDS)
    return Picture(
        fig,
        "",
        "The smaller model of the page, on its own text. Further left is better.",
        "In the page, in nats a letter: "
        + "; ".join(f"{way} {span(page.ends[way], 3)}" for way in ways)
        + f"; {goal} {least:.3f}.",
        lesson="equilibrium",
        yours=[
            Yours(
                ax,
                {way: way for way in ways},
                "dots",
                "end",
                reads={"ends at": None},
                unit=" nats",
                recorded={
                    way: f"The {len(page.ends[way])} recorded by {way} end at "
                    f"{median(page.ends[way]):.3f} nats, by their median."
                    for way in ways
                },
            )
        ],
    )


IN_PAGE_ENDS = (2.2, 2.4)
"""Nats, from side to side."""


def training(found: evidence.Training) -> Picture:
    """Loss along training by each kind, and how far AEP is from BPTT."""
    apart = 1000 * (found.curves["AEP"] - found.curves["BPTT"])
    with house.figure(5.5, 3.3, columns=2, width_ratios=[3, 2]) as (fig, axes):
        left, right = axes
        for kind, colour in KINDS.items():
            house.band(left, torch.tensor(found.steps), found.curves[kind], colour, LABELS[kind])
        left.set(
            xlabel="step", ylabel="nats a character", ylim=(2.36, 2.9), xlim=(50, found.steps[-1])
        )
        left.set_title("loss on text never seen", fontsize=10)
        for one in apart.T:
            right.plot(found.steps, one, color=CORRECTED, alpha=0.6, linewidth=1)
        right.axhline(0, color=GREY, linewidth=1)
        right.set(xlabel="step", ylim=(-21, 21), xlim=(0, found.steps[-1]))
        right.set_title("AEP − BPTT, thousandths", fontsize=10)
        house.legend_below(fig)
    most = at_most(apart[-1].abs().max().item(), 3)
    return Picture(
        fig,
        "Seed by seed AEP ends within two hundredths of a nat of BPTT",
        f"Left: {found.seeds} recorded seeds of each way to the gradient (median and middle half), "
        f"on up to {recipe.PROBED} pieces of the whole text. "
        "Right: each recorded seed by AEP less the same seed by BPTT, on the same batches; the "
        "frame is ±0.02 nats. Where a curve leaves the frame, seeds had run away and were caught "
        "again (by the governor, see below).",
        "Left: validation loss against steps. Medians at the end: "
        + ", ".join(f"{LABELS[kind]} {median(found.curves[kind][-1]):.3f}" for kind in KINDS)
        + ". Right: the difference between AEP and BPTT for each seed, at the end at most "
        f"{most} thousandths of a nat.",
    )


def rates(found: probes.Rates) -> Picture:
    """The error of a gradient against β and against nudged steps."""
    orders, betas, falling = found.orders, found.betas, found.falling
    styles = {"one side": (MAUVE, "s", 1), "both sides": (CORRECTED, "o", 2)}
    with house.figure(5.5, 3.0, columns=2) as (fig, axes):
        left, right = axes
        for name, (colour, marker, power) in styles.items():
            errors = found.by_beta[name]
            label = f"{name}: slope {orders[name]:.2f}"
            left.plot(betas, errors, marker, color=colour, markersize=5, label=label)
            line = [errors[0] * (beta / betas[0]) ** power for beta in betas]
            left.plot(betas, line, color=colour, linewidth=0.9)
        left.set(xscale="log", yscale="log", xlabel="nudge β", ylabel="relative error")
        left.set_xticks(betas, [f"{beta:g}" for beta in betas])
        left.minorticks_off()
        for name, errors in found.by_steps.items():
            label = LABELS[name]
            right.plot(found.steps, errors, "o", color=KINDS[name], markersize=4, label=label)
        if falling:
            last, error = falling[-1]
            lowest = min(found.by_steps["AEP"]) / 30
            powers = {t: error * found.radius ** (t - last) for t in found.steps}
            seen = {t: value for t, value in powers.items() if value > lowest}
            label = "ρ to the power of the steps"
            right.plot([*seen], [*seen.values()], color=CORRECTED, linewidth=0.9, label=label)
        right.set(yscale="log", xlabel="nudged steps")
        house.legend_below(fig)
    one, both = orders["one side"], orders["both sides"]
    stays, clipped = found.by_steps["naive EP"][-1], found.by_steps["AEP, clipped"]
    return Picture(
        fig,
        "AEP's error falls as the theorem says: with β, and with β²",
        f"How much of the gradient is wrong. Right: each step leaves {found.factor:.3f} of AEP's "
        f"error; in the end it would be ρ, {found.radius:.3f}.",
        "Left: the relative error of the gradient against β between logarithmic axes; "
        f"slope {one:.2f} with one side, {both:.2f} with both. "
        f"Right: against nudged steps; AEP's falls by a factor of {found.factor:.3f} a step "
        f"between 1e-6 and 5e-10, the spectral radius is {found.radius:.3f}; limited never falls "
        f"below {min(clipped):.2g} and ends at {clipped[-1]:.2g}; naive stays at {stays:.2f}.",
    )


def nudges(found: evidence.Gradients) -> Picture:
    """The error against β, in two precisions."""
    betas, published = list(found.betas), estimators.PUBLISHED.beta
    with house.figure(5.5, 2.9) as (fig, ax):
        house.band(ax, torch.tensor(betas), found.double.T, CORRECTED, "double precision")
        house.band(ax, torch.tensor(betas), found.single.T, MAUVE, "single precision")
        ax.axvline(published, color=GREY, linestyle=":", linewidth=1.2)
        ax.text(
            published, 1.02, "as published",
            transform=ax.get_xaxis_transform(), fontsize=10, ha="center",
        )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="nudge β", ylabel="relative error")
        ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
        ax.minorticks_off()
        house.legend_below(fig)
    single = found.single.quantile(0.5, 0)
    best = betas[int(single.argmin())]
    worse = single[betas.index(published)] / single.min()
    return Picture(
        fig,
        "In single precision the published nudge drowns in rounding",
        f"Recorded: the published block (untrained, {found.batch} × {found.length} characters, "
        f"{found.seeds} seeds), AEP with both sides; what 40 nudged steps of 0.5 leave is the "
        f"floor in double precision. In single precision the best of these is β = {best:g}; at the "
        f"published one the error is {worse:.0f} times as large.",
        "Relative error of AEP's gradient against β. In double precision it falls with β squared "
        f"to a floor; in single precision it is least, {single.min():.0e}, at β = {best:g}, and "
        "grows again below.",
    )


def degrees(cosine: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """The angle with this cosine; where rounding has taken it past 1, none."""
    return cosine.clamp(-1, 1).arccos().rad2deg()


def clip(found: evidence.Gradients, shares: Float[Tensor, "m n"]) -> Picture:
    """How far off the gradient points against nudged steps, and how much of AEP's force is left."""
    few, many = recipe.FEW, recipe.MANY
    steps = torch.tensor(found.steps)
    with house.figure(5.5, 3.1, columns=2) as (fig, axes):
        for correction, name in CORRECTIONS.items():
            house.band(
                axes[0], steps, degrees(found.wholes[correction]).T, KINDS[name], LABELS[name]
            )
        house.band(axes[1], steps, shares.T, KINDS["AEP, clipped"])
        for ax in axes:
            ax.axvline(few, color=GREY, linestyle=":", linewidth=1.2)
            ax.set(xscale="log", xlabel="nudged steps")
            ax.set_xticks([5, 20, 80, 320], ["5", "20", "80", "320"])
            ax.minorticks_off()
        axes[0].set_title("how far off the gradient points", fontsize=10)
        axes[0].set(ylim=(-2, 92), yticks=[0, 30, 60, 90], yticklabels=["0°", "30°", "60°", "90°"])
        axes[1].set_title("share of the force let through", fontsize=10)
        axes[1].set(ylim=(0, 1.05))
        house.legend_below(fig)
    medians = {
        name: [
            f"{median(degrees(found.whole(correction, steps))):.1f} at {steps}"
            for steps in (few, many)
        ]
        for correction, name in CORRECTIONS.items()
    }
    said = "; ".join(f"{LABELS[name]}: {', '.join(each)}" for name, each in medians.items())
    left = [f"{median(shares[:, found.steps.index(at)]):.2f} after {at}" for at in (few, many)]
    return Picture(
        fig,
        f"Past {few} steps the script's gradient turns away from the true one",
        f"{found.seeds} untrained models: a line for their median, a band for the middle half of "
        f"them; dotted, the {few} steps of the script.",
        "Left: degrees between the gradient and the true one against nudged steps. "
        f"{said}. Right: the share of "
        f"AEP's force that the limit lets through, 1 at first, {' steps and '.join(left)}.",
    )


def spectrum(found: probes.Spectrum) -> Picture:
    """Eigenvalues of the Jacobian and of its two parts."""
    free, stretch, turn = found.free, found.symmetric, found.antisymmetric
    with house.figure(5.5, 3.0) as (fig, ax):
        ax.axvspan(0, 1, color=GREY, alpha=0.13, linewidth=0)
        ax.plot(free.real, free.imag, ".", color=CORRECTED, markersize=3, alpha=0.5, label="of J")
        ax.plot(
            stretch, torch.zeros_like(stretch), "|", color=MAUVE, markersize=12, alpha=0.35,
            label="of its symmetric part",
        )  # fmt: skip
        ax.plot(
            torch.zeros_like(turn), turn, "_", color=VIOLET, markersize=10, alpha=0.35,
            label="of its antisymmetric part",
        )  # fmt: skip
        ax.set(xlabel="real part", ylabel="imaginary part", xlim=(-4.6, 1), ylim=(-2.5, 2.5))
        ax.text(
            0.5, 1.02, "moves away",
            transform=ax.get_xaxis_transform(), fontsize=10, ha="center",
        )  # fmt: skip
        house.legend_below(fig)
    right, reach, fastest = free.real.max().item(), stretch.max().item(), turn.max().item()
    return Picture(
        fig,
        "J is stable, and its symmetric part is not",
        f"The published block at rest on {recipe.SHORT} characters. No eigenvalue of J lies right "
        f"of {signed(f'{right:.2f}')}, so free and AEP's nudged states settle. The symmetric part "
        f"alone reaches {signed(f'{reach:+.2f}')}, so a state limited to half flees. The "
        f"antisymmetric part turns as fast as {fastest:.1f}.",
        f"Eigenvalues in the complex plane. Those of J lie left of {right:.2f}; those of its "
        f"symmetric part reach {reach:+.2f}, those of its antisymmetric part lie on the imaginary "
        f"axis up to {fastest:.2f}.",
    )


def credit(found: probes.Credit) -> Picture:
    """Which states are told of each prediction, by AEP and by the naive method."""
    letters = list(found.letters)
    with house.figure(5.5, 3.3, columns=2) as (fig, axes):
        for ax, name in zip(axes, ("AEP", "naive EP"), strict=True):
            values = found.maps[name]
            house.heat_map(ax, (values / values.max()).sqrt(), x=letters, y=letters)
            ax.tick_params(labelsize=8)
            ax.set_title(name, fontsize=10)
            ax.set_xlabel("state that is told")
        axes[0].set_ylabel("predicting after")
    return Picture(
        fig,
        "The naive method sends credit to the future",
        "The trained model: how much credit each state gets for each prediction (the more a cell "
        "stands out, the more, by the square root of the share).",
        "Two maps of credit, prediction by state. AEP: on the diagonal and left of it, in the "
        "past. Naive: on the diagonal and right of it, in the future.",
    )


def rest(found: probes.Scaled, ungoverned: evidence.Ungoverned) -> Picture:
    """What is left of the force as weights grow, and training with nothing held."""
    colours = dict(zip(found.left, (GREY, PUBLISHED, CORRECTED, MAUVE), strict=True))
    with house.figure(5.5, 3.3, columns=2) as (fig, axes):
        left, right = axes
        for c, values in found.left.items():
            shown = [max(v, 1e-7) if math.isfinite(v) else 1e3 for v in values]
            label = f"c = {c:g}"
            left.plot(found.scales, shown, "o-", color=colours[c], markersize=3.5, label=label)
        left.axhline(TOLERANCE["force"], color=INK, linestyle=":", linewidth=1)
        left.set(
            yscale="log", xlabel="weights, times as large", ylabel="force left", ylim=(5e-8, 20)
        )
        left.set_title("weights grow", fontsize=10)
        for (kind, c), curves in ungoverned.curves.items():
            style = "-" if c == recipe.DAMPINGS[0] else "--"
            right.plot(ungoverned.steps, curves, style, color=KINDS[kind], linewidth=1.1)
        right.set(xlabel="step", ylabel="nats a character", ylim=(2.3, 4.3))
        right.set_title("training, nothing held", fontsize=10)
        house.legend_below(fig)
    away = ", ".join(
        f"{kind}, c = {c} {ungoverned.ran_away(kind, c)} of {ungoverned.seeds}"
        for kind, c in ungoverned.curves
    )
    return Picture(
        fig,
        "Damping buys room, and no certainty that a state comes to rest",
        "Left: an untrained block after 150 steps of 1 / 2(1 + c); below the dotted line it is at "
        "rest. Right, recorded: training without a governor, three seeds, colours as in the figure "
        "of the training; dashed with the published damping of 1.",
        "Left: what is left of the force against the scale of the weights, for four dampings; the "
        "more damping, the larger the weights at which the state no longer settles. Right: "
        "training without a governor. Seeds whose loss ever exceeds "
        f"{recipe.RUN_AWAY} nats or is no number: {away}.",
    )


def memory(found: probes.Memory) -> Picture:
    """Memory against steps."""
    with house.figure(5.5, 2.7) as (fig, ax):
        for kind, values in found.peaks.items():
            colour = KINDS.get(kind, MAUVE)
            ax.plot(found.counts, values, "o-", color=colour, markersize=4, label=kind)
        ax.set(xlabel="steps to rest, and nudged", ylabel="MiB at the peak", ylim=(0, None))
        house.legend_below(fig)
    bptt, aep, adjoint = (found.peaks[kind] for kind in ("BPTT", "AEP", "adjoint"))
    return Picture(
        fig,
        "BPTT's memory grows with the steps, AEP's does not",
        f"Recorded: one gradient of the block on 4 pieces of {recipe.LENGTH} characters.",
        "Memory at the peak against steps. BPTT goes from "
        f"{bptt[0]:.1f} to {bptt[-1]:.1f} MiB, AEP from {aep[0]:.1f} to {aep[-1]:.1f}, the adjoint "
        f"relaxation from {adjoint[0]:.1f} to {adjoint[-1]:.1f}.",
    )


def settling(found: probes.Settling) -> Picture:
    """How soon the published block rests."""
    ways = dict(zip(found.left, (GREY, MAUVE, CORRECTED), strict=True))
    with house.figure(5.5, 2.7) as (fig, ax):
        for way, colour in ways.items():
            shown = found.left[way].clamp(min=1e-7)
            ax.plot(shown, color=colour, linewidth=1.4, label=way)
        ax.axhline(TOLERANCE["force"], color=INK, linestyle=":", linewidth=1)
        ax.set(yscale="log", xlabel="evaluations of the force", ylabel="force left")
        house.legend_below(fig)
    needed = ", ".join(f"{found.needed(way)} with {way}" for way in ways)
    return Picture(
        fig,
        "A longer step comes to rest nearly four times as soon",
        "Recorded: the published block comes to rest. Below the dotted line a thousandth of the "
        f"force is left: after {needed}, where the last three states are mixed.",
        f"Force left against evaluations; below a thousandth after {needed}.",
    )
