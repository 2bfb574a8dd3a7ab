"""A folder with a training step, its weights, and a page that trains them."""

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import torch
from torch import Tensor

from attn_notes import allowed
from attn_notes.programs import source
from attn_notes.programs.tracing import Tensors

Slots = Mapping[str, tuple[int, tuple[int, ...]]]
GRADIENT = "gradient."
AROUND = ("program.js", "vectors.js", "trainer.js")
"""What goes around a program: public, documented in the files themselves."""


def write(
    folder: Path | str,
    inputs: Tensors,
    module: str,
    slots: tuple[Slots, Slots],
    how: Mapping[str, Any],
    batches: Sequence[Tensors],
    draws: Mapping[str, Mapping[str, Any]],
    title: str,
) -> Path:
    """What `Program.save` does, and says."""
    allowed.positive(rate=how["rate"])
    allowed.whole(steps=how["steps"])
    allowed.whole(0, warmup=how["warmup"])
    allowed.not_negative(decay=how["decay"])
    wanted, made = slots
    trained = [name.removeprefix(GRADIENT) for name in made if name.startswith(GRADIENT)]
    if not trained or "loss" not in made:
        raise ValueError("a page trains what has gradients and a loss, as training.step makes it")
    _fits("inputs", inputs, wanted, wanted)
    for i, batch in enumerate(batches):
        _fits(f"batch {i}", batch, batches[0], wanted)
        if strange := batch.keys() & {*trained}:
            raise ValueError(f"batch {i} has {', '.join(strange)}, which is trained")

    def packed(tensors: Tensors) -> dict[str, Any]:
        return {name: _packed(tensor, how["double"]) for name, tensor in tensors.items()}

    setup = {
        **how,
        "trained": trained,
        "batches": [packed(batch) for batch in batches],
        "draws": {name: draws[name] for name in trained if name in draws},
    }
    weights = packed(inputs)
    count = sum(inputs[name].numel() for name in trained)
    saved = {"program": module, "weights": weights, "setup": setup}
    page = Template(source.read("trainer.html")).substitute(
        title=html.escape(title),
        about=f"A model of {count:,} trained numbers, as a program of {len(module):,} bytes.",
        saved=json.dumps(saved).replace("<", r"\u003c"),  # in which no element of a page ends
        code=source.joined("trainer.page.js"),
    )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"step.js": module, "index.html": page}
    texts |= {"weights.json": json.dumps(weights), "setup.json": json.dumps(setup)}
    texts |= {name: (source.HERE / name).read_text("utf-8") for name in AROUND}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    return folder / "index.html"


def _fits(what: str, given: Tensors, names: Iterable[str], slots: Slots) -> None:
    """Refuse tensors of other names than these, and other shapes than the program's."""
    if other := given.keys() ^ {*names}:
        raise ValueError(f"{what}: {', '.join(sorted(other))} is missing, or too many")
    for name, tensor in given.items():
        if name not in slots:
            raise ValueError(f"{what}: the program reads no {name}")
        if tuple(tensor.shape) != slots[name][1]:
            asked = f"{list(slots[name][1])} is asked"
            raise ValueError(f"{what}: {name} is {list(tensor.shape)}, and {asked}")


def _packed(tensor: Tensor, double: bool) -> dict[str, Any]:
    """A tensor's numbers, row by row, as little-endian bytes in base64."""
    numbers = tensor.detach().cpu().to(torch.float64).contiguous().numpy()
    data = numbers.astype("<f8" if double else "<f4").tobytes()
    return {"shape": list(tensor.shape), "base64": b64encode(data).decode()}
