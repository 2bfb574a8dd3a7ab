"""A control of the chapter's own: one look without the recursion's two states."""

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.models.trm import Rereading, State


class Sharing(Rereading):
    """The network that reads again, with one set of weights, gone through as often as in a look.

    Against `Rereading` all that differs is that the weights are shared. Against one look of TRM it
    is that TRM keeps y and z apart, and that its answer does not read the puzzle.
    """

    def recur(self, x: Float[Tensor, "*b t e"], state: State) -> State:
        """Go n + 1 times through all layers, given the puzzle at each."""
        h = torch.zeros_like(x)
        for _ in range(self.config.latent_steps + 1):
            for layer in self.net:
                h = layer(x + h)
        return State(h, state.z)
