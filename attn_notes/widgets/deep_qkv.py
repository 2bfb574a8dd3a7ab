"""The ABC sorter of chapter 1 as a widget: type three letters, see every step and every weight.

The forward pass runs in `deep_qkv.js` on the weights sent from here, so the widget needs no kernel
once a page has been saved. Weights travel as little-endian float32, exactly as they are.
"""

from collections.abc import Mapping
from pathlib import Path

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting

HERE = Path(__file__).parent


class ABCSorter(anywidget.AnyWidget):
    """A text box that sorts three letters with models that you load, and may load again any time.

    >>> sorter = ABCSorter()
    >>> sorter
    ABCSorter: no model yet
    """

    _esm = HERE / "deep_qkv.js"
    _css = (HERE / "_theme.css").read_text("utf-8") + (HERE / "deep_qkv.css").read_text("utf-8")

    # variant -> {config, names, shapes, seeds, weights}. One trait, so that weights and the
    # description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    variant = traitlets.Enum(VARIANTS, default_value=VARIANTS[0]).tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    text = traitlets.Unicode("cab").tag(sync=True)
    compact = traitlets.Bool(False).tag(sync=True)

    @traitlets.validate("text")
    def _three_letters(self, proposal: traitlets.Bunch) -> str:
        text = proposal["value"].strip().lower()
        sorting.prompt(text)
        return text

    def load(self, variant: str, parameters: Mapping[str, Tensor], config: Config) -> None:
        """Show these models of one variant; what was shown of it before is replaced.

        Args:
            variant: the way the weights are made, one of `VARIANTS`.
            parameters: the parameters of m sorters stacked along a first dimension, by the names
                of `Sorter.named_parameters()`, as `torch.func.stack_module_state` returns them.
            config: the sizes of these sorters.

        Raises:
            ValueError: an unknown variant, one that is not the config's, or parameters whose
                names or shapes are not those of a `Sorter` with this config.
        """
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
        if variant != config.variant:
            raise ValueError(f"the config is of a {config.variant} model, not of a {variant} one")
        sorter = Sorter(config, Generator())
        shapes = {name: tuple(p.shape) for name, p in sorter.named_parameters()}
        _check(parameters, shapes)
        tensors = [parameters[name].detach().cpu().numpy().astype("<f4") for name in shapes]
        run = {
            "config": {
                "rank": config.rank,
                "temperature": config.temperature,
                "embedding": config.embedding,
                "heads": config.heads,
                "scale": 1 / 3 if variant == "fixed_gate" else 1,  # of a base without a gate
            },
            "names": list(shapes),
            "shapes": [list(shape) for shape in shapes.values()],
            "seeds": len(tensors[0]),
            "weights": b"".join(tensor.tobytes() for tensor in tensors),
        }
        with self.hold_sync():
            self.runs = {**self.runs, variant: run}
            if self.variant not in self.runs:
                self.variant = variant

    def __repr__(self) -> str:
        if not self.runs:
            return "ABCSorter: no model yet"
        seeds = sorted({run["seeds"] for run in self.runs.values()})
        return f"ABCSorter: {_count(len(self.runs), 'variant')}, " + (
            _count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        )


def _check(parameters: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> None:
    missing = [name for name in shapes if name not in parameters]
    if missing:
        raise ValueError(f"the parameters lack {', '.join(missing)}")
    unknown = [name for name in parameters if name not in shapes]
    if unknown:
        raise ValueError(f"a sorter of this config has no {', '.join(unknown)}")
    seeds = next(iter(parameters.values())).shape[:1]
    for name, shape in shapes.items():
        found = tuple(parameters[name].shape)
        if not seeds or not seeds[0] or found != (*seeds, *shape):
            expected = ", ".join(["seeds", *map(str, shape)])
            raise ValueError(
                f"{name} must have the shape ({expected}), with as many seeds in every tensor "
                f"and at least one, not {found}"
            )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
