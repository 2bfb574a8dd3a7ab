"""Reports as one page of HTML that needs nothing else, with a picture of who reads whom."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.doubt.questions import drawn
from attn_notes.doubt.reports import REFUSED, Report, refusal
from attn_notes.doubt.subject import asked

MOST = 48  # tokens of a picture
CELL = 12  # pixels
STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } td { padding: .2rem .6rem; vertical-align: top }
tr { border-top: 1px solid #8884 } .leak, .wrong { background: #d5530040 }
.warning { background: #e6a00040 } td:first-child { white-space: nowrap; font-weight: 600 }
svg { max-width: 100%; height: auto } figcaption, .note { opacity: .8 }
"""


@torch.no_grad()
def moves(
    model: Any, tokens: Tensor, vocabulary: int, call: Callable[..., Any] | None, train: bool
) -> Float[Tensor, "t t"]:
    """How far each logit moves [reader, read], of its largest move, if one token is another."""
    x = tokens[0, :MOST]
    ask = call or (lambda model, tokens: model(tokens))
    with asked(model, ask, train=train, wide=False, vocabulary=vocabulary) as subject:
        before = subject(x[None]).clone()
        other, far = drawn(x, vocabulary, 1), []
        for place in range(len(x)):
            row = x.clone()
            row[place] = other[place]
            counts = subject.moved(before, subject(row[None]))[0][0]
            far.append(counts.nan_to_num(0.0, 0.0, 0.0))
    moved = torch.stack(far, 1)
    return moved / moved.max().clamp(min=1e-30)


def picture(moved: Float[Tensor, "t t"], name: str) -> str:
    """A square of who reads whom as SVG: what lies above the line comes later."""
    t = len(moved)
    cells = []
    for reader, read in moved.gt(1e-6).nonzero().tolist():
        share = 0.25 + 0.75 * float(moved[reader, read]) ** 0.25
        colour = "#d55e00" if read > reader else "#0072b2"
        said = f"token {read} moves the logit at {reader}"
        cells.append(
            f'<rect x="{read * CELL}" y="{reader * CELL}" width="{CELL - 1}" height="{CELL - 1}" '
            f'fill="{colour}" fill-opacity="{share:.2f}"><title>{said}</title></rect>'
        )
    ahead = int(moved.triu(1).gt(1e-6).sum())
    line = f'<path d="M0 0L{t * CELL} {t * CELL}" stroke="currentColor" stroke-opacity=".5"/>'
    said = f"{ahead} logits move with a later token" if ahead else "no logit moves with a later one"
    return (
        f'<figure><svg viewBox="0 0 {t * CELL} {t * CELL}" width="{t * CELL}" role="img" '
        f'aria-label="{said}, in {name}">{"".join(cells)}{line}</svg>'
        f"<figcaption>In {name}, {said}. "
        "A column is a token that is changed, a row a logit; above the line it comes later."
        "</figcaption></figure>"
    )


def html(where: str, given: Mapping[str, Any], reports: Sequence[Report]) -> str:
    """The page.

    Args:
        where: what was asked, as it is named.
        given: arguments of `causal`.
        reports: what came of it.
    """
    parts = []
    for mode in ("evaluation mode", "training mode"):
        shown = (given["model"], given["tokens"], given["vocabulary"], given.get("call"))
        try:
            parts.append(picture(moves(*shown, train=mode[0] == "t"), mode))
        except Exception as error:
            parts.append(f"<p>In {mode} it {REFUSED}: {escape(refusal(error))}</p>")
    for report in reports:
        rows = "".join(
            f'<tr class="{escape(answer.verdict)}"><td>{escape(answer.verdict)}</td>'
            f"<td>{escape(answer.check)}</td><td>{escape(answer.mode)}</td>"
            f"<td>{escape(answer.said())}</td></tr>"
            for answer in report.answers
        )
        notes = "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)
        parts.append(f"<h2>{escape(report.head())}</h2><table>{rows}</table>{notes}")
    title = f"Doubt: {escape(where)}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><style>'
        f"{STYLE}</style><h1>{title}</h1>{''.join(parts)}</html>\n"
    )
