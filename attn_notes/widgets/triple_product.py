"""Chapter 2's widget: a space to turn, where a key scores by the volume that it spans.

By hand the reader moves q, r and five keys. In a trained head the same space shows the vectors of
the models that the notebook has trained; their forward pass runs in `triple_product.js` on the
weights sent from here, so the widget needs no kernel once a page has been saved.
"""

from collections.abc import Mapping
from string import ascii_lowercase

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks.copying import Copying
from attn_notes.widgets._source import javascript, style
from attn_notes.widgets._weights import named, pack, summary

SHOWN = ("dot", "volume", "angle")  # kinds of score
LONGEST_TEXT = 40


class TripleProductExplorer(anywidget.AnyWidget):
    """Arrows to drag, and the attention of models that you load, and may load again any time.

    >>> explorer = TripleProductExplorer()
    >>> explorer
    TripleProductExplorer: no model yet
    """

    _esm = javascript("triple_product")
    _css = style("triple_product")

    mode = traitlets.Enum(("hand", "head"), default_value="hand").tag(sync=True)

    # By hand: {q, r, keys, lengths}, and which key is selected. Empty is the scene it starts with.
    vectors = traitlets.Dict().tag(sync=True)
    selected = traitlets.Int(1, min=0, max=4).tag(sync=True)

    # In a trained head: name -> {config, names, shapes, seeds, weights}. One trait, so that weights
    # and the description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, min=0).tag(sync=True)  # of the query
    key = traitlets.Int(-1, min=-1).tag(sync=True)  # -1: the one that is attended to most
    loudness = traitlets.Float(1.0, min=0.1, max=100.0).tag(sync=True)  # of that key's token

    @traitlets.validate("text")
    def _letters(self, proposal: traitlets.Bunch) -> str:
        text = proposal["value"].lower()
        vocabulary = self.runs[self.run]["config"]["vocabulary"] if self.run in self.runs else 26
        letters = ascii_lowercase[:vocabulary]
        if not 1 <= len(text) <= LONGEST_TEXT or not set(text) <= set(letters):
            raise ValueError(
                f"the text must be 1 to {LONGEST_TEXT} letters from a to {letters[-1]}, "
                f"not {text!r}"
            )
        return text

    def load(
        self, name: str, parameters: Mapping[str, Tensor], config: Config, task: Copying
    ) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Args:
            name: what the reader chooses them by, such as "volume, one layer".
            parameters: the parameters of m networks stacked along a first dimension, by the names
                of `AttentionOnly.named_parameters()`, as `torch.func.stack_module_state` returns
                them.
            config: the sizes of these networks and their kind of score.
            task: what they were trained on; sequences are drawn from it.

        Raises:
            ValueError: a name that is empty or too long, a kind of score that is not shown, more
                tokens than there are letters, a task with another vocabulary or with sequences too
                long to show, or parameters whose names or shapes are not those of an
                `AttentionOnly` with this config.
        """
        name = named(name)
        if config.score not in SHOWN:
            raise ValueError(f"the explorer shows dot, volume and angle, not {config.score}")
        if config.vocabulary > len(ascii_lowercase):
            raise ValueError(f"a token is shown as a letter, so not {config.vocabulary} of them")
        if task.vocabulary != config.vocabulary:
            raise ValueError(
                f"the task has {task.vocabulary} tokens and the network {config.vocabulary}"
            )
        if task.length > LONGEST_TEXT:
            raise ValueError(
                f"sequences of {LONGEST_TEXT} tokens can be shown, not of {task.length}"
            )
        run = {
            "config": {
                "score": config.score,
                "vocabulary": config.vocabulary,
                "width": config.width,
                "heads": config.heads,
                "d": config.d,
                "layers": config.layers,
                "residual": config.residual,
                "periods": list(task.periods),
                "length": task.length,
            },
            **pack(AttentionOnly(config, Generator()), parameters, "network"),
        }
        with self.hold_sync():
            self.runs = {**self.runs, name: run}
            if self.run not in self.runs:
                self.run = name
            if not self.text:
                tokens = task.sample(1, Generator().manual_seed(0))[0].tolist()
                self.text = "".join(ascii_lowercase[token] for token in tokens)
                self.position = task.length - 2  # the last token is known, and can be checked

    def __repr__(self) -> str:
        return f"TripleProductExplorer: {summary(self.runs, 'model')}"
