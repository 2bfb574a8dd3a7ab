"""Ask the loss: one score of one letter is raised at one place, and the loss falls, rises or stays.

The losses are those of the notebook. Each is asked once, in Python, with all scores alike and with
any one of them raised by 1; the page looks the answers up, so a saved one needs no kernel.
"""

import math
from collections.abc import Callable, Mapping
from string import ascii_lowercase
from typing import Any

import anywidget
import torch
import traitlets
from torch import Tensor

from attn_notes import allowed
from book.page.bundle import javascript, style

OPENS = (24.0, 23.5, 39.5)  # rem high as it opens: wide, on a page, on a phone


class AskTheLoss(anywidget.AnyWidget):
    """A text whose loss the reader asks what it wants, by raising one score after another.

    >>> AskTheLoss({"a loss": lambda logits, letters: logits.sum()}, "abc")
    AskTheLoss: of a loss, about abc

    Args:
        losses: by their names, loss(logits [1, t, 26], letters [1, t]), a number; the first is
            shown at first.
        text: different letters from a to z.
        traits: what it opens on, such as the place.

    Raises:
        ValueError: no loss, one that is no finite number, or another text.
    """

    _esm = javascript("your_model")
    _css = style("your_model")

    text = traitlets.Unicode().tag(sync=True)
    # [[name, {alike, raised [t][26]}], …]: a list, since a saved page keeps names by the alphabet
    losses: traitlets.List[Any] = traitlets.List().tag(sync=True)
    loss = traitlets.Unicode().tag(sync=True)  # which one is asked
    place = traitlets.Int(0, min=0).tag(sync=True)
    # at each place the letters whose scores were raised; the last one's is
    tried: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self, losses: Mapping[str, Callable[[Tensor, Tensor], Any]], text: str, **traits: Any
    ) -> None:
        allowed.some(losses=losses)
        if not text or len({*text} & {*ascii_lowercase}) < len(text):
            raise ValueError(f"the text must be different letters from a to z, not {text!r}")
        asked = [[name, _asked(loss, text)] for name, loss in losses.items()]
        given = {"text": text, "losses": asked, "loss": asked[0][0], "tried": [""] * len(text)}
        super().__init__(**given | traits)

    @traitlets.validate("loss")
    def _known(self, proposal: traitlets.Bunch) -> Any:
        allowed.one_of([name for name, _ in self.losses], loss=proposal["value"])
        return proposal["value"]

    @traitlets.validate("place")
    def _inside(self, proposal: traitlets.Bunch) -> Any:
        allowed.whole(0, len(self.text) - 1, place=proposal["value"])
        return proposal["value"]

    @traitlets.validate("tried")
    def _letters(self, proposal: traitlets.Bunch) -> Any:
        tried = proposal["value"]
        each = all(len({*some} & {*ascii_lowercase}) == len(some) for some in tried)
        if len(tried) != len(self.text) or not each:
            raise ValueError(f"tried must be some letters from a to z for each place, not {tried}")
        return tried

    def __repr__(self) -> str:
        return f"AskTheLoss: of {', '.join(name for name, _ in self.losses)}, about {self.text}"


def _asked(loss: Callable[[Tensor, Tensor], Any], text: str) -> dict[str, Any]:
    """What a loss is with all scores alike, and with one at one place raised [t][26]."""
    t, n = len(text), len(ascii_lowercase)
    letters = torch.tensor([[ascii_lowercase.index(letter) for letter in text]])

    def at(scores: Tensor) -> float:
        found = float(loss(scores.view(1, t, n), letters))
        if not math.isfinite(found):
            raise ValueError(f"the loss must be a finite number, not {found}")
        return found

    raised = [at(score) for score in torch.eye(t * n)]
    return {"alike": at(torch.zeros(t, n)), "raised": [raised[i * n : i * n + n] for i in range(t)]}
