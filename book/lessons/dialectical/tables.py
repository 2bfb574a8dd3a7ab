"""The chapter's tables of numbers, for its page of evidence."""

from collections.abc import Callable, Sequence

import torch
from IPython.display import HTML
from torch import Generator

from attn_notes.analysis import statistics
from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, VOCABULARY, Brackets
from book.kit import notebook
from book.kit.words import median, number, span
from book.lessons.dialectical import claims, decoding, figures, measure, recipe
from book.lessons.dialectical.evidence import Recorded


def floor(task: Brackets = recipe.TASK, strings: int = 8000) -> HTML:
    """The floor as a sum, and the best predictor's loss on a sample."""
    x, y = task.sample(strings, Generator().manual_seed(2))
    losses = brackets.token_losses(task.ideal(x), y).sum(1)
    tokens = (y != PAD).sum(1)
    mean = losses.sum() / tokens.sum()
    error = (losses - mean * tokens).std() / tokens.float().mean() / len(x) ** 0.5
    even = torch.tensor(float(len(VOCABULARY))).log().item()
    return notebook.table(
        ["floor, summed exactly", f"best predictor, {strings:,} strings", "knowing nothing"],
        [[number(task.floor, 4), f"{mean:.4f} ± {2 * error:.4f}", number(even, 4)]],
    )


def parts() -> HTML:
    """The five parts in their two kinds."""
    return notebook.table(
        ["part", "as published", "corrected"],
        [
            ["mask", "adds 0 · −∞ to what it keeps", "−∞ on the future and on padding alone"],
            ["biases of the readings", "w · query + b: the same for every key", "w · key"],
            ["values", "two projections that start opposed", "one, shared by both readings"],
            ["tension", "angle between what was read", "total variation of the attentions"],
            ["halting", "a halted token may start again while another moves", "it stays halted"],
        ],
    )


WATCHED = {
    "published": "as published",
    "published, masked": "mask mended",
    "corrected": "corrected",
}


def reading(recorded: Recorded) -> HTML:
    """Loss on whole strings, on prefixes, and the largest leak."""
    best = recorded.inside["runs"]["corrected"]["best"]
    return notebook.table(
        ["model", "largest leak, in logits", "loss on whole strings", "seeing the past only"],
        [
            [
                name,
                span(recorded.saw(kind, "leak"), 1),
                span(recorded.saw(kind, "loss"), 3),
                span(recorded.saw(kind, "loss on prefixes"), 3),
            ]
            for kind, name in WATCHED.items()
        ]
        + [["the best predictor", "0.0", number(best), number(best)]],
    )


def _yes(condition: bool) -> str:
    return "yes" if condition else "–"


def kinds() -> HTML:
    """What each kind has."""
    return notebook.table(
        ["kind", "readings", "gate τ", "gate σ(g·q)", "halts by τ", "steps", "head's width d"],
        [
            [
                kind,
                c.streams,
                _yes(c.tension_gate and c.streams == 2),
                _yes(c.learned_gate),
                _yes(c.tension_tau > 0 and c.streams == 2),
                c.steps,
                c.head_dim,
            ]
            for kind, c in recipe.KINDS.items()
            if kind != "published"
        ],
    )


def costs(recorded: Recorded) -> HTML:
    """Where each kind ends, and what it costs."""
    return notebook.table(
        ["kind", "seeds", "nats above the floor, median", "worst seed", "steps taken",
         "million operations", "parameters"],
        [
            [
                kind,
                len(recorded.ends[kind]),
                number(median(recorded.ends[kind]), 4),
                number(recorded.ends[kind].max().item(), 4),
                number(recorded.steps(kind).mean().item(), 2),
                number(run["operations"] / 1e6, 2),
                f"{run['parameters']:,}",
            ]
            for kind, run in recorded.parts["runs"].items()
        ],
    )  # fmt: skip


def compared(recorded: Recorded) -> HTML:
    """By how much one kind ends above another, with an interval for each question by itself."""
    rows = []
    for (ours, theirs), claim in claims.about_parts(recorded).items():
        effect = statistics.difference(recorded.ends[ours], recorded.ends[theirs])
        middle, low, high = (number(1000 * value, 1) for value in effect)
        p = claim.findings["recorded"].p
        rows.append([ours, theirs, middle, f"{low} to {high}", statistics.said(p or 1.0)])
    return notebook.table(
        ["kind", "against", "ends higher by, thousandths of a nat", "95 % interval", "corrected"],
        rows,
    )


def halting(recorded: Recorded) -> HTML:
    """What each threshold keeps, computes and loses, against stopping all tokens alike."""
    rows = []
    for tau in recipe.TOLD:
        at = [next(row for row in t["tension"] if row.at == tau) for t in recorded.tradeoffs]
        kept, computed = (recorded.against_depth(tau, equal) * 1000 for equal in ("moves", "steps"))
        rows.append(
            [
                tau,
                number(median(torch.tensor([row.moves for row in at])), 1),
                number(median(torch.tensor([row.steps for row in at])), 1),
                f"{span(kept, 1)} (lower in {(kept < 0).sum()} of {len(kept)})",
                f"{span(computed, 1)} (lower in {(computed < 0).sum()} of {len(computed)})",
            ]
        )
    return notebook.table(
        ["threshold τ₀", "moves kept", "steps computed", "against equal moves, thousandths",
         "against equal steps"],
        rows,
    )  # fmt: skip


FAULTS = ("unbalanced", "contain PAD", "exceed the budget", "ten fillers in a row")


def decoders(recorded: Recorded) -> HTML:
    """How many texts of each decoder have which fault."""
    return notebook.table(
        ["model", "logits", "budget", "decoder", *FAULTS],
        [
            [WATCHED[kind], logits, budget, decoder,
             *(recorded.faults(kind, logits, decoder, budget)[fault] for fault in FAULTS)]
            for kind in ("published", "corrected")
            for logits in ("as trained", "logits lower by 30")
            for budget in recipe.BUDGETS
            for decoder in measure.DECODERS
        ],
    )  # fmt: skip


def options(model: LanguageModel, prompts: Sequence[str] = ("(((", "()"), budget: int = 8) -> HTML:
    """The published decoder's two options, and what the grammar makes of the first."""

    def texts(write: Callable[..., str], **options: bool) -> list[str]:
        return ["".join(figures.shown(write(model, p, budget, **options))) for p in prompts]

    def by_grammar(model: LanguageModel, prompt: str, budget: int, *, stop_on_closed: bool) -> str:
        return decoding.generate(model, prompt, budget, stop_on_closed=stop_on_closed).text

    rows = [
        [f"stop_on_closed={stop}, close_tail={close}",
         *texts(decoding.as_published, stop_on_closed=stop, close_tail=close)]
        for stop in (True, False)
        for close in (True, False)
    ]  # fmt: skip
    rows += [
        [f"by the grammar, stop_on_closed={stop}", *texts(by_grammar, stop_on_closed=stop)]
        for stop in (True, False)
    ]
    return notebook.table(
        [f"budget {budget}, ␣ is a space", *(f"after “{prompt}”" for prompt in prompts)], rows
    )


def verdicts(recorded: Recorded) -> HTML:
    """Every claim."""
    return claims.table(claims.evidence(recorded))
