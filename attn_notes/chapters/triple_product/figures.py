"""Chapter 2's figures and tables, and what its widget is given: functions of its evidence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from IPython.display import HTML, Markdown
from torch import Generator, Tensor
from torch.func import stack_module_state

from attn_notes import notebook
from attn_notes.analysis.words import of_seeds, rounded
from attn_notes.chapters.triple_product import claims, recipe
from attn_notes.chapters.triple_product.evidence import (
    ByToken,
    Circuits,
    Costs,
    Example,
    Floor,
    Learning,
    Learnings,
    Loudness,
    Places,
    Resilience,
    Rounding,
    Runs,
    Shares,
    Spread,
    Sweep,
    Transfer,
    looking_back,
)
from attn_notes.figures import (
    CONTROL,
    CORRECTED,
    FLOOR,
    GREY,
    MAUVE,
    PUBLISHED,
    SHARES,
    VIOLET,
    Picture,
    band,
    figure,
    label_lines,
    legend_below,
)
from attn_notes.models.triple_product import AttentionOnly, Config, cos2_to_plane, stable_volume
from attn_notes.widgets.triple_product import TripleProductExplorer

Table = HTML | Markdown

COLOUR = {
    "dot": VIOLET,
    "volume": PUBLISHED,
    "angle": CORRECTED,
    recipe.WIDER: MAUVE,
    "line": CONTROL,
}
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


# --- The widget


def explorer() -> TripleProductExplorer:
    """The widget with one untrained model of each kind."""
    widget = TripleProductExplorer()
    for layers, configs in (("one layer", recipe.ONE_OF_EACH), ("two layers", recipe.TWO_OF_EACH)):
        for kind, config in configs.items():
            untrained = [AttentionOnly(config, Generator().manual_seed(0))]
            _load(widget, kind, layers, stack_module_state(untrained)[0], config)
    widget.run = "volume, one layer"
    return widget


def teach(widget: TripleProductExplorer) -> None:
    """Let the reader train every kind in the page, with the settings of the live training."""
    for configs, settings in ((recipe.ONE_OF_EACH, recipe.ONE), (recipe.TWO_OF_EACH, recipe.TWO)):
        for kind, config in configs.items():
            widget.teach(
                config,
                (recipe.FIXED, recipe.RANDOM),
                rate=settings["lr"][kind],
                steps=settings["steps"],
                batch=settings["batch"],
                warmup=settings["warmup"],
                copied=claims.SOLVED,
            )


def load(widget: TripleProductExplorer, layers: str, runs: Runs) -> None:
    """Show the first seed of each trained kind in the widget: "one layer" or "two layers"."""
    configs = {"one layer": recipe.ONE_OF_EACH, "two layers": recipe.TWO_OF_EACH}[layers]
    for kind, config in configs.items():
        first = {name: p[:1] for name, p in runs[kind].parameters.items()}
        _load(widget, kind, layers, first, config)


def _load(
    widget: TripleProductExplorer,
    kind: str,
    layers: str,
    parameters: Mapping[str, Tensor],
    config: Config,
) -> None:
    widget.load(f"{kind}, {layers}", parameters, config, recipe.TASKS[layers])


def progress(line: notebook.Progress) -> Callable[[str, int, dict[str, Tensor]], None]:
    """What `train_comparison` calls after each look at the models."""

    def show(kind: str, step: int, seen: dict[str, Tensor]) -> None:
        line(f"{kind}, step {step}: {100 * seen['accuracy'].mean():.0f} % of the copies are right")

    return show


# --- The task


def examples(found: Sequence[Example]) -> HTML:
    """Sequences of both tasks."""
    return notebook.table(["task", "period", "a sequence"], found, kind="sequences")


def floors(found: Sequence[Floor]) -> HTML:
    """The formula beside the best predictor."""
    return notebook.table(
        ["task", "floor", "best predictor, 4000 sequences", "knowing nothing"],
        [
            [f.task, f"{f.floor:.4f}", f"{f.mean:.4f} ± {f.margin:.4f}", f"{f.ignorance:.4f}"]
            for f in found
        ],
    )


# --- The idea


def idea() -> Picture:
    """What each score sees of a key's place."""
    along, height = torch.meshgrid(
        torch.linspace(-2, 2, 81), torch.linspace(0, 2, 41), indexing="xy"
    )
    keys = torch.stack([along, torch.zeros_like(along), height], -1).flatten(0, 1)
    q, r = torch.eye(3)[:1], torch.eye(3)[1:2]
    panels = {
        "dot product": q @ keys.T,
        "volume": -stable_volume(q, keys, r),
        "angle": cos2_to_plane(q, keys, r),
    }
    with figure(5.6, 2.2, columns=3, sharey=True) as (fig, axes):
        for ax, (name, score) in zip(axes, panels.items(), strict=True):
            values = score.view(along.shape)
            levels = torch.linspace(values.min().item(), values.max().item(), 9).tolist()
            ax.contourf(along, height, values, levels=levels, cmap=SHARES)
            arrow = {"arrowstyle": "->", "color": MAUVE, "lw": 2}
            ax.annotate("", (1, 0), (0, 0), arrowprops=arrow)
            ax.set_title(name, fontsize=10)
            ax.set(aspect="equal", yticks=[0, 1, 2])
            ax.set_xticks([-2, 0, 1, 2], ["−2", "0", "q", "2"])
        axes[0].set_ylabel("height h")
        axes[1].set_xlabel("the key's coordinate along q")
    return Picture(
        fig,
        title="The volume sees a key's height above the plane, the angle its direction",
        caption="What each score sees of a key: the more a place stands out from the page, the "
        "higher. The dot product sees how far it reaches along q, the volume how high it stands "
        "above the plane, the angle only its direction.",
        alt="Contours of three scores over a key's place. The dot product changes along q only, "
        "in upright stripes. The volume changes with the height only, in level stripes that get "
        "narrower. The angle changes from ray to ray out of the origin.",
    )


# --- One determinant, several ways

FORM = {
    "expanded": "expanded, as published",
    "projected": "A²‖k‖² less A²‖projection‖², not below 0",
    "residual": "A²‖k − projection‖²",
    "stable": "the second in double precision",
}


def rounding(found: Mapping[str, Mapping[float, Rounding]]) -> HTML:
    """What rounding makes of keys in the plane, whose volume is zero."""
    return notebook.table(
        ["form", "negative volumes", "scores", "scores, keys 1000 times as long"],
        [
            [
                FORM[form],
                f"{100 * by_loudness[1.0].negative:.0f} %",
                *(
                    f"{rounded(by_loudness[c].lowest)} to {rounded(by_loudness[c].highest)}"
                    for c in (1.0, 1000.0)
                ),
            ]
            for form, by_loudness in found.items()
        ],
    )


def costs(recorded: Costs) -> Picture:
    """Time and memory of each form against the published expansion."""
    lengths = recorded.lengths
    with figure(5.8, 4.6, rows=2, columns=2, sharex=True, sharey="row") as (fig, axes):
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
        title="Quadratic features pay for long sequences and small heads"
        if claims.features_pay(recorded)
        else "What each form takes, against the published expansion",
        caption="A forward and backward pass of each form, recorded on one CPU thread, as "
        "multiples of what the published expansion takes: below 1 is better. Batches of "
        f"{recipe.POSITIONS} positions, or one longer sequence; two heads.",
        alt="Four panels: time and peak memory of each form against the published expansion, over "
        f"sequence lengths from {lengths[0]} to {lengths[-1]}, for heads of "
        f"{' and '.join(map(str, recorded.dimensions))} dimensions. At {lengths[-1]} and d = {d} "
        f"the quadratic features are {recorded.gain(d, 'features'):.0f} times as fast as the "
        f"expansion, the form that stops at zero {recorded.gain(d, 'projected'):.1f} times.",
    )


# --- How the kinds learn


def _seeds(learnings: Learnings) -> int:
    return next(iter(learnings.values())).loss.shape[1]


def _medians(learnings: Learnings) -> str:
    """The median of each kind above the floor at the end."""
    return ", ".join(
        f"{kind} {run.above_floor[-1].median():.3f}" for kind, run in learnings.items()
    )


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
        f"{_seeds(one)} seeds, median and middle half.",
        alt="Loss above the floor against steps, log scale, one layer, one period. Medians at the "
        f"end: {_medians(one)} nats.",
    )


STANDING = ["score", "parameters", "above floor", "copies right", "a step"]


def _standing(kind: str, run: Learning) -> list[str]:
    return [
        kind,
        f"{run.parameters:,}",
        of_seeds(run.above_floor[-1], 3),
        of_seeds(run.accuracy[-1], 3),
        f"{1000 * run.seconds_a_step:.1f} ms",
    ]


def standings(one: Learnings) -> list[Table]:
    """Who stands where at the end: at equal width, and at equal parameters."""
    found: list[Table] = []
    for text, kinds in (
        (
            "Equal width and equal steps. Nats above the floor and share of copies right, each as "
            "median (lowest–highest) of the seeds; time for one seed:",
            (*recipe.KINDS, "line"),
        ),
        ("Equal parameters and equal steps:", (recipe.WIDER, "volume")),
    ):
        rows = [_standing(kind, one[kind]) for kind in kinds]
        found += [Markdown(text), notebook.table(STANDING, rows)]
    return found


def where(tokens: ByToken) -> Picture:
    """The loss of each predicted token."""
    predicted = torch.arange(2, len(tokens.best) + 2)
    with figure(5.6, 2.6) as (fig, ax):
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
    above = "all scores lie" if min(m[0] for m in means.values()) > unknown else "not all lie"
    return Picture(
        fig,
        title="Most of the surplus is where nothing can be known"
        if max(share.values()) < 0.5
        else "Where the loss lies above the best possible",
        caption="The loss, token by token. Of the surplus over the best possible, the copies hold "
        + ", ".join(f"{100 * part:.0f} % ({kind})" for kind, part in share.items())
        + "; the rest is in the first half, where nothing can be known and the models are surer "
        "than they should be.",
        alt=f"Mean loss of each predicted token. In the first half {above} above the best "
        f"possible ln 16 = {unknown:.2f}: "
        + ", ".join(f"{kind} {first:.2f}" for kind, (first, _) in means.items())
        + " on average. In the second half: "
        + ", ".join(f"{kind} {second:.2f}" for kind, (_, second) in means.items())
        + ".",
    )


# --- Place or token


def offsets(found: Mapping[str, Tensor]) -> Picture:
    """Where trained heads look on random sequences: kind → [m, h, t]."""
    source = recipe.HALF - 1
    heads = {kind: looking_back(profile) for kind, profile in found.items()}
    with figure(5.8, 2.3, columns=3, sharey=True) as (fig, axes):
        for ax, (kind, profiles) in zip(axes, heads.items(), strict=True):
            for profile in profiles:
                ax.plot(profile, color=COLOUR[kind], alpha=0.8, linewidth=1.3)
            ax.axvline(source, color=GREY, linestyle=":", linewidth=1)
            ax.set_title(kind, fontsize=10)
            ax.set_xticks([0, source, 2 * source])
        axes[0].set(ylabel="mean attention", ylim=(0, 1))
        axes[1].set_xlabel("places back")
    sharpest = {kind: profiles[:, source] for kind, profiles in heads.items()}
    there = all(bool((profiles.argmax(1) == source).all()) for profiles in heads.values())
    return Picture(
        fig,
        title=f"With nothing to find, they still look {source} places back"
        if there
        else "Where they look when there is nothing to find",
        caption="On random sequences, where there is nothing to copy: mean attention by distance, "
        f"for each seed the head that looks most to {source} places back.",
        alt="Mean attention by distance on random sequences, the head of each seed that looks most "
        f"to {source} places back. There it gives "
        + ", ".join(
            f"{kind} {value.min():.2f} to {value.max():.2f}" for kind, value in sharpest.items()
        )
        + ".",
    )


def transfer(moved: Transfer) -> Picture:
    """Share of copies right at other periods than the one of training."""
    chance = 1 / recipe.FIXED.vocabulary
    with figure(5.6, 2.6) as (fig, ax):
        for kind, accuracy in moved.accuracy.items():
            band(ax, torch.tensor(moved.periods), accuracy, COLOUR[kind], kind)
        ends = moved.periods[0], moved.periods[-1]
        ax.plot(ends, [chance] * 2, ":", color=FLOOR, linewidth=1, label="chance")
        ax.set(
            xlabel=f"period at test (trained on {moved.home})",
            ylabel="share of copies right",
            ylim=(0, 1.03),
        )
        label_lines(ax)
    titles = {
        False: "They have learnt a distance",
        True: "They copy at periods on which they were not trained",
        None: "How well they copy at periods on which they were not trained",
    }
    return Picture(
        fig,
        title=titles[claims.induction(moved).verdict],
        caption=f"One layer, trained on period {moved.home} and tested on others, in sequences of "
        "two periods. (Where a sequence is too short to look 11 back, as at 6, a head falls back "
        "on its second choice.)",
        alt=f"Share of copies right against the period at test. At {moved.home}, on which they "
        "were trained: "
        + ", ".join(f"{kind} {moved.at_home(kind).min():.2f}" for kind in moved.accuracy)
        + " at least. At every other period at most "
        + ", ".join(f"{kind} {moved.elsewhere(kind).max():.2f}" for kind in moved.accuracy)
        + f"; chance is {chance:.2f}.",
    )


# --- Two layers


def two_layers(one: Learnings, two: Learnings) -> Picture:
    """Share of copies right at random periods, one layer and two."""
    with figure(5.8, 2.8, columns=3, sharey=True) as (fig, axes):
        for ax, (kind, run) in zip(axes, two.items(), strict=True):
            band(ax, one[kind].steps, one[kind].accuracy, GREY, "one layer")
            band(ax, run.steps, run.accuracy, COLOUR[kind], "two layers")
            ax.set_title(kind, fontsize=10)
            ax.set(ylim=(0, 1.02), xticks=[0, int(run.steps[-1])])
        axes[0].set_ylabel("share of copies right")
        axes[1].set_xlabel("step")
        label_lines(axes[-1])
    ahead = all(run.accuracy[-1].min() > one[kind].accuracy[-1].max() for kind, run in two.items())
    return Picture(
        fig,
        title="Where the period varies, two layers copy more than one with every score"
        if ahead
        else "One layer and two where the period varies",
        caption="Period drawn from 6 to 12: share of copies right among the last twelve tokens, "
        f"{_seeds(two)} seeds, median and middle half.",
        alt="Share of copies right on sequences of random period. At the end, medians: "
        + "; ".join(
            f"{kind} {one[kind].accuracy[-1].median():.2f} with one layer, "
            f"{run.accuracy[-1].median():.2f} with two"
            for kind, run in two.items()
        )
        + ".",
    )


def circuits(found: Circuits, two: Learnings) -> HTML:
    """How far two layers are an induction circuit, beside how well they copy."""
    return notebook.table(
        ["two layers with", "copies right", "layer 1, one back", "layer 2, at the source"],
        [
            [
                kind,
                *(
                    of_seeds(values, 2)
                    for values in (two[kind].accuracy[-1], found.previous[kind], found.source[kind])
                ),
            ]
            for kind in found.source
        ],
    )


# --- Loud strangers, loud friends and whispers


def resilience(found: Resilience) -> HTML:
    """The source's table, and one column more."""
    return notebook.table(
        ["key", "q · k", "−det G", "cos² to the plane"],
        [
            [
                f"{key.name}, length {key.length:.0f}",
                *(f"{x:.4f}".replace("-", "−") for x in (key.dot, key.volume, key.angle)),
            ]
            for key in found.keys
        ],
    )


def _map(ax: Any, shares: Shares, kind: str) -> Any:
    """Draw attention on the friend over the grid, and return what a colour bar needs."""
    levels = [i / 10 for i in range(11)]
    mesh = ax.contourf(shares.across, shares.up, shares.of[kind], levels=levels, cmap=SHARES)
    ax.set(xscale="log")
    return mesh


def _above(x: float) -> str:
    """In two decimals, rounded down."""
    return f"{int(100 * x) / 100:.2f}"


def strangers(length: Shares, share: Shares) -> Picture:
    """Attention on the friend where the leak is a length, and where it is a share."""
    rows = (length, "leak, as a length"), (share, "leak, as a share")
    with figure(5.8, 3.7, rows=2, columns=3, sharex=True, sharey=True) as (fig, axes):
        for row, (shares, label) in enumerate(rows):
            for ax, kind in zip(axes[row], shares.of, strict=True):
                mesh = _map(ax, shares, kind)
                ax.set_xticks([1, 10, 100], ["1", "10", "100"])
                if row == 0:
                    ax.set_title(kind, fontsize=10)
            axes[row, 0].set_ylabel(label)
        axes[1, 1].set_xlabel("length of the stranger")
        fig.colorbar(mesh, ax=axes, label="attention on the friend", ticks=[0, 0.5, 1])
    fixed, shared = length.of["dot"], share.of["dot"]
    still = bool((fixed.amax(1) - fixed.amin(1) < 1e-6).all())
    wins = still and bool(shared.min() < 0.5)
    lowest = min(length.of["angle"].min().item(), share.of["angle"].min().item())
    return Picture(
        fig,
        title="A longer stranger wins the dot product only if its leak grows with it"
        if wins
        else "Attention on the friend, against one stranger",
        caption="Attention on the friend, against one stranger. Above, the leak is a length, as "
        "published: the dot product does not change with the stranger's length. Below it is a "
        "share of it. (Unscaled scores, the angle times its β of 8.)",
        alt="Attention on the friend over the stranger's length and leak. With a fixed leak the "
        f"dot product keeps between {fixed.min():.2f} and {fixed.max():.2f} whatever the length; "
        f"with a leak that is a share of the length it falls to {shared.min():.2f}. The volume "
        f"rises to {share.of['volume'].max():.2f} in both. The angle stays above {_above(lowest)}.",
    )


def off_the_plane(shares: Shares) -> Picture:
    """Attention on a friend that leans out of the plane."""
    with figure(5.8, 2.4, columns=3, sharex=True, sharey=True) as (fig, axes):
        for ax, kind in zip(axes, shares.of, strict=True):
            mesh = _map(ax, shares, kind)
            ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
            ax.set_title(kind, fontsize=10)
        axes[0].set_ylabel("tilt, degrees")
        axes[1].set_xlabel("length of the friend")
        fig.colorbar(mesh, ax=axes, label="attention on the friend", ticks=[0, 0.5, 1])
    volume = shares.of["volume"][shares.up > 0]
    falls = bool((volume.diff(dim=1) <= 0).all() and (volume[:, -1] < volume[:, 0]).all())
    return Picture(
        fig,
        title="The longer a friend off the plane, the less the volume attends to it"
        if falls
        else "Attention on a friend off the plane",
        caption="What the gate costs: a friend a few degrees off the plane, against a short "
        "stranger (length 0.5, at right angles).",
        alt="Attention on a friend that leans out of the plane, against a stranger of length 0.5 "
        f"at right angles to it. With the volume a long friend falls to {volume.min():.2f} at the "
        "largest tilt; with the dot product it rises with its length to "
        f"{shares.of['dot'].max():.2f}; with the angle its length changes nothing.",
    )


def loudness(loud: Loudness) -> Picture:
    """Share of copies right when one token is made louder or quieter."""
    panels = (loud.others, "the eleven other copies"), (loud.own, "the copy of the loud token")
    with figure(5.8, 2.9, columns=2, sharey=True) as (fig, axes):
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

    seeds = next(iter(loud.own.values())).shape[1]
    both = claims.silences_strangers(loud) and claims.loses_loud_friends(loud)
    return Picture(
        fig,
        title="The volume does not hear a loud stranger, nor a loud friend"
        if both
        else "One token made louder or quieter",
        caption="One token made louder or quieter in trained one-layer models: median of "
        f"{seeds} seeds and middle half.",
        alt="Share of copies right when one token's embedding is multiplied. Other copies at a "
        f"factor of 0.1, 3 and 100: {at('others')}. The token's own copy: {at('own')}.",
    )


def loudness_table(loud: Loudness) -> HTML:
    """The same at three factors."""
    return notebook.table(
        ["share right", "others, × 0.1", "× 3", "× 100", "its own, × 0.1", "× 3", "× 100"],
        [
            [
                kind,
                *(
                    f"{loud.at(of, kind, c):.2f}"
                    for of in ("others", "own")
                    for c in (0.1, 3.0, 100.0)
                ),
            ]
            for kind in loud.own
        ],
    )


# --- Inside a head


def plane(drawn: Mapping[str, Places]) -> Picture:
    """Keys of a trained head, seen from their queries' planes, by kind."""
    with figure(5.8, 2.8, columns=2) as (fig, axes):
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
    if max(ratio.values()) < 1:
        title = "The right source lies lower over the plane than the other keys"
    else:
        title = "Where the right source lies, seen from the plane"
    return Picture(
        fig,
        title,
        caption="Keys of one trained head, as their queries see them. Under the volume the winner "
        "is the lowest key, under the angle the flattest.",
        alt="Two scatter plots of keys seen from their query's plane. The right source's median "
        "height is "
        + ", ".join(f"{value:.2f} of the others' with the {kind}" for kind, value in ratio.items())
        + ".",
    )


def spreads(found: Sequence[Spread], lowest: float, sharpest: float) -> list[Table]:
    """How far each score spreads at three dimensions, and how far training takes the volume."""
    return [
        Markdown(
            "The source divides by *d*√*d* because the determinant is of degree six. Is that the "
            "right power? The spread (standard deviation, over queries and keys together) of each "
            "score as it stands in the softmax, for vectors of independent standard normal numbers:"
        ),
        notebook.table(
            ["d", "dot product, over √d", "volume, over d√d", "angle, times 8"],
            [[s.d, f"{s.dot:.2f}", f"{s.volume:.1f}", f"{s.angle:.2f}"] for s in found],
        ),
        claims.spreads(lowest, sharpest),
    ]


# --- More seeds, more steps


def rates(found: Sweep) -> Picture:
    """Loss at the end against the learning rate."""
    with figure(5.8, 2.7, columns=2, sharey=True) as (fig, axes):
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
    smaller = all(
        rate["volume"] < min(other for score, other in rate.items() if score != "volume")
        for rate in best.values()
    )
    return Picture(
        fig,
        title="The volume wants a smaller rate than the others"
        if smaller
        else "Every score at five learning rates",
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
    titles = {
        "one layer": "one layer,\nperiod 12",
        "one layer, random period": "one layer,\nperiod 6 to 12",
        "two layers": "two layers,\nperiod 6 to 12",
    }
    with figure(5.8, 2.9, columns=3, sharey=True) as (fig, axes):
        for ax, (layers, kinds) in zip(axes, found.items(), strict=True):
            for kind, run in kinds.items():
                band(ax, run.steps, run.above_floor, COLOUR[kind], kind)
            ax.set(yscale="log", xlabel="step")
            ax.set_title(titles[layers], fontsize=10)
            ax.set_xticks([0, int(run.steps[-1])])
        axes[0].set_ylabel("nats above the floor")
        legend_below(fig)
    seeds = _seeds(found["two layers"])
    return Picture(
        fig,
        title="The same comparison with more seeds and more steps",
        caption=f"Recorded: {seeds} seeds, median and middle half.",
        alt=f"Recorded losses above the floor, {seeds} seeds. Medians at the end: "
        + " ".join(f"{layers}: {_medians(kinds)}." for layers, kinds in found.items()),
    )
