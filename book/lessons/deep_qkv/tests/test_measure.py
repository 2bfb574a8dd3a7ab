"""What is measured on sorters, by hand."""

import itertools

import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import measure


def sorter(variant: str = "gated", seed: int = 3) -> Sorter:
    return Sorter(Config(variant), Generator().manual_seed(seed))


def test_spectrum_of_a_known_matrix():
    matrix = torch.zeros(6, 3)
    matrix[0, 0], matrix[4, 1], matrix[2, 2] = 2.0, -4.0, 1.0
    assert_close(measure.spectrum(matrix), torch.tensor([1.0, 0.5, 0.25]))


def test_softmax_of_rank_one_has_full_rank(generator):
    product, softmax = measure.untrained_spectra(1, 1.0, 11, generator)
    assert product.shape == softmax.shape == (11, 2, 3)
    assert (product[..., 1] < 1e-6).all()
    assert (softmax[..., 1] > 1e-6).all() and (softmax[..., 2] > 0).all()


def test_strict_sums_are_one_number_a_token_and_gated_ones_are_not():
    strict, gated = (measure.projection_sums(sorter(v)) for v in ("strict", "gated"))
    assert strict.shape == (3, 2, 27, 7)
    assert_close(strict, strict[:1, :1].expand_as(strict), rtol=0, atol=1e-5)
    assert (gated - gated[:1, :1]).abs().amax() > 0.1


def test_projection_sums_are_the_sums_of_what_attention_gets():
    model, seen = sorter(), []
    hook = model.block.ln1.register_forward_hook(lambda *a: seen.append(a[-1]))
    model(sorting.all_sequences())
    hook.remove()
    key = torch.einsum("bte,ed->btd", seen[0], model.block.attention.k()[1])
    assert_close(measure.projection_sums(model)[1, 1], key.sum(-1).detach())


def test_attention_by_hand():
    model, written, letter = sorter(), torch.zeros(2, 3), torch.zeros(2, 3, 3)
    place, rows = torch.zeros(2, 3, 3), sorting.all_sequences()
    for row in rows:
        attention = model.observe(row[None, :-1])[1][0, :, 3:].detach()  # [heads, written, read]
        place += attention[:, :, :3] / 27
        for o, i in itertools.product(range(3), range(3)):
            written[:, o] += attention[:, o, i] * (row[i] == row[4 + o]) / 27
            letter[:, o, row[i] - 1] += attention[:, o, i] / 19
    assert_close(measure.attention_on_written_letter(model), written)
    assert_close(measure.attention_by_letter(model), letter)
    assert_close(measure.attention_by_place(model), place)
    assert (place[0] - place[1]).abs().max() > 1e-3  # the heads differ, or flips would pass


def test_greedy_choices():
    model, words = sorter(), sorting.all_sequences()[:, :3].tolist()
    chosen = measure.greedy_choices(model, forbid_sep=True).tolist()
    assert [*map(sorting.decode, chosen)] == [model.sort(sorting.decode(word)) for word in words]


def test_sensitivity_forbids_the_separator():
    def likes_sep(x: Tensor) -> Tensor:
        logits = torch.zeros(*x.shape, 4)
        logits[..., sorting.SEP] = 5.0
        logits[:, 3:, 3] = torch.where(x[:, 1:2] == 3, 40.0, 0.0)
        return logits

    # Without SEP: even over a, b, c, or all on c where the second letter is c. Replacing it
    # moves 2/3 of the probability for two thirds of the words and replacements.
    assert_close(measure.sensitivity(likes_sep), torch.tensor([0, 4 / 9, 0]).expand(3, 3))


def test_sensitivity_of_the_best_predictor():
    # Counted by hand for the smallest letter: replacing one of three changes it for a third of
    # the words and replacements; so for the largest; the middle one for 14 of 27.
    moved = measure.sensitivity(sorting.ideal)
    assert_close(moved, torch.tensor([[1 / 3], [14 / 27], [1 / 3]]).expand(3, 3))
