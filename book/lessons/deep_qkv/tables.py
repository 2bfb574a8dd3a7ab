"""The chapter's tables, which its evidence page shows."""

from collections.abc import Mapping

import torch
from IPython.display import HTML
from torch import Tensor

from attn_notes.analysis.statistics import NO_BREAK
from attn_notes.models.deep_qkv import Sorter
from attn_notes.tasks import sorting
from book.kit import notebook
from book.kit.words import listed, median, number
from book.lessons.deep_qkv import evidence, measure
from book.lessons.deep_qkv.evidence import NAMES, NEVER, NTH, Crowds, step_or_never


def arrivals(crowds: Crowds, rates: Mapping[str, float]) -> HTML:
    """When each kind is there, and what it cost."""
    rows = []
    for kind, here in crowds.items():
        low, middle, high = here.arrivals.quantile(
            torch.tensor([0.25, 0.5, 0.75]), interpolation="lower"
        ).tolist()
        quartiles = f"({step_or_never(low)} to {step_or_never(high)})".replace(" ", NO_BREAK)
        each = here.seconds / len(here.arrivals) / float(here.steps[-1])
        rows.append([
            NAMES[kind], f"{rates[kind]:g}", f"{here.arrived} of {len(here.arrivals)}",
            f"{step_or_never(middle)} {quartiles}",
            "never" if middle == NEVER else f"{middle * each:.2f} s",
        ])  # fmt: skip
    return notebook.table(
        [
            "weights and loss",
            "learning rate",
            "converged",
            "at step (quartiles)",
            "compute until then",
        ],
        rows,
        kind="arrivals",
    )


def pulled(ways: Mapping[float, Crowds]) -> HTML:
    """When plain sorters are there, by what the two letters contribute, at each rate."""
    rows: list[list[object]] = []
    for way in next(iter(ways.values())):
        row: list[object] = [way]
        for crowds in ways.values():
            here = crowds[way]
            row += [f"{here.arrived} of {len(here.arrivals)}", f"{step_or_never(here.median)}"]
        rows.append(row)
    header = [f"{what}, rate {rate:g}" for rate in ways for what in ("converged", "median step")]
    return notebook.table(["the two letters count", *header], rows)


def heads(model: Sorter) -> HTML:
    """What each head reads when it writes each letter: by letter and by place."""
    letters, places = measure.attention_by_letter(model), measure.attention_by_place(model)
    return notebook.table(
        [
            "head, writing",
            *(f"on {x}" for x in sorting.LETTERS),
            *(f"on the {n} letter" for n in NTH),
        ],
        [
            [
                f"head {head + 1}, {NTH[i]}",
                *(f"{x:.2f}" for x in [*letters[head, i].tolist(), *places[head, i].tolist()]),
            ]
            for head in range(len(letters))
            for i in range(3)
        ],
    )


def _digits(values: Tensor, digits: int = 3) -> list[str]:
    return [number(x, digits) for x in values.tolist()]


def positions(crowds: Crowds) -> HTML:
    """What sorters without positions reach, beside the least that they could."""
    exact = sorting.entropies(sorting.all_sequences(), sorting.proportions)
    rows: list[list[object]] = []
    for kind, here in crowds.items():
        last = here.last_losses
        rows.append([
            f"{kind}, without positions, median", f"{here.arrived} of {len(here.arrivals)}",
            f"{median(last.mean(-1)):.4f}", *(f"{median(each):.3f}" for each in last.T),
        ])  # fmt: skip
    rows.append(
        ["least possible without positions", "", f"{float(exact.mean()):.4f}", *_digits(exact)]
    )
    known = sorting.entropies(sorting.all_sequences())
    rows.append(["least possible with them", "", f"{float(known.mean()):.4f}", *_digits(known)])
    header = ["weights", "sort all 27", "loss", "letter 2", "letter 3", "|", *NTH]
    return notebook.table(header, rows)


def settings() -> HTML:
    """How each record was made."""
    names = ("rates", "chosen", "published", "rank_temperature", "positions", "gradients")
    rows = []
    for name in names:
        s = evidence.settings(name)
        lr = s["lr"]
        if isinstance(lr, dict):
            rate = "each kind's own"
        else:
            rate = listed([f"{x:g}" for x in (lr if isinstance(lr, list) else [lr])])
        first, count = s["first_seed"], s["seeds"]
        took = evidence.seconds(name)
        rows.append([
            f"deep_qkv_{name}", f"{first} to {first + count - 1}", f"{s['steps']:,}", rate,
            s["batch"] or "all 27", f"{took:,.0f} s",
        ])  # fmt: skip
    return notebook.table(["record", "seeds", "steps", "learning rate", "batch", "took"], rows)
