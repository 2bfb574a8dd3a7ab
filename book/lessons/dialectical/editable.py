"""The lesson's code that a reader may change in the page: what it is run on, and beside what."""

from dataclasses import asdict
from functools import partial

from torch import Generator, Tensor

from attn_notes.models.dialectical import LanguageModel
from attn_notes.programs import initial
from attn_notes.tasks.brackets import PAD
from book.lessons.dialectical import recipe
from book.page.code.lesson import Cell, Training

CONFIG = recipe.MENDED
"""Whose weights the cell's head has, but for those that move its streams: it is written without."""

TASK = f"""\
def task(cell, given):
    def linear(name, x):
        return F.linear(x, given[name + ".weight"], given[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], given[name + ".weight"], given[name + ".bias"])

    head = cell["Head"]({CONFIG.width}, {CONFIG.head_dim})
    mine = "block.head."
    head.load_state_dict({{name[len(mine):]: given[name] for name in given if mine in name}})
    x, y = given["batch.0"], given["batch.1"]
    h = given["token.weight"][x] + given["position.weight"][:x.shape[1]]
    h = h + linear("block.out", head(norm("block.ln1", h)))
    inside = F.silu(linear("block.feed_forward.l1", norm("block.ln2", h)))
    logits = linear("unembedding", h + linear("block.feed_forward.l2", inside))
    costs = F.cross_entropy(logits.mT, y, ignore_index={PAD}, reduction="none")
    return {{"logits": logits, "costs": costs, "loss": costs.sum() / (y != {PAD}).sum()}}
"""
"""The head in its block, between the embeddings and the output matrix."""


def cells() -> list[Cell]:
    """The head, in a model that has learnt nothing yet: on strings of the task."""
    draws = initial.draws(partial(LanguageModel, CONFIG))
    names = [name for name in draws if ".tilt" not in name and name != "block.head.bias"]
    model = LanguageModel(CONFIG, Generator().manual_seed(0))
    weights: dict[str, Tensor] = {n: x for n, x in model.named_parameters() if n in names}
    setting = recipe.IN_PAGE
    x, y = recipe.TASK.sample(setting.batch, Generator().manual_seed(0))
    training = Training(
        draws={name: draws[name] for name in names},
        rate=setting.rate("mask mended"),
        steps=setting.steps,
        warmup=setting.warmup,
        clip=0.0,
        floor=recipe.TASK.floor,
        more={"task": asdict(recipe.TASK), "near": recipe.NEAR_IN_PAGE},
    )
    return [
        Cell(
            "model",
            "head",
            needs="rest",
            task=TASK,
            given={**weights, "batch.0": x, "batch.1": y},
            ahead=("batch.0", CONFIG.vocabulary),
            chooses=("character", CONFIG.vocabulary),
            training=training,
        ),
        Cell("blackboard", "blackboard"),
    ]
