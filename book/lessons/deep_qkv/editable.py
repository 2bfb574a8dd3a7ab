"""The lesson's code that a reader may change in the page: what it is run on, and beside what."""

from functools import partial

import torch
from torch import Tensor

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.programs import initial
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import evidence, recipe
from book.lessons.deep_qkv.widget import CLIP
from book.page.code.lesson import Cell, Training

CONFIG = Config("gated")

TASK = """\
def task(cell, given):
    p = {name: x for name, x in given.items() if name not in ("tokens", "targets")}
    logits = cell["forward"](p, given["tokens"])
    if tuple(logits.shape) != (27, 6, 4):
        raise ValueError("forward gives logits of shape %s, and (27, 6, 4) are asked: "
                         "27 words, 6 predictions, 4 tokens" % (tuple(logits.shape),))
    return {"logits": logits, "loss": F.cross_entropy(logits.mT, given["targets"])}
"""


def cells() -> list[Cell]:
    """The gate, written out; in the gated sorter with recorded weights, on all 27 inputs."""
    sequences = sorting.all_sequences()
    tokens, targets = sequences[:, :-1], sequences[:, 1:]
    weights: dict[str, Tensor] = {
        name: stack[0] for name, stack in evidence.weights("gated").items()
    }
    model = Sorter(CONFIG, torch.Generator()).double()
    model.load_state_dict({name: x.double() for name, x in weights.items()})
    training = Training(
        draws=initial.draws(partial(Sorter, CONFIG)),
        rate=recipe.RATE["fixed_gate"],  # which the lesson asks its reader to write
        steps=recipe.LIVE.steps,
        warmup=recipe.LIVE.warmup,
        clip=CLIP,
        floor=sorting.FLOOR,
    )
    return [
        Cell(
            "model",
            "model-cell",
            needs="rest-cell",
            task=TASK,
            given={**weights, "tokens": tokens, "targets": targets},
            outputs={"logits": model(tokens)},
            ahead=("tokens", len(sorting.VOCABULARY)),
            chooses=("token", len(sorting.VOCABULARY)),
            training=training,
        ),
    ]
