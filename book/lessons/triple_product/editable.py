"""The lesson's code that a reader may change in the page: what it is run on, and beside what."""

from functools import partial

import torch
from torch import Generator, Tensor

from attn_notes.models.triple_product import AttentionOnly
from attn_notes.programs import initial
from book.lessons.triple_product import claims, evidence, recipe
from book.page.code.lesson import Cell, Training

CONFIG = recipe.ONE_LAYER["dot"]
TASK = recipe.FIXED

MODEL = f"""\
def task(cell, given):
    x = given["token.weight"][given["batch"]]
    layer = given["layer.inward"], given["layer.outward"]
    logits = cell["attend"](x, *layer, cell["dot"]) @ given["unembedding.weight"].T
    if tuple(logits.shape) != ({recipe.ONE["batch"]}, {TASK.length}, {TASK.vocabulary}):
        raise ValueError("attend gives another shape than it gets: %s" % (tuple(logits.shape),))
    asked, targets = logits[:, :-1], given["batch"][:, 1:]
    right = (asked.argmax(-1) == targets).float()
    return {{
        "logits": logits,
        "loss": F.cross_entropy(asked.mT, targets),
        "right": right,
        "accuracy": right[:, {TASK.settled.start}:].mean(),
    }}
"""
"""A layer between an embedding and an output matrix, as `AttentionOnly` is."""

OURS = {
    "embedding.weight": "token.weight",
    "layers.0.qkv.weight": "layer.inward",
    "layers.0.o.weight": "layer.outward",
    "unembedding.weight": "unembedding.weight",
}
"""Names of the book's weights, and of the task's."""


def cells() -> list[Cell]:
    """The attention, written out: one layer with the dot product, on sequences of the task."""
    model = evidence.trained("one layer", "dot")
    weights: dict[str, Tensor] = {OURS[name]: x for name, x in model.named_parameters()}
    batch = TASK.sample(recipe.ONE["batch"], Generator().manual_seed(0))
    draws = initial.draws(partial(AttentionOnly, CONFIG))
    training = Training(
        draws={OURS[name]: spec for name, spec in draws.items()},
        rate=recipe.ONE["lr"]["dot"],
        steps=recipe.ONE["steps"],
        warmup=recipe.ONE["warmup"],
        clip=0.0,
        floor=TASK.floor,
        below=0.05,
        more={
            "copied": claims.SOLVED,
            "task": {
                "vocabulary": TASK.vocabulary,
                "periods": list(TASK.periods),
                "length": TASK.length,
            },
        },
    )
    with torch.no_grad():
        logits = model.double()(batch)
    return [
        Cell(
            "model",
            "model-cell",
            needs="turn",
            task=MODEL,
            given={**weights, "batch": batch},
            outputs={"logits": logits},
            ahead=("batch", TASK.vocabulary),
            chooses=("letter", TASK.vocabulary),
            training=training,
        ),
        Cell("ways", "ways"),
    ]
