"""Losses that ask for the wrong token or weigh it wrongly, and honest ones that only look like it.

As in `wrong`: what is wrong was wrong in public first, and each has the report; # is no report but
the kind of thing that happens in every seminar.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes.doubt.losses import targets

V, PAD, END, IGNORED = 60, 0, 1, -100
TEXTS = torch.randint(2, V, (4, 11), generator=Generator().manual_seed(0))
PADDED, PACKED = TEXTS.clone(), TEXTS.clone()
PADDED[1, 6:], PADDED[3, 9:] = PAD, PAD
PACKED[:, 4], PACKED[0, 8] = END, END
NUMBERS = F.pad((PACKED == END).cumsum(1)[:, :-1], (1, 0))  # of documents
ANSWERS = (torch.arange(11) > 4).expand(4, 11)  # what follows a prompt

Loss = Callable[[Tensor, Tensor], Tensor]


def losses(logits: Tensor, x: Tensor) -> Tensor:
    """Of each next token [n, t - 1]; none of padding and of what is ignored."""
    y = x[:, 1:].masked_fill(x[:, 1:] == PAD, IGNORED)
    return F.cross_entropy(logits[:, :-1].mT, y, reduction="none", ignore_index=IGNORED)


def counts(x: Tensor) -> Tensor:
    """Which next tokens count [n, t - 1]."""
    return (x[:, 1:] != PAD) & (x[:, 1:] >= 0)


def plain(logits: Tensor, x: Tensor) -> Tensor:
    """The mean over all that count."""
    return losses(logits, x).sum() / counts(x).sum()


def twice(logits: Tensor, x: Tensor) -> Tensor:
    """The caller has shifted the labels, and the loss does again."""
    y = F.pad(x[:, 1:], (0, 1), value=IGNORED)
    return F.cross_entropy(logits[:, :-1].mT, y[:, 1:])


def own(logits: Tensor, x: Tensor) -> Tensor:
    """No shift at all."""
    return F.cross_entropy(logits.mT, x)


def joined(logits: Tensor, x: Tensor) -> Tensor:
    """All rows in one line, and then shifted."""
    return F.cross_entropy(logits.flatten(0, 1)[:-1], x.flatten()[1:])


def of_rows(logits: Tensor, x: Tensor) -> Tensor:
    """The mean of the rows' means: a token of a short row weighs more, and an empty one is 0/0."""
    return (losses(logits, x).sum(1) / counts(x).sum(1)).mean()


def in_loop(share: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """An accumulated step, two rows at once, of which each has a share."""

    def loop(logits: Tensor, x: Tensor) -> Tensor:
        pieces = zip(logits.chunk(2), x.chunk(2), strict=True)
        return cast(Tensor, sum(plain(one, part) * share(part, x) for one, part in pieces))

    return loop


def in_chunks(means: bool) -> Loss:
    """Four tokens at once, by their means, the last of fewer, or by sums."""

    def chunked(logits: Tensor, x: Tensor) -> Tensor:
        parts = losses(logits, x).split(4, 1)
        made = [part.mean() if means else part.sum() for part in parts]
        return torch.stack(made).mean() if means else torch.stack(made).sum() / counts(x).sum()

    return chunked


def over_time(logits: Tensor, x: Tensor) -> Tensor:
    """A softmax along the text."""
    p = logits[:, :-1].log_softmax(1)
    return -p.gather(-1, x[:, 1:, None]).mean()


def after_prompt(shift: int) -> Loss:
    """The answer alone, or so many tokens off."""

    def masked(logits: Tensor, x: Tensor) -> Tensor:
        counted = ANSWERS.roll(shift, 1)[:, 1:]
        return (losses(logits, x) * counted).sum() / counted.sum()

    return masked


def apart(side: int) -> Loss:
    """Nothing is asked of one document at another's border, after its separator or before."""

    def kept(logits: Tensor, x: Tensor) -> Tensor:
        inside = (x[:, :-1] if side else x[:, 1:]) != END
        return (losses(logits, x) * inside).sum() / inside.sum()

    return kept


def smoothed(logits: Tensor, x: Tensor) -> Tensor:
    """A tenth of each label given to all."""
    return F.cross_entropy(logits[:, :-1].mT, x[:, 1:], label_smoothing=0.1)


def with_z(logits: Tensor, x: Tensor) -> Tensor:
    """And logits are kept small, those of the last token too."""
    return plain(logits, x) + 1e-2 * logits.logsumexp(-1).square().mean()


def unlikely(loss: Loss, against_label: bool = False) -> Loss:
    """And earlier tokens pushed away: by themselves (Welleck et al., 2020), or by the label."""

    def both(logits: Tensor, x: Tensor) -> Tensor:
        kinds = F.one_hot(x.clamp(min=0), V).bool()
        earlier = (kinds.cumsum(1)[:, :-1] > 0) & ~kinds[:, 1:]
        p = logits[:, :-1].softmax(-1)
        if against_label:
            right = p.gather(-1, x[:, 1:, None].clamp(min=0))
            return loss(logits, x) + (p / right * earlier).sum(-1).log1p().mean()
        return loss(logits, x) - ((1 - p).log() * earlier).sum(-1).mean()

    return both


def in_half(dtype: torch.dtype) -> Loss:
    """All of it in half precision."""
    return lambda logits, x: F.cross_entropy(
        logits[:, :-1].flatten(0, 1).to(dtype), x[:, 1:].ravel()
    )


def squeezed(squash: Callable[[Tensor], Tensor], **settings: Any) -> Loss:
    """What goes into cross-entropy went through something before."""
    return lambda logits, x: F.cross_entropy(
        squash(logits[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), **settings
    )


def brier(logits: Tensor, x: Tensor) -> Tensor:
    """The square by which probabilities are off."""
    return (logits[:, :-1].softmax(-1) - F.one_hot(x[:, 1:], V)).square().sum(-1).mean()


def focal(logits: Tensor, x: Tensor) -> Tensor:
    """Less is asked of what is known (Lin et al., 2017)."""
    loss = losses(logits, x)
    return ((1 - (-loss).exp()) ** 2 * loss).mean()


def taught(last: float) -> Loss:
    """Half of each label by a teacher at a temperature; the last row weighs so much."""
    table = torch.randn(V, V, generator=Generator().manual_seed(4))

    def half(logits: Tensor, x: Tensor) -> Tensor:
        y = (table[x[:, :-1].clamp(min=0)].softmax(-1) + F.one_hot(x[:, 1:].clamp(min=0), V)) / 2
        each = -(y * logits[:, :-1].log_softmax(-1)).sum((1, 2))
        return (each * torch.tensor([1.0, 1.0, 1.0, last])[: len(x)]).mean()

    return half


def by_place(logits: Tensor, x: Tensor) -> Tensor:
    """Later tokens weigh more."""
    return (losses(logits, x) * torch.arange(1.0, x.shape[1])).mean()


class _Fused(torch.autograd.Function):
    """A head and the loss of its logits, whose slope is made on the way there."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, head: Tensor, y: Tensor) -> Tensor:
        p = (states @ head.mT).softmax(-1)
        steep = (p - F.one_hot(y, len(head)).to(p)) / len(y)
        ctx.save_for_backward(steep @ head)
        return -p.gather(-1, y[:, None]).log().mean()

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        return slope * ctx.saved_tensors[0], None, None


def fused(logits: Tensor, x: Tensor) -> Tensor:
    """With the identity as its head."""
    return _Fused.apply(  # type: ignore[no-untyped-call]
        logits[:, :-1].flatten(0, 1), torch.eye(V), x[:, 1:].flatten()
    )


class Model(nn.Module):
    """A small one; with labels it returns a loss, shifted so often."""

    def __init__(self, shifts: int = 1, tied: bool = False) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(V, 8), nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, V)
        self.shifts, self.tied = shifts, tied

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Any:
        h = self.cell(self.embed(x))[0]
        logits = h @ self.embed.weight.mT if self.tied else self.head(h)
        logits = 15 * torch.tanh(logits / 15)
        if labels is None:
            return logits
        return F.cross_entropy(logits[:, : -self.shifts].mT, labels[:, self.shifts :])


def inside(model: Any, x: Tensor) -> Tensor:
    """The model's own loss."""
    return model(x, labels=x)


def outside(model: Any, x: Tensor) -> Tensor:
    """Of what the model says after all tokens but the last."""
    return F.cross_entropy(model(x[:, :-1]).mT, x[:, 1:])


def picked(model: Any, x: Tensor) -> Tensor:
    """The head is asked where something is to be said alone."""
    counted = ANSWERS[:, 1:]
    states = model.cell(model.embed(x))[0][:, :-1]
    return F.cross_entropy(model.head(states[counted]), x[:, 1:][counted])


Case = tuple[str, tuple[Callable[..., Any], dict[str, Any]], str, bool]
IN_MODEL: dict[str, Any] = {"model": Model()}

CASES: tuple[Case, ...] = (
    ("labels shifted twice", (twice, {}), "transformers#47394", True),
    ("and by the model", (inside, {"model": Model(2)}), "transformers#32944", True),
    ("labels not shifted", (own, {}), "#", True),
    ("shifted back", (lambda z, x: F.cross_entropy(z[:, 1:].mT, x[:, :-1]), {}), "#", True),
    ("rows joined first", (joined, {}), "#", True),
    ("another row's labels", (lambda z, x: plain(z, x.roll(1, 0)), {}), "#", True),
    ("documents joined", (plain, {"tokens": PACKED, "separator": END}), "#", True),
    ("the mean of rows' means", (of_rows, {"tokens": PADDED, "pad": PAD}), "mlx-lm#1413", True),
    (
        "and accumulated",
        (in_loop(lambda part, x: torch.tensor(0.5)), {"tokens": PADDED, "pad": PAD}),
        "unsloth-zoo#1023",
        True,
    ),
    ("in parts", (plain, {"tokens": PADDED, "pad": PAD, "parts": 2}), "Lightning#21386", True),
    ("the mean of chunks' means", (in_chunks(True), {}), "#", True),
    (
        "padding answered for",
        (lambda z, x: F.cross_entropy(z[:, :-1].mT, x[:, 1:]), {"tokens": PADDED, "pad": PAD}),
        "#",
        True,
    ),
    ("the prompt answered for", (smoothed, {"weights": ANSWERS}), "#", True),
    ("a prompt one token too long", (after_prompt(1), {"weights": ANSWERS}), "#", True),
    (
        "an end passed over, as padding is",
        (apart(0), {"tokens": PACKED, "weights": torch.ones(4, 11)}),
        "#",
        True,
    ),
    ("weights that were not meant", (by_place, {}), "#", True),
    ("a softmax along the text", (over_time, {}), "#", True),
    ("a softmax before it", (squeezed(lambda z: z.softmax(-1)), {}), "lightning-bolts#654", True),
    (
        "and smoothed, in bfloat16",
        (squeezed(lambda z: z.bfloat16().softmax(-1), label_smoothing=0.1), {}),
        "#",
        True,
    ),
    ("a softmax of divided logits", (squeezed(lambda z: (z / 3).softmax(-1)), {}), "#", True),
    ("a sigmoid before it", (squeezed(torch.sigmoid), {}), "#", True),
    (
        "no softmax at all",
        (lambda z, x: F.nll_loss(z[:, :-1].flatten(0, 1), x[:, 1:].flatten()), {}),
        "#",
        True,
    ),
    ("a row of soft labels that weighs more", (taught(2.0), {}), "#", True),
    ("a sign", (lambda z, x: -plain(z, x), {}), "#", True),
    ("shifted twice, beside unlikelihood", (unlikely(twice), {}), "#", True),
    ("not shifted, beside unlikelihood", (unlikely(own), {}), "#", True),
    ("rows joined, beside unlikelihood", (unlikely(joined), {}), "#", True),
    ("means of means, beside unlikelihood", (unlikely(of_rows), {"pad": PAD}), "#", True),
    ("the mean of all that count", (plain, {}), "", False),
    ("the sum", (lambda z, x: losses(z, x).sum(), {}), "", False),
    ("with padding", (plain, {"tokens": PADDED, "pad": PAD}), "", False),
    ("labels smoothed", (smoothed, {}), "", False),
    ("with a z-loss", (with_z, {}), "", False),
    ("beside unlikelihood", (unlikely(plain), {}), "", False),
    ("and in parts", (unlikely(plain), {"parts": 2}), "", False),
    ("held against earlier tokens", (unlikely(plain, True), {}), "", False),
    ("a prompt masked", (after_prompt(0), {"weights": ANSWERS}), "", False),
    ("and not told", (after_prompt(0), {}), "", False),
    ("documents by their ends", (apart(1), {"tokens": PACKED, "separator": END}), "", False),
    ("documents by their starts", (apart(0), {"tokens": PACKED, "separator": END}), "", False),
    (
        "and documents by their numbers",
        (apart(1), {"tokens": PACKED, "documents": NUMBERS}),
        "",
        False,
    ),
    ("chunks, added", (in_chunks(False), {}), "", False),
    ("fused", (fused, {}), "", False),
    ("in float16", (in_half(torch.float16), {}), "", False),
    ("in bfloat16", (in_half(torch.bfloat16), {}), "", False),
    (
        "weights that are meant",
        (by_place, {"weights": torch.arange(11.0).expand(4, 11)}),
        "",
        False,
    ),
    (
        "accumulated by counts",
        (
            in_loop(lambda part, x: counts(part).sum() / counts(x).sum()),
            {"tokens": PADDED, "pad": PAD},
        ),
        "",
        False,
    ),
    ("capped", (lambda z, x: plain(15 * torch.tanh(z / 15), x), {}), "", False),
    ("of log-probabilities", (squeezed(lambda z: z.log_softmax(-1)), {}), "", False),
    ("at a temperature", (squeezed(lambda z: z / 0.5), {}), "", False),
    ("capped by a sigmoid", (squeezed(lambda z: 30 * (z / 7.5).sigmoid()), {}), "", False),
    ("by squares", (brier, {}), "", False),
    ("focal", (focal, {}), "", False),
    ("half by a teacher", (taught(1.0), {}), "", False),
    ("by the model", (inside, IN_MODEL), "", False),
    ("of the states that count alone", (picked, IN_MODEL | {"weights": ANSWERS}), "", False),
    ("of the model's logits", (outside, IN_MODEL), "", False),
    ("by a head that is tied", (inside, {"model": Model(tied=True)}), "", False),
)
"""As `wrong.SLOPES`; each loss with arguments of `targets`."""


def found(case: tuple[Callable[..., Any], dict[str, Any]]) -> bool:
    """Whether something is said against a loss."""
    loss, given = case
    report = targets(loss, **{"tokens": TEXTS, "vocabulary": V, **given})
    return bool(report.bad or report.warnings)
