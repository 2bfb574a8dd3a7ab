"""What the chapter measures on sorters: their gates, spectra, lost direction and attention."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import Config, ProjectionWeight, Sorter
from attn_notes.tasks import sorting


def projections(model: Sorter) -> dict[str, ProjectionWeight]:
    """The three makers of weights, under the names q, k and v."""
    attention = model.block.attention
    return {"q": attention.q, "k": attention.k, "v": attention.v}


def spectrum(weights: Float[Tensor, "*b e d"]) -> Float[Tensor, "*b d"]:
    """Singular values, the largest first, divided by the largest.

    No number (NaN) for a matrix of zeros.
    """
    values = torch.linalg.svdvals(weights)
    return values / values[..., :1]


@torch.no_grad()
def untrained_spectra(
    rank: int, temperature: float, n: int, generator: Generator
) -> tuple[Float[Tensor, "n h d"], Float[Tensor, "n h d"]]:
    """Spectra of A B and of softmax(A B / temperature), for n untrained layers."""
    config = Config("strict", rank=rank, temperature=temperature)
    weights = [ProjectionWeight(config, generator) for _ in range(n)]
    products = torch.stack([weight.A @ weight.B for weight in weights])
    return spectrum(products), spectrum(torch.stack([weight() for weight in weights]))


@torch.no_grad()
def projection_sums(model: Sorter) -> Float[Tensor, "3 h 27 t"]:
    """Σ_d q_d, Σ_d k_d and Σ_d v_d of each head, at every position of every input.

    Every row of a strict model's W sums to one, so Σ_d q_d = Σ_e x_e: the six numbers of one
    token are the same, whatever A and B are, and each head has one direction less to use.
    """
    h = model.embed(sorting.all_sequences())
    weights = torch.stack([make() for make in projections(model).values()])
    return torch.einsum("bte,nhed->nhbt", model.block.ln1(h), weights)


@torch.no_grad()
def attention_on_letters(model: Sorter) -> Float[Tensor, "27 h 3 3"]:
    """Each head's attention on the three letters of the word, at the three steps that write."""
    _, attention = model.observe(sorting.all_sequences()[:, :-1])
    return attention[:, :, sorting.OUTPUTS, : sorting.LETTERS_PER_WORD]


@torch.no_grad()
def attention_on_written_letter(model: Sorter) -> Float[Tensor, "h 3"]:
    """How much of each head's attention lies on inputs equal to the letter it is about to write.

    Mean over the 27 inputs, for each of the three outputs.
    """
    same = _same_letter().float()
    return torch.einsum("bhoi,boi->ho", attention_on_letters(model), same) / len(same)


def _same_letter() -> Bool[Tensor, "27 3 3"]:
    """Whether each sorted letter equals each letter of the word, [sequence, written, read]."""
    sequences = sorting.all_sequences()
    written = sequences[:, 1:][:, sorting.OUTPUTS]
    return sequences[:, None, : sorting.LETTERS_PER_WORD] == written[:, :, None]


@torch.no_grad()
def greedy_choices(model: Sorter, *, forbid_sep: bool) -> Int[Tensor, "27 3"]:
    """The tokens that greedy decoding writes on each of the 27 inputs, with or without SEP."""
    context = sorting.all_sequences()[:, : sorting.LETTERS_PER_WORD + 1]
    for _ in range(sorting.LETTERS_PER_WORD):
        logits = model(context)[:, -1]
        choice = (sorting.forbid_sep(logits) if forbid_sep else logits).argmax(-1)
        context = torch.cat([context, choice[:, None]], 1)
    return context[:, sorting.LETTERS_PER_WORD + 1 :]


@torch.no_grad()
def sensitivity(model: Callable[[Tensor], Tensor]) -> Float[Tensor, "3 3"]:
    """How much each written letter depends on each letter read, [written, read].

    The mean total variation between the model's probabilities on a sequence and on the same
    sequence with one letter of the word replaced, over all 27 sequences and both replacements;
    what was written so far is held. A row of zeros is a letter written blindly, a column of zeros
    a letter never read.
    """
    sequences = sorting.all_sequences()[:, :-1]

    def probabilities(x: Tensor) -> Tensor:
        return sorting.forbid_sep(model(x)[:, sorting.OUTPUTS]).softmax(-1)

    columns = []
    for i in range(sorting.LETTERS_PER_WORD):
        moved = []
        for shift in (1, 2):
            replaced = sequences.clone()
            replaced[:, i] = (replaced[:, i] - 1 + shift) % len(sorting.LETTERS) + 1
            change = probabilities(replaced) - probabilities(sequences)
            moved.append(change.abs().sum(-1).mean(0) / 2)
        columns.append(torch.stack(moved).mean(0))
    return torch.stack(columns, 1)


@torch.no_grad()
def attention_by_letter(model: Sorter) -> Float[Tensor, "h 3 3"]:
    """Each head's attention on the a's, b's and c's of a word, [head, letter written, letter read].

    Mean over the 19 words that hold the letter.
    """
    words = sorting.all_sequences()[:, : sorting.LETTERS_PER_WORD]
    attention = attention_on_letters(model)  # [27, h, 3 written, 3 places]
    columns = []
    for letter in range(1, len(sorting.VOCABULARY)):
        here = words == letter
        share = torch.einsum("bhop,bp->bho", attention, here.float())
        columns.append(share[here.any(1)].mean(0))
    return torch.stack(columns, -1)


@torch.no_grad()
def attention_by_place(model: Sorter) -> Float[Tensor, "h 3 3"]:
    """Each head's attention on the 1st, 2nd and 3rd letter of a word, [head, written, place].

    Mean over the 27 words.
    """
    return attention_on_letters(model).mean(0)
