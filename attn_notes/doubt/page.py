"""Reports as one page of HTML that needs nothing else, with pictures of readers and labels."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.doubt.losses import Targets
from attn_notes.doubt.perturbations import drawn
from attn_notes.doubt.reports import REFUSED, Report, refusal
from attn_notes.doubt.subject import asked

MOST, CELL, PLACE = 48, 12, 40  # tokens of a picture; pixels of a cell, and from token to token
RIGHT, WRONG = "#0072b2", "#d55e00"
STYLE = """:root { color-scheme: light dark } svg { max-width: 100%; height: auto }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; padding: .8rem; border: 1px solid #8886 }"""


@torch.no_grad()
def moves(given: Mapping[str, Any], train: bool) -> Float[Tensor, "t t"]:
    """How far each logit moves [reader, read], of the largest move, if one token is another."""
    x, vocabulary = given["tokens"][0, :MOST], given["vocabulary"]
    ask: Callable[..., Any] = given.get("call") or (lambda model, tokens: model(tokens))
    with asked(given["model"], ask, train=train, wide=False, vocabulary=vocabulary) as subject:
        before, other, far = subject(x[None]).clone(), drawn(x, vocabulary, 1), []
        for place in range(len(x)):
            row = torch.cat([x[:place], other[place : place + 1], x[place + 1 :]])
            far.append(subject.moved(before, subject(row[None]))[0][0].nan_to_num(0.0, 0.0, 0.0))
    moved = torch.stack(far, 1)
    return moved / moved.max().clamp(min=1e-30)


def readers(moved: Float[Tensor, "t t"], mode: str) -> str:
    """A square of who reads whom: a column is a token that is changed, a row a logit."""
    t, ahead = len(moved) * CELL, int(moved.triu(1).gt(1e-6).sum())
    cells = "".join(
        f'<rect x="{read * CELL}" y="{reader * CELL}" width="11" height="11" '
        f'fill="{WRONG if read > reader else RIGHT}" '
        f'fill-opacity="{0.25 + 0.75 * float(moved[reader, read]) ** 0.25:.2f}">'
        f"<title>token {read} moves the logit at {reader}</title></rect>"
        for reader, read in moved.gt(1e-6).nonzero().tolist()
    )
    said = f"{ahead} logits move with a later token" if ahead else "no logit moves with a later one"
    said = f"In {mode}, {said}. Columns are tokens, rows logits; above the line tokens come later."
    line = f'<path d="M0 0L{t} {t}" stroke="currentColor" stroke-opacity=".5"/>'
    return _figure(max(t, 320), f"0 0 {t} {t}", cells + line, said)


def labels(targets: Targets) -> str:
    """The arrows of a loss: from the token that a logit has read to what it answers for."""
    arrows = [each for each in targets.arrows if each.row == each.to_row == 0 <= each.place]
    width = PLACE * (1 + max((max(each.place, each.to) for each in arrows), default=0))
    largest = max((abs(each.weight) for each in arrows), default=1.0)
    dots = [f'<circle cx="{x}" cy="60" r="4"/>' for x in range(PLACE // 2, width, PLACE)]
    curves = [
        f'<path d="M{each.place * PLACE + 20} 55Q{(each.place + each.to) * PLACE // 2 + 20} '
        f'{55 - 20 * max(1, abs(each.to - each.place))} {each.to * PLACE + 20} 55" fill="none" '
        f'stroke="{RIGHT if each.to == each.place + 1 else WRONG}" '
        f'stroke-width="{0.5 + 2 * abs(each.weight) / largest:.1f}"/>'
        for each in arrows
    ]
    said = "The first row: from each token that was read, to the token that its logit answers for."
    return _figure(width, f"0 -20 {width} 90", "".join(dots + curves), said)


def _figure(width: int, box: str, shapes: str, said: str) -> str:
    size = f'viewBox="{box}" width="{width}"'
    svg = f'<svg {size} role="img" aria-label="{said}" fill="currentColor">'
    return f"<figure>{svg}{shapes}</svg><figcaption>{said}</figcaption></figure>"


def html(where: str, given: Mapping[str, Any], reports: Sequence[Report]) -> str:
    """The page on what `given`, arguments of `causal`, came to, and where it stands."""
    parts = [f"<h1>Doubt: {escape(where)}</h1>"]
    for mode in ("evaluation mode", "training mode"):
        try:
            parts.append(readers(moves(given, mode == "training mode"), mode))
        except Exception as error:
            parts.append(f"<p>In {mode} it {REFUSED}: {escape(refusal(error))}</p>")
    for report in reports:
        parts += [labels(report)] if isinstance(report, Targets) else []
        parts.append(f"<pre>{escape(str(report))}</pre>")
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
    head += f'content="width=device-width"><title>Doubt: {escape(where)}</title>'
    return f"{head}<style>{STYLE}</style>{''.join(parts)}</html>\n"
