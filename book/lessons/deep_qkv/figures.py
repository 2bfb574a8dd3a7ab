"""The chapter's figures: results in, a picture with title, caption and alternative text out.

What recordings show is titled by hand, and
book/lessons/deep_qkv/tests/said.py holds each title to its record.
"""

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import VARIANTS, Config, ProjectionWeight, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit import figures
from book.kit.figures import Picture, Yours
from book.kit.words import listed
from book.lessons.deep_qkv import evidence, measure, recipe
from book.lessons.deep_qkv.evidence import (
    NAMES,
    NEVER,
    NEVER_AT,
    NTH,
    Crowd,
    Crowds,
    step_or_never,
)
from book.lessons.deep_qkv.widget import ABCSorter
from book.page.code.lesson import WRITTEN

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

TEXT = 6.3
"""Inches, as wide as the text; letters of 11.5 points are then read on a phone as well."""
LETTERS = 11.5


def lower_curve(crowds: Crowds) -> Picture:
    """A curve that lies lower: the median loss of gated sorters, and of plain ones."""
    with figures.figure(TEXT, 2.6) as (fig, ax):
        ax.axhline(sorting.FLOOR, color=figures.INK, linewidth=1.2, linestyle="--")
        for kind, name, at in (
            ("plain", "plain", (112, 0.7)),
            ("gated", "with the\nnew part", (4, 0.41)),
        ):
            here = crowds[kind]
            ax.plot(here.steps, here.curves[:, 1], color=COLOUR[kind])
            ax.text(*at, name, color=COLOUR[kind], fontsize=LETTERS, va="bottom")
        said = "the lowest possible"
        ax.text(395, sorting.FLOOR - 0.02, said, ha="right", va="top", fontsize=LETTERS)
        ax.set(xlim=(0, 400), ylim=(0.22, 1.25))
        ax.set_xlabel("step of training", fontsize=LETTERS)
        ax.set_ylabel("loss", fontsize=LETTERS)
        ax.set_yticks([0.4, 0.8, 1.2])
        ax.tick_params(labelsize=LETTERS)
    plain, gated = (
        float(crowds[kind].curves[crowds[kind].steps == 100, 1]) for kind in ("plain", "gated")
    )
    return Picture(
        fig,
        "With the new part the loss falls sooner",
        f"The middle one of {len(crowds['plain'].arrivals)} losses at each step, each kind "
        "learning at the speed that suits it.",
        "Two falling curves of the loss above a dashed floor. At step 100 plain sorters are at "
        f"{plain:.2f} nats and gated ones at {gated:.2f}; at step 400 both lie close to the floor.",
    )


@torch.no_grad()
def weight_parts(before: ProjectionWeight, after: ProjectionWeight) -> Picture:
    """How the weights of one head are made of shares and base: at first, and trained."""
    names = ("shares", "learnt weights", "what it works with")
    with figures.figure(TEXT, 4.9, rows=2, columns=3) as (fig, axes):
        fig.get_layout_engine().set(wspace=0.1, hspace=0.06)
        whens = ("before", "after")
        for row, when, weight in zip(axes, whens, (before, after), strict=True):
            parts = (weight.gate()[0], weight.base[0], weight()[0])
            for ax, name, sign, matrix in zip(row, names, ("", "×", "="), parts, strict=True):
                signed = name != names[0]
                figures.heat_map(ax, matrix, signed=signed, numbers=True, size=14.0)
                ax.set(aspect="auto")
                if when == whens[0]:
                    ax.set_title(name, fontsize=LETTERS + 0.5, loc="center")
                ax.annotate(
                    sign, (0, 0.5), (-12, 0), xycoords="axes fraction",
                    textcoords="offset points", ha="center", va="center", fontsize=18,
                )  # fmt: skip
            row[0].set_ylabel(f"{when} training", fontsize=LETTERS + 0.5, labelpad=6)
    first, last = (float(each.gate()[0].amax(-1).mean()) for each in (before, after))
    gate = before.gate()[0]
    return Picture(
        fig,
        "At first shares are near a third, and training makes this gate choose",
        "The query weights of one head, a row for each number that comes in and a column for each "
        "that goes out; orange is above zero and blue below, on each grid’s own scale.",
        "Two rows of three grids: shares, times learnt weights, gives what the head works with. "
        f"Before training every share lies between {gate.min():.2f} and {gate.max():.2f}. The "
        f"largest share of a row is {first:.2f} on average before training and {last:.2f} after.",
    )


DOT = 4.2  # points across


def when_sorted(
    crowds: Crowds,
    title: str,
    rates: Mapping[str, float],
    *,
    listens: bool = False,
    colours: Mapping[str, str] | None = None,
) -> Picture:
    """From which step on each seed sorts every word: a row of dots for each kind.

    Args:
        crowds: the kinds.
        title: what they show.
        rates: the learning rate of each.
        listens: the reader's own are drawn in as well, each below its row.
        colours: of kinds that have one of their own, beside that of their weights.
    """
    first = next(iter(crowds.values()))
    end, seeds = float(first.steps[-1]), len(first.arrivals)
    never = NEVER_AT * end
    labels = [f"{fill(NAMES[kind], 18)}\nrate {rates[kind]:g}" for kind in crowds]
    places = [i - 0.35 for i in range(len(crowds))]
    rows = len(crowds) + listens
    with figures.figure(TEXT, 0.75 + 0.82 * len(crowds) + 0.35 * listens) as (fig, ax):
        for row, (kind, here) in enumerate(crowds.items()):
            x, y = _swarm(here.arrivals.clamp(max=never), end / 50)
            colour = (colours or {}).get(kind, COLOUR[recipe.KINDS[kind].variant])
            apart = min(0.068, 0.76 / float(y.max() + 1))
            ax.plot(x, row - 0.12 - apart * y, "o", color=colour, markersize=DOT, alpha=0.75)
            half = "fewer than half"
            if here.median < NEVER:
                half = f"half by step {step_or_never(here.median)}"
                ax.vlines(here.median, row - 0.9, row, color=figures.INK, linewidth=1, zorder=0)
            at = (0.985 * end, row - 0.5)
            ax.text(*at, half, ha="right", va="center", color=colour, fontsize=LETTERS)
            ax.axhline(row, color=figures.GREY, linewidth=0.6, zorder=0)
        if listens:
            ax.axhline(rows - 1, color=figures.GREY, linewidth=0.6, zorder=0)
            labels, places = [*labels, *WRITTEN.values()], [*places, rows - 1]
        ax.axvline((end + never) / 2, color=figures.GREY, linewidth=0.6)
        ax.set(xlim=(0, 2 * never - end), ylim=(rows - 0.75, -0.98))
        ax.set_yticks(places, labels)
        quarters = [0, end // 4, end // 2, 3 * end // 4]
        ax.set_xticks([*quarters, never], [*(f"{x:,.0f}" for x in quarters), "never"])
        ax.tick_params(axis="y", length=0)
        ax.tick_params(labelsize=LETTERS)
        ax.set_xlabel("step from which on it sorts every word", fontsize=LETTERS)
        ax.spines["left"].set_visible(False)
    said = "; ".join(
        f"{NAMES[kind]}: {here.arrived} of {seeds}, half by step {step_or_never(here.median)}"
        for kind, here in crowds.items()
    )
    caption = f"Each dot is one of {seeds} seeds; “never” is never within {end:,.0f} steps."
    alt = f"Rows of dots, a dot for each seed. Seeds that sort every word: {said}."
    names = {**{kind: NAMES[kind] for kind in crowds}, **WRITTEN}
    yours = [Yours(fig.axes[0], names, "dots", "sorts")] if listens else []
    return Picture(fig, title, caption, alt, lesson="deep_qkv" if listens else "", yours=yours)


def lesson_race(own: Crowds) -> Picture:
    """The gate, what it is said to beat, its control, and plain sorters that are asked less."""
    crowds = {kind: own[kind] for kind in ("plain", "gated", "fixed_gate", "plain, knowable")}
    title = "Dividing by three helps as well, and to leave two letters out helps more"
    apart = {"plain, knowable": _MAUVE}  # as in the race
    return when_sorted(crowds, title, recipe.RATE, listens=True, colours=apart)


def teach(sorter: ABCSorter, runs: Mapping[str, Run]) -> None:
    """Show what was just trained or is recorded, and train three kinds, each at its rate."""
    for variant in VARIANTS:
        kept = runs[variant].parameters if variant in runs else evidence.weights(variant)
        sorter.load(variant, kept, Config(variant))
    steps, warmup = recipe.LIVE.steps, recipe.LIVE.warmup
    for variant in ("plain", "fixed_gate", "gated"):
        rate = recipe.RATE[variant]
        sorter.teach(variant, Config(variant), rate=rate, steps=steps, warmup=warmup)
    found = evidence.finder()
    sorter.variant, sorter.seed = found.variant, found.seed


def _swarm(values: Float[Tensor, " n"], width: float) -> tuple[Tensor, Tensor]:
    """Places for dots: each stands on those before it that are about as large."""
    x = values.sort().values
    bins = (x / width).floor()
    return x, torch.stack([(bins[:i] == each).sum() for i, each in enumerate(bins)])


def emblem() -> Picture:
    """The case in a small picture: seeds still to converge, with the new part and without."""
    crowds = {name: evidence.recorded("chosen")[name] for name in ("plain", "gated")}
    with figures.figure(1.75, 1.15) as (fig, ax):
        for kind, name, at in (("plain", "old", (330, 56)), ("gated", "new", (30, 22))):
            here = crowds[kind]
            share = 100 * statistics.not_yet(here.arrivals, here.steps)
            ax.step(here.steps, share, where="post", color=COLOUR[kind], linewidth=1.8)
            ax.text(*at, name, color=COLOUR[kind])
        ax.set(xlim=(0, 600), ylim=(0, 104), xticks=[], yticks=[])
    return Picture(
        fig,
        "",
        "",
        "Two falling curves, the share of sorters that have not learnt yet: the old kind of "
        "weights above, the new kind below for most of the way.",
    )


# The evidence


INSIDE = "Every kind has its best rate inside the sweep"


def rates(sweep: Mapping[str, Mapping[float, Crowd]], kinds: Sequence[str]) -> Picture:
    """How soon each kind is done at each learning rate."""
    best = {kind: evidence.best_rate(sweep[kind]) for kind in kinds}
    with figures.figure(TEXT, 3.2) as (fig, ax):
        for kind in kinds:
            spec, crowds = recipe.KINDS[kind], sweep[kind]
            colour, delays = COLOUR[spec.variant], [c.delay for c in crowds.values()]
            name, style = fill(NAMES[kind], 20), STYLE[spec.part]
            ax.plot(list(crowds), delays, style, color=colour, marker=".", label=name)
            ax.plot(best[kind], crowds[best[kind]].delay, "o", color=colour, markersize=8)
        ax.set_xscale("log")
        ax.set_xlabel("learning rate", fontsize=LETTERS)
        ax.set_ylabel("mean step", fontsize=LETTERS)
        ax.set_xticks(recipe.RATES, [f"{r:g}" for r in recipe.RATES])
        ax.minorticks_off()
        ax.tick_params(labelsize=LETTERS)
        figures.label_lines(ax, LETTERS)
    return Picture(
        fig,
        INSIDE,
        f"The mean step from which on {len(recipe.SWEEP.seeds)} sorters sort every word, with "
        f"{recipe.SWEEP.steps:,} for one that never does; large dots are the rates that we chose.",
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
