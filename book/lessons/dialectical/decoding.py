"""Let any model write, and let it write only what a grammar allows.

A grammar mask sets the logits of what may not come next to −∞ before anything is chosen, so that
no weights, no temperature and no bad luck can choose it. The grammar is that of
`attn_notes.tasks.grammar`: balanced brackets with a budget.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from attn_notes import allowed as limits
from attn_notes.tasks.brackets import CLOSE, PAD, SPACE, VOCABULARY, encode
from attn_notes.tasks.grammar import BRACKETS, BracketGrammar

Model = Callable[[Tensor], Tensor]
"""Tokens [1, t] → logits [1, t, v] or [t, v] of the token after each."""


@dataclass(frozen=True)
class Step:
    """One choice: what the model wanted, what the grammar left of it, and what was chosen."""

    character: str
    depth: int  # brackets open after it
    ends: bool  # it is the end, and no part of the text
    wanted: Float[Tensor, " v"]  # probabilities before the mask
    allowed: Float[Tensor, " v"]  # and after it
    removed: float  # the probability that the mask took away


@dataclass(frozen=True)
class Written:
    """What a model has written, choice by choice."""

    prompt: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """The prompt and what follows it, without the end."""
        return self.prompt + "".join(step.character for step in self.steps if not step.ends)

    @property
    def ended(self) -> bool:
        """Whether the model chose the end; otherwise it has spent its budget."""
        return bool(self.steps) and self.steps[-1].ends


@torch.no_grad()
def generate(
    model: Model,
    prompt: str,
    budget: int,
    *,
    grammar: BracketGrammar = BRACKETS,
    generator: Generator | None = None,
    temperature: float = 1.0,
    context: int | None = None,
    stop_on_closed: bool = True,
) -> Written:
    """Continue a prompt by at most `budget` characters, so that all its brackets are closed.

    Args:
        model: any model; its logits may be whatever they are, infinite or no numbers at all.
        prompt: at least one character, since a model predicts from what came before.
        budget: the most characters to add. The end is none.
        grammar: what may come next.
        generator: draws each choice; without one the likeliest is taken.
        temperature: divides the logits.
        context: the most characters that the model can read, if there is such a limit.
        stop_on_closed: a space where nothing is open is the end; else it is one more filler, and
            the model writes one string after another until the budget is spent.

    Raises:
        ValueError: an empty or illegal prompt, a budget that cannot close what is open or that
            the context has no room for, a temperature that is not positive and finite.
    """
    depth = grammar.read(prompt)
    if not prompt:
        raise ValueError("the prompt is empty, and a model predicts from what came before")
    if budget < depth:
        raise ValueError(f"{depth} brackets are open, and a budget of {budget} cannot close them")
    limits.whole(0, budget=budget)
    if context is not None and len(prompt) + budget > context:
        raise ValueError(
            f"a prompt of {len(prompt)} and a budget of {budget} characters are more than the "
            f"{context} that the model can read"
        )
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be positive, not {temperature}")

    tokens = encode(prompt)[None]
    steps: list[Step] = []
    for remaining in range(budget, 0, -1):
        logits = _last(model(tokens))
        mask = grammar.allowed(depth, remaining)
        wanted = _softmax(logits, torch.ones_like(mask), temperature)
        allowed = _softmax(logits, mask, temperature)
        if generator is None:
            token = int(allowed.argmax())
        else:
            token = int(torch.multinomial(allowed, 1, generator=generator))
        ends = stop_on_closed and grammar.ends(token, depth)
        depth = grammar.after(token, depth)
        removed = wanted[~mask].sum().item()
        steps.append(Step(VOCABULARY[token], depth, ends, wanted, allowed, removed))
        if ends:
            break
        tokens = torch.cat([tokens, tokens.new_tensor([[token]])], 1)
    return Written(prompt, tuple(steps))


def _last(logits: Tensor) -> Float[Tensor, " v"]:
    """The logits at the last position, copied, in double precision on the CPU."""
    if not 2 <= logits.ndim <= 3 or (logits.ndim == 3 and len(logits) != 1) or not len(logits[0]):
        raise ValueError(f"a model returns logits [1, t, v] or [t, v], not {tuple(logits.shape)}")
    if logits.shape[-1] != len(VOCABULARY):
        raise ValueError(f"the model has {logits.shape[-1]} logits, the grammar {len(VOCABULARY)}")
    return logits.flatten(0, -2)[-1].double().cpu().clone()


def _softmax(
    logits: Float[Tensor, " v"], mask: Bool[Tensor, " v"], temperature: float
) -> Float[Tensor, " v"]:
    """Probabilities of what the mask allows. What is no number counts as the least there is."""
    logits = logits.nan_to_num(nan=torch.finfo(logits.dtype).min)
    # The largest is 0 and stays 0, however cold: some weight is always left to choose by.
    logits = (logits - logits[mask].max()) / temperature
    return logits.masked_fill(~mask, -math.inf).softmax(-1)


@torch.no_grad()
def as_published(
    model: Model,
    prompt: str,
    budget: int = 40,
    *,
    stop_on_closed: bool = True,
    close_tail: bool = True,
    closing_bias: float = 5.0,
) -> str:
    """The source's decoder, greedy, with what it does wrong.

    Its ban is a logit of −1e-9, which is all but 0 and above many another. When the budget runs
    short it adds a bias to ")" and may still choose otherwise; what is open at the end it closes
    beyond the budget. Unknown characters are read as PAD, and a prompt that closes what is not
    open is continued.

    Args:
        model: any model.
        prompt: what to continue (the source's `seed`).
        budget: how many characters it chooses at most (`max_new`).
        stop_on_closed: a space where nothing is open ends the text. It stays a part of it.
        close_tail: what is open at the end is closed; otherwise it stays open.
        closing_bias: what is added to ")" when the budget runs short (`bias_close`).

    Raises:
        ValueError: an empty prompt, a budget below 0, or a bias that is not finite.
    """
    if not prompt:
        raise ValueError("the prompt is empty, and a model predicts from what came before")
    limits.whole(0, budget=budget)
    limits.number(closing_bias=closing_bias)
    known = "".join(c if c in VOCABULARY else VOCABULARY[PAD] for c in prompt)
    tokens = encode(known)[None]
    depth = known.count("(") - known.count(")")  # may be below zero
    for remaining in range(budget, 0, -1):
        logits = _last(model(tokens))
        logits[PAD] = -1e-9
        if depth <= 0:
            logits[CLOSE] = -1e-9
        elif remaining <= depth:
            logits[CLOSE] += closing_bias
        token = int(logits.argmax())
        depth = BRACKETS.after(token, depth)
        tokens = torch.cat([tokens, tokens.new_tensor([[token]])], 1)
        if stop_on_closed and token == SPACE and depth == 0:
            break
    tail = ")" * max(depth, 0) if close_tail else ""
    return "".join(VOCABULARY[i] for i in tokens[0].tolist()) + tail


def faults(text: str, prompt: str, budget: int) -> tuple[str, ...]:
    """Which promises a text breaks that continues a prompt by at most `budget` characters.

    Some of "goes below zero", "leaves brackets open", "contains PAD", "exceeds the budget" and
    "changes the prompt".
    """
    depths = [0]
    for character in text:
        depths.append(depths[-1] + (character == "(") - (character == ")"))
    broken = {
        "goes below zero": min(depths) < 0,
        "leaves brackets open": depths[-1] > 0,
        "contains PAD": VOCABULARY[PAD] in text,
        "exceeds the budget": len(text) - len(prompt) > budget,
        "changes the prompt": not text.startswith(prompt),
    }
    return tuple(name for name, is_broken in broken.items() if is_broken)
