"""What may come next in balanced brackets, with a budget: d brackets open and R characters left.

    "("     if d + 1 ≤ R − 1: it can still be closed, and those before it,
    ")"     if d ≥ 1,
    filler  if d ≤ R − 1,
    end     if d = 0,
    PAD     never.

Each of these keeps d ≤ R if it held before, and always one of them is allowed: ")" where a bracket
is open, the end where none is. So what is written is balanced when the budget is spent, if not
sooner. As in the task the space is a filler inside brackets, and outside of them the end.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from attn_notes.tasks.brackets import CLOSE, OPEN, PAD, SPACE, VOCABULARY, encode


class BracketGrammar:
    """Balanced brackets over the vocabulary of `attn_notes.tasks.brackets`."""

    def allowed(self, depth: int, remaining: int) -> Bool[Tensor, " v"]:
        """Which tokens may come next with `depth` brackets open and `remaining` characters left.

        Raises:
            ValueError: so many brackets cannot be open, or be closed with what is left.
        """
        if not 0 <= depth <= remaining:
            raise ValueError(f"{remaining} characters cannot close {depth} brackets")
        allowed = torch.full((len(VOCABULARY),), depth < remaining)  # filler
        allowed[OPEN] = depth + 1 < remaining
        allowed[CLOSE] = depth > 0
        if self.ends(SPACE, depth):
            allowed[SPACE] = True
        allowed[PAD] = False
        return allowed

    def ends(self, token: int, depth: int) -> bool:
        """Whether this token, where `depth` brackets are open, is the end."""
        return token == SPACE and depth == 0

    def after(self, token: int, depth: int) -> int:
        """How many brackets are open after this token."""
        return depth + (token == OPEN) - (token == CLOSE)

    def read(self, prompt: str) -> int:
        """How many brackets a prompt leaves open.

        Raises:
            ValueError: an unknown character, PAD, or a bracket closed that was not open.
        """
        depth = 0
        for i, token in enumerate(encode(prompt).tolist(), 1):
            if token == PAD:
                raise ValueError(f"{VOCABULARY[PAD]!r} is padding and stands in no prompt")
            depth = self.after(token, depth)
            if depth < 0:
                raise ValueError(f"character {i} of the prompt closes a bracket that is not open")
        return depth


BRACKETS = BracketGrammar()
