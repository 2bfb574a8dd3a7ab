"""The chapter's figures: results → what is drawn, with its conclusion, caption and description."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from matplotlib.axes import Axes
from torch import Generator, Tensor

from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Brackets
from attn_notes.training.ensemble import Run
from book.kit import figures as house
from book.kit.figures import COLOURS, FLOOR, GREY, INK, PAPER, Picture, Yours
from book.kit.words import median, number, span
from book.lessons.dialectical import decoding, evidence, measure, recipe
from book.lessons.dialectical.evidence import Live, Recorded
from book.lessons.dialectical.widget import BracketGenerator

BLUE, VERMILION, GREEN, MAUVE, VIOLET = COLOURS
COLOUR = {
    "as published": VERMILION,
    "mask mended": BLUE,
    "corrected": GREEN,
    "no tension gate": MAUVE,
    "plain recursion": VIOLET,
}
"""A colour is a kind of model, on both pages and in the widget. Everything else is drawn in ink or
grey: the floor, the best predictor, other kinds, a rule that needs no head, one reading of two."""


def teach(widget: BracketGenerator) -> None:
    """Let the reader train the lesson's models, and the one with all parts mended, in the page."""
    for name, config in {**recipe.LESSON, "all five mended": recipe.WHOLE}.items():
        widget.teach(
            name,
            config,
            recipe.TASK,
            rate=recipe.IN_PAGE.rate(name),
            steps=recipe.IN_PAGE.steps,
            batch=recipe.IN_PAGE.batch,
            warmup=recipe.IN_PAGE.warmup,
            near=recipe.NEAR_IN_PAGE,
        )


def writer(prompt: str) -> BracketGenerator:
    """What a model draws by chance: one that has learnt nothing, and the lesson's two."""
    widget = BracketGenerator(view="writing", views=["writing"], prompt=prompt, temperature=1.0)
    widget.load("untrained", evidence.untrained(), recipe.MENDED)
    for name, config in recipe.LESSON.items():
        widget.load(name, evidence.stacked(name), config)
    return widget


def put_in(runs: Mapping[str, Run], *widgets: BracketGenerator) -> None:
    """Let widgets show the first seed of what the lesson has trained."""
    for name, run in runs.items():
        first = {key: p[:1] for key, p in run.parameters.items()}
        for widget in widgets:
            widget.load(name, first, recipe.LESSON[name])


def shown(text: str) -> list[str]:
    """The characters of a text, a space as ␣."""
    return list(text.replace(" ", "␣"))


def quoted(text: str, values: Sequence[float], digits: int = 2) -> str:
    """The characters of a text in quotation marks, each with its number."""
    pairs = zip(shown(text), values, strict=True)
    return ", ".join(f"“{c}” {number(v, digits)}" for c, v in pairs)


def listed(parts: Iterable[str], separator: str = "; ") -> str:
    """Some parts as one sentence."""
    return separator.join(parts) + "."


# --- The landing page


def emblem() -> Picture:
    """A loss that goes on falling where none can be: the median of the published model's seeds."""
    run = evidence.recorded().parts["runs"]["published"]
    middle = torch.tensor(run["excess"]).quantile(0.5, 1)
    with house.figure(1.75, 1.15) as (fig, ax):
        ax.axhspan(-0.4, 0, color=GREY, alpha=0.16, linewidth=0)
        ax.axhline(0, color=FLOOR, linewidth=1)
        ax.plot(run["steps"], middle, color=COLOUR["as published"], linewidth=2)
        ax.plot(run["steps"][-1], middle[-1], "o", color=COLOUR["as published"], markersize=6)
        ax.set(ylim=(-0.4, 0.6), xlim=(-15, run["steps"][-1] + 30), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return Picture(
        fig,
        title="",
        caption="",
        alt="A curve of a loss that falls steeply, crosses the line of the best possible loss, and "
        "goes on falling.",
    )


# --- The lesson


TEXT = 6.3
"""Inches, as wide as the text; letters of 11.5 points are then read on a phone as well."""
LETTERS = 11.5


def unknown(text: str, task: Brackets = recipe.TASK) -> Picture:
    """What cannot be known of the next character, along one string, and the mean over all."""
    cannot = task.entropies(brackets.encode(text)[None])[0].tolist()
    with house.figure(TEXT, 2.9) as (fig, ax):
        ax.bar(range(len(text)), cannot, color=GREY, width=0.7)
        ax.axhline(task.floor, color=FLOOR, linestyle=":")
        ax.text(
            len(text) - 0.55, 1.68, f"the floor, {task.floor:.2f}: the mean over all strings",
            ha="right", va="bottom", fontsize=LETTERS, color=FLOOR,
        )  # fmt: skip
        ax.set_xticks(range(len(text)), shown(text))
        ax.set(ylim=(0, 2.0), yticks=[0, 0.5, 1, 1.5])
        ax.set_xlabel("after this character", fontsize=LETTERS)
        ax.set_ylabel("nats, on average", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
    return Picture(
        fig,
        title="Even the best predictor cannot know everything",
        caption="What the best predictor pays on average for the next character of one string. The "
        f"first bar is the {cannot[0]:.2f} that was worked out above.",
        alt=f"Bars: nats after each character of {text}: {quoted(text, cannot)}. "
        f"A dotted line at {task.floor:.3f}, the mean over all strings.",
    )


def triangles(text: str = "(a)") -> Picture:
    """The two masks, what they add up to and what is then read: as meant, and as computed."""
    n = len(text)
    later = torch.ones(n, n).triu(1) > 0
    no, none = -torch.inf, torch.zeros(n, n)
    causal = none.masked_fill(later, no)
    rows = {"as meant": (causal, none), "as computed": (causal, none * no)}
    columns = ("causal mask", "padding mask", "their sum", "what is read")
    with house.figure(TEXT, 3.5, rows=2, columns=4) as (fig, axes):
        fig.get_layout_engine().set(wspace=0.11, hspace=0)
        for row, (when, (first, second)) in zip(axes, rows.items(), strict=True):
            both = first + second
            for ax, sign, grid in zip(
                row, ("", "+", "=", "→"), (first, second, both), strict=False
            ):
                shade = (grid != 0) * 0.25  # what is no number is not 0 either
                house.heat_map(ax, shade, y=list(text) if ax is row[0] else None)
                for i in range(n):
                    for j in range(n):
                        cell = {0.0: "0", no: "−∞"}.get(float(grid[i, j]), "nan")
                        ax.text(
                            j + 0.5, i + 0.5, cell, ha="center", va="center", fontsize=LETTERS,
                            color=house.ON_CELL["black", "white"],
                        )  # fmt: skip
                _signed(ax, sign)
            read = both.nan_to_num(nan=0.0).softmax(-1)
            ahead = [(i, j) for i in range(n) for j in range(i + 1, n) if read[i, j] > 0]
            house.heat_map(row[-1], read, numbers=True, size=LETTERS, frames=ahead)
            _signed(row[-1], "→")
            row[0].set_ylabel(when, fontsize=LETTERS + 0.5)
            row[0].tick_params(labelsize=LETTERS)
        for ax, name in zip(axes[0], columns, strict=True):
            ax.set_title(name, fontsize=LETTERS, loc="center")
    return Picture(
        fig,
        title="A mask that strikes out nothing takes the other one with it",
        caption=f"The three characters of {text}, a row for each that reads and a column for each "
        "that is read, if all scores are alike; the guard makes 0 of nan, and framed is what "
        "comes later.",
        alt="Two rows of four grids. As meant: a triangle of −∞, plus zeros, is the triangle, and "
        "nothing later is read. As computed: the triangle, plus nan everywhere, is nan "
        "everywhere, and each character reads a third of each, those that come later too.",
    )


def _signed(ax: Axes, sign: str) -> None:
    """A sign on the left of a grid."""
    ax.annotate(
        sign, (0, 0.5), (-9, 0), xycoords="axes fraction", textcoords="offset points",
        ha="center", va="center", fontsize=15,
    )  # fmt: skip


def alone(recorded: Recorded) -> Picture:
    """What models pay on whole strings, and where nothing stands behind what they have read."""
    kinds = {"as published": "published", "mask mended": "published, masked"}
    rows = [(name, what) for what in ("loss", "loss on prefixes") for name in kinds]
    paid = {row: recorded.saw(kinds[row[0]], row[1]) for row in rows}
    nothing, seeds = evidence.KNOWING_NOTHING, len(paid[rows[0]])
    where = {"loss": "whole strings", "loss on prefixes": "beginnings only"}
    said = {row: span(values, 1 if values.min() > 2 else 2) for row, values in paid.items()}
    with house.figure(TEXT, 3.3) as (fig, ax):
        for y, (row, values) in enumerate(paid.items()):
            ax.plot(values, [y] * seeds, "o", color=COLOUR[row[0]], markersize=7, alpha=0.6)
            low, high = float(values.min()), float(values.max())
            at, side = (nothing + 0.5, "left") if high < nothing else (low - 0.9, "right")
            ax.text(at, y, said[row], fontsize=LETTERS, va="center", ha=side)
        ax.axvline(nothing, color=FLOOR, linewidth=1.2, linestyle="--")
        ax.text(
            nothing + 0.5, -0.75, f"knowing nothing, {nothing:.2f}", fontsize=LETTERS, va="center"
        )
        ax.set_yticks(range(len(rows)), [f"{name},\n{where[what]}" for name, what in rows])
        ax.set(
            ylim=(len(rows) - 0.45, -1.1), xlim=(0, float(max(v.max() for v in paid.values())) + 2)
        )
        ax.set_xlabel("nats a character", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
    return Picture(
        fig,
        title="Without its answers, the published model does worse than knowing nothing",
        caption=f"What {seeds} models of each kind pay for a character, each a dot.",
        alt="Dots in four rows, in nats a character. "
        + listed(f"{name}, {where[what]}: {said[name, what]}" for name, what in rows)
        + f" A dashed line at {nothing:.2f}, what knowing nothing costs.",
    )


def falling(live: Live) -> Picture:
    """The loss of each kind against the floor, while it learns."""
    ends = {kind: curve[-1] for kind, curve in live.curves.items()}
    below = [kind for kind, end in ends.items() if evidence.falls_below(end)]
    above = [kind for kind, end in ends.items() if evidence.lowest(end)[0]]
    last, seeds = int(live.steps[-1]), len(next(iter(ends.values())))
    lowest = min(-0.3, 1.15 * min(float(end.min()) for end in ends.values()))
    with house.figure(TEXT, 3.6) as (fig, ax):
        ax.axhspan(lowest, 0, color=GREY, alpha=0.13, linewidth=0)
        ax.axhline(0, color=FLOOR, linewidth=1)
        ax.text(0.02 * last, lowest + 0.02, "below the floor", va="bottom", fontsize=LETTERS)
        for kind, curve in live.curves.items():
            house.band(ax, live.steps, curve, COLOUR[kind], kind.replace(" ", "\n"))
        ax.set(ylim=(lowest, 0.5), xlim=(0, last), xticks=range(0, last + 1, 100))
        ax.set_xlabel("step of training", fontsize=LETTERS)
        ax.set_ylabel("nats above the floor", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
        house.label_lines(ax, LETTERS)
    if below and above:
        title = f"{' and '.join(below).capitalize()} the loss falls through the floor; " + (
            f"{' and '.join(above)} it does not"
        )
    elif below:
        title = "Every loss falls through the floor"
    else:
        title = "No loss ends below the floor"
    return Picture(
        fig,
        title=title,
        caption=f"Loss on {recipe.PROBED} strings drawn apart from those of the training, less the "
        f"best predictor's on the same ones; median and middle half of {seeds} seeds.",
        alt="Loss above the floor against steps. "
        + listed(
            f"{kind} it begins at {number(median(live.curves[kind][0]), 2)} and ends at "
            f"{number(median(end))} nats"
            for kind, end in ends.items()
        ),
        lesson="dialectical",
        yours=[
            Yours(
                ax,
                {kind: kind for kind in ends},
                series="above",
                reads={"ends": None},
                unit=" nats above the floor",
                recorded={
                    kind: f"The {seeds} seeds trained with this page end after {last} steps, by "
                    f"their median, {_off(median(end))} it."
                    for kind, end in ends.items()
                },
            )
        ],
    )


def _off(nats: float) -> str:
    return f"{number(abs(nats))} nats {'below' if nats < 0 else 'above'}"


def stopping(recorded: Recorded) -> Picture:
    """Loss against moves kept: halting by tension, and stopping all alike."""
    swept = {
        rule: (
            torch.tensor([[row.moves for row in t[rule]] for t in recorded.tradeoffs]),
            torch.tensor([[row.excess for row in t[rule]] for t in recorded.tradeoffs]),
        )
        for rule in ("depth", "tension")
    }
    taus = [row.at for row in recorded.tradeoffs[0]["tension"]]
    with house.figure(5.5, 3.1) as (fig, ax):
        for rule, colour, label in (
            ("depth", GREY, "all tokens alike"),
            ("tension", COLOUR["corrected"], "halting by tension"),
        ):
            count, excess = swept[rule]
            for seed in range(len(count)):
                ax.plot(count[seed], excess[seed], color=colour, alpha=0.4, linewidth=0.7)
            ax.plot(count.quantile(0.5, 0), excess.quantile(0.5, 0), "o-", color=colour,
                    markersize=3.5, label=label)  # fmt: skip
        # Where no curve comes, with a line to the dot that is meant.
        for tau, place in ((recipe.WHOLE.tension_tau, (0.83, 0.62)), (0.25, (0.66, 0.9))):
            at = [median(values[:, taus.index(tau)]) for values in swept["tension"]]
            ax.annotate(
                f"τ₀ = {tau}", at, xytext=place, textcoords="axes fraction", fontsize=10,
                ha="left", va="center", arrowprops={"arrowstyle": "-", "color": GREY, "shrinkB": 3},
            )  # fmt: skip
        what = "moves that a token keeps, mean"
        ax.set(xlabel=what, ylabel="nats above the floor", yscale="log")
        ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_ylim(0.01, 0.6)  # one seed begins at 0.57
        fig.legend(
            *ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=10
        )
    depth = swept["depth"][1].quantile(0.5, 0).tolist()
    rows = zip(
        taus, *(values.quantile(0.5, 0).tolist() for values in swept["tension"]), strict=True
    )
    return Picture(
        fig,
        title="At equal moves, halting by tension helps some seeds and harms others",
        caption=f"Recorded: {len(recorded.tradeoffs)} seeds (thin) and their median (dots). One "
        "curve sweeps the threshold τ₀ below which a token halts, the other stops all tokens after "
        "0 to 6 moves.",
        alt=f"Loss above the floor against {what}. All alike, after 0 to 6: "
        + ", ".join(number(e) for e in depth)
        + ". By tension: "
        + listed(
            (
                f"{number(e)} at {number(c, 1)} (τ₀ = {tau})"
                for tau, c, e in rows
                if tau in (0.0, *recipe.TOLD)
            ),
            ", ",
        ),
    )


def removals(writers: Mapping[str, Sequence[float]], prompt: str) -> Picture:
    """How much of a model's wish the grammar takes away, choice by choice."""
    means = {name: sum(taken) / len(taken) for name, taken in writers.items()}
    with house.figure(TEXT, 2.9) as (fig, ax):
        for (name, taken), colour in zip(
            writers.items(), (COLOUR["mask mended"], GREY), strict=False
        ):
            ax.plot(range(1, len(taken) + 1), taken, "o-", color=colour, markersize=3.5, label=name)
        ax.set(ylim=(-0.03, 1.03), yticks=[0, 0.5, 1])
        ax.set_xlabel("character written", fontsize=LETTERS)
        ax.set_ylabel("share taken away", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
        fig.legend(
            *ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=LETTERS
        )
    least = min(means, key=means.__getitem__)
    others = [name for name in means if name != least]
    if all(means[least] < 0.5 * means[name] for name in others) and others:
        title = f"The grammar takes little from the {least} model, more from the {others[0]} one"
    else:
        title = "The grammar takes about as much from either model"
    return Picture(
        fig,
        title=title,
        caption=f"Of what a model would have written after “{prompt}”, the share that the grammar "
        "forbids, at each character. All texts balance.",
        alt="Probability removed at each character. "
        + listed(
            f"{name}: mean {number(means[name], 2)}, most {number(max(taken), 2)}"
            for name, taken in writers.items()
        ),
    )


# --- The evidence


def readings(
    scores: Sequence[float] = (0.3, 1.2, 0.1, 0.9, -0.4, 0.5),
    biases: Sequence[float] = (0.9, -0.8, 0.3, 1.0, -0.6, -0.7),
) -> Picture:
    """Two attentions over the same keys, and their tension."""
    score, bias = torch.tensor(scores), torch.tensor(biases)
    plus, minus = (score + bias).softmax(0), (score - bias).softmax(0)
    more = (plus - minus).abs()
    places = range(len(score))
    with house.figure(5.5, 2.4) as (fig, ax):
        ax.bar([j - 0.19 for j in places], plus.tolist(), 0.36, color=INK, label="a⁺")
        ax.bar([j + 0.19 for j in places], minus.tolist(), 0.36, color=GREY, label="a⁻")
        ax.bar(
            [j - 0.19 if plus[j] >= minus[j] else j + 0.19 for j in places],
            more.tolist(),
            0.36,
            bottom=torch.minimum(plus, minus).tolist(),
            fill=False,
            hatch="////",
            edgecolor=PAPER,
            linewidth=0,
        )
        ax.set_xticks(places, [f"key {j + 1}" for j in places])
        ax.set_ylabel("attention")
        fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper", fontsize=10)
    tau = more.sum().item() / 2
    return Picture(
        fig,
        title="Tension is the share of attention that one reading has elsewhere",
        caption="Two readings of six keys, biased in opposite ways. What one has more than the "
        f"other is hatched; half of all hatching, {number(tau, 2)}, is the tension.",
        alt="Paired bars over six keys. a⁺: " + ", ".join(number(v, 2) for v in plus.tolist())
        + "; a⁻: " + ", ".join(number(v, 2) for v in minus.tolist()) + ".",
    )  # fmt: skip


def _pair(maps: Mapping[str, Tensor], letters: str, numbers: bool = False, height: float = 2.9):  # type: ignore[no-untyped-def]
    """Heat maps side by side, of who attends to whom."""
    with house.figure(5.5, height, columns=len(maps)) as (fig, axes):
        for ax, (name, values) in zip(axes, maps.items(), strict=True):
            house.heat_map(ax, values, x=shown(letters), y=shown(letters), numbers=numbers)
            ax.set_title(name, fontsize=10)
            ax.set_xlabel("character attended to")
        axes[0].set_ylabel("character that attends")
    return fig


@torch.no_grad()
def masks(model: LanguageModel, letters: str = recipe.LEAK_TEXT) -> Picture:
    """The first step's attention of one model, by the mask as published and by one that masks."""
    ids = brackets.encode(letters)[None]
    maps = {}
    for mask, title in {"published": "as published", "causal": "mended"}.items():
        other = measure.with_weights_of(model, replace(model.config, mask=mask))
        maps[title] = other.observe(ids)[1].attention[0, 0, 0]
    ahead = float(maps["mended"].triu(1).max())
    return Picture(
        _pair(maps, letters, numbers=True),
        title="The published mask makes attention even; the mended one keeps it to the past",
        caption="Attention at the first step with the same trained weights, before and after the "
        "mask is mended. (The model was not trained with the second one.)",
        alt=f"As published the cells hold {span(maps['as published'], 2)}; with the mended mask "
        f"what lies right of the diagonal holds {number(ahead, 2)} at most.",
    )


@torch.no_grad()
def streams(model: LanguageModel, letters: str = "(a()(b))") -> Picture:
    """The two readings of one trained model on one string."""
    _, seen = model.observe(brackets.encode(letters)[None])
    plus, minus = seen.attention[0, 0]
    tension = seen.tension[0, 0].tolist()
    return Picture(
        _pair({"a⁺": plus, "a⁻": minus}, letters, height=3.3),
        title="Once mended, the two readings differ",
        caption="Attention of both readings at the first step. The tension, by character: "
        f"{quoted(letters, tension)}. The first has only itself to read, so it halts at once.",
        alt=f"Attention of two readings on {letters}. Tension: {quoted(letters, tension)}.",
    )


def tension(recorded: Recorded, model: LanguageModel, strings: Tensor) -> Picture:
    """Tension along the recursion, and against what is uncertain."""
    moving, every = recorded.tension("corrected").T, recorded.tension("no halting").T
    here, entropy = measure.tension_and_entropy(model, recipe.TASK, strings)
    with house.figure(5.5, 3.0, columns=2) as (fig, axes):
        steps = torch.arange(1, len(moving) + 1)
        house.band(axes[0], steps, moving, COLOUR["corrected"], "that still move")
        house.band(axes[0], steps, every, GREY, "all, none halts")
        axes[0].set(xlabel="step", ylabel="mean tension", ylim=(0, None))
        axes[0].set_title("along the recursion", fontsize=10)
        axes[1].scatter(entropy, here, s=5, alpha=0.3, color=COLOUR["corrected"], linewidth=0)
        axes[1].set(xlabel="nats unknown", ylabel="tension, first step", ylim=(0, None))
        axes[1].set_title("against what is uncertain", fontsize=10)
        fig.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=10
        )
    return Picture(
        fig,
        title="Tension goes with doubt in some seeds and against it in others",
        caption="Recorded. Left: mean tension of the tokens that still move, and of all tokens in "
        "models trained without halting. Right: each dot is a token, of one model; its "
        "uncertainty is the best predictor's. Their correlation over "
        f"{len(recorded.doubt())} seeds: {span(recorded.doubt(), 2)}.",
        alt=f"Left: the median goes from {number(median(moving[0]), 2)} to "
        f"{number(median(moving[-1]), 2)} for tokens that move, from {number(median(every[0]), 2)} "
        f"to {number(median(every[-1]), 2)} without halting. Right: tension against entropy, "
        f"correlation {number(measure.correlation(here, entropy), 2)}.",
    )


def training(recorded: Recorded) -> Picture:
    """Steps taken and tension while the models learn: two of the source's four plots."""
    names = {"published": "as published", "corrected": "corrected"}
    with house.figure(5.5, 3.0, columns=2) as (fig, axes):
        for kind, name in names.items():
            steps, seen = recorded.at_work(kind)
            house.band(axes[0], steps, seen[..., 0], COLOUR[name], name)
            house.band(axes[1], steps, seen[..., 1], COLOUR[name])
            axes[1].plot(steps, seen[..., 2].quantile(0.5, 1), "--", color=COLOUR[name])
        axes[0].set(xlabel="training step", ylabel="steps that a token takes", ylim=(0, 6.3))
        axes[1].set(xlabel="training step", ylabel="mean tension", ylim=(0, 1.05))
        fig.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=10
        )
    ends = {name: recorded.at_work(kind)[1][-1] for kind, name in names.items()}
    return Picture(
        fig,
        title="As published hardly a token halts; corrected, some do",
        caption=f"Recorded, {len(ends['corrected'])} seeds: two plots that the source draws. "
        "Right, the tension at the first step (solid, with its middle half) and at the last "
        "(dashed), over the tokens that had not halted.",
        alt=listed(
            f"{name}: at the end {number(median(e[:, 0]), 2)} steps, tension at the first "
            f"{number(median(e[:, 1]), 2)}, at the last {number(median(e[:, 2]), 2)}"
            for name, e in ends.items()
        ),
    )


ORDER = (
    "published, masked", "corrected", "no tension gate", "no halting", "neither", "one stream",
    "plain recursion", "one step",
)  # fmt: skip


def ablations(recorded: Recorded) -> Picture:
    """The loss of each kind without the future, a dot for each seed."""
    with house.figure(5.5, 3.2) as (fig, ax):
        for row, kind in enumerate(ORDER):
            ends = recorded.ends[kind]
            colour = COLOUR[kind] if kind == "corrected" else GREY
            ax.plot(ends, [row] * len(ends), "o", color=colour, alpha=0.55, markersize=5,
                    markeredgewidth=0)  # fmt: skip
            ax.plot([median(ends)] * 2, [row - 0.32, row + 0.32], color=colour, linewidth=2)
        ax.set_yticks(range(len(ORDER)), ORDER)
        ax.invert_yaxis()
        ax.axvline(recipe.NEAR, color=INK, linestyle=":", linewidth=1.2)
        ax.set(xscale="log", xlabel="nats above the floor")
        ticks = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    medians = {kind: median(recorded.ends[kind]) for kind in ORDER}
    return Picture(
        fig,
        title="By their medians all kinds but one end within 6 thousandths of a nat of each other",
        caption=f"Recorded: loss above the floor on {recipe.HELD_OUT:,} strings, a dot a seed, a "
        f"bar at the median. Dotted: {recipe.NEAR} nats.",
        alt="Medians of the loss above the floor: "
        + listed((f"{kind} {number(m, 4)}" for kind, m in medians.items()), ", "),
    )


def rates(recorded: Recorded) -> Picture:
    """The loss at three learning rates, and of the published size."""
    sweep, full = recorded.rates, recorded.published
    tried = sweep["settings"]["rates"]
    drawn = {"published, masked": COLOUR["mask mended"], "one step": GREY}
    drawn |= {kind: COLOUR[kind] for kind in ("corrected", "no tension gate", "plain recursion")}
    with house.figure(5.5, 3.5, columns=2) as (fig, axes):
        for kind, colour in drawn.items():
            ends = torch.tensor([sweep["runs"][f"{kind} {rate}"]["excess"][-1] for rate in tried])
            house.band(axes[0], torch.tensor(tried), ends, colour, kind)
        axes[0].set(xscale="log", yscale="log", xlabel="learning rate")
        axes[0].set_ylabel("nats above the floor")
        axes[0].set_xticks(tried, [f"{rate:g}" for rate in tried])
        axes[0].set_yticks([0.02, 0.05, 0.1], ["0.02", "0.05", "0.1"])
        axes[0].minorticks_off()
        axes[0].set_title(f"{sweep['settings']['steps']} steps", fontsize=10)
        for kind, name in (("published", "as published"), ("corrected", "corrected")):
            run = full["runs"][kind]
            curves = torch.tensor(run["excess"])
            house.band(axes[1], torch.tensor(run["steps"]), curves, COLOUR[name])
        axes[1].axhline(0, color=FLOOR, linewidth=1)
        axes[1].set(xlabel="step", ylim=(-0.25, 0.5))
        axes[1].set_title("the published size", fontsize=10)
        fig.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=10
        )
    large = {kind: torch.tensor(run["excess"][-1]) for kind, run in full["runs"].items()}
    return Picture(
        fig,
        title="At the published size, too, the loss ends below the floor",
        caption=f"Recorded. Left: three learning rates, {sweep['settings']['seeds']} seeds. Right: "
        f"{full['runs']['published']['parameters']:,} parameters, batch, rate and steps as "
        f"published, {full['settings']['seeds']} seeds; vermilion as published, green corrected.",
        alt="Left: loss above the floor against the learning rate. Right: after "
        f"{full['settings']['steps']} steps the published model is at "
        f"{number(median(large['published']), 2)} nats, the corrected one at "
        f"{number(median(large['corrected']), 2)}.",
    )


def lattice(model: LanguageModel, prompt: str = "((", budget: int = 9) -> Picture:
    """The states that a text may pass through, and one text that does and one that does not."""
    drawn = decoding.generate(
        model, prompt, budget, generator=Generator().manual_seed(3), temperature=1.5
    ).text
    forbidden = prompt + "()(((())"[: budget - 1]

    def path(text: str) -> tuple[list[int], list[int]]:
        opened = brackets.depth(brackets.encode(text)).tolist()[len(prompt) - 1 :]
        return [budget - i for i in range(len(opened))], opened

    with house.figure(TEXT, 4.2) as (fig, ax):
        left = torch.arange(0, budget + 1)
        ax.fill_between(left, left, budget, color=GREY, alpha=0.16, linewidth=0)
        ax.text(0.95, 2.5, "too many open\nto be closed\nin time", fontsize=LETTERS, ha="center")
        for remaining in range(budget + 1):
            for d in range(min(remaining, 6) + 1):
                ax.plot(remaining, d, "o", color=GREY, markersize=2.5)
        for text, style, colour, label in (
            (drawn, "o-", COLOUR["mask mended"], "with the bans"),
            (forbidden, "s--", INK, "what they forbid"),
        ):
            name = f"{label}: {''.join(shown(text))}"
            ax.plot(*path(text), style, color=colour, markersize=4.5, linewidth=1.4, label=name)
        ax.set(xlim=(budget + 0.4, -0.4), ylim=(-0.3, 6.5))
        ax.set_xlabel("characters left", fontsize=LETTERS)
        ax.set_ylabel("brackets open", fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS)
        ax.set_xticks(range(budget, -1, -1))
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", fontsize=LETTERS)
    left_, opened = path(forbidden)
    crossed = next(r for r, d in zip(left_, opened, strict=True) if d > r)
    return Picture(
        fig,
        title="A text can still be closed while no more brackets are open than characters are left",
        caption=f"Brackets open and characters left, in two texts from the prompt “{prompt}”.",
        alt=f"Brackets open against characters left. “{drawn}” never crosses the diagonal; "
        f"“{forbidden}” crosses it with {crossed} characters left.",
    )
