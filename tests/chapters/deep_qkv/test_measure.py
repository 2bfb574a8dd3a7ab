"""What is measured on sorters, by hand; and who is found among the recorded ones, again."""

import copy
import itertools
from functools import partial

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.chapters.deep_qkv import evidence, measure
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import train


def sorter(variant: str = "gated", seed: int = 3) -> Sorter:
    return Sorter(Config(variant), Generator().manual_seed(seed))


def test_spectrum_of_a_known_matrix() -> None:
    matrix = torch.zeros(6, 3)
    matrix[0, 0], matrix[4, 1], matrix[2, 2] = 2.0, -4.0, 1.0
    assert_close(measure.spectrum(matrix), torch.tensor([1.0, 0.5, 0.25]))


def test_softmax_of_rank_one_has_full_rank(generator: Generator) -> None:
    product, softmax = measure.untrained_spectra(1, 1.0, 11, generator)
    assert product.shape == softmax.shape == (11, 2, 3)
    assert (product[..., 1] < 1e-6).all()
    assert (softmax[..., 1] > 1e-6).all() and (softmax[..., 2] > 0).all()


def test_colder_is_further_from_rank_one() -> None:
    second = [
        measure.untrained_spectra(1, t, 200, Generator().manual_seed(1))[1][..., 1].median()
        for t in (1.0, 0.1, 0.01)
    ]
    assert second[0] < second[1] < second[2]


def test_strict_sums_are_one_number_a_token_and_gated_ones_are_not() -> None:
    strict, gated = (measure.projection_sums(sorter(v)) for v in ("strict", "gated"))
    assert strict.shape == (3, 2, 27, 7)
    assert_close(strict, strict[:1, :1].expand_as(strict), rtol=0, atol=1e-5)
    assert (gated - gated[:1, :1]).abs().amax() > 0.1


def test_projection_sums_are_the_sums_of_what_attention_gets() -> None:
    model, seen = sorter(), []
    hook = model.block.ln1.register_forward_hook(lambda *a: seen.append(a[-1]))
    model(sorting.all_sequences())
    hook.remove()
    key = torch.einsum("bte,ed->btd", seen[0], model.block.attention.k()[1])
    assert_close(measure.projection_sums(model)[1, 1], key.sum(-1).detach())


def test_attention_by_hand() -> None:
    """On the letter being written, on each letter over the words that hold it, on each place."""
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


def test_even_share_by_hand() -> None:
    # Expected number of inputs equal to the smallest, middle and largest of three letters:
    # three alike give 3 × 3; xxy gives 2, 2, 1 and xyy 1, 2, 2 (nine inputs each); abc 6 × 1.
    expected = torch.tensor([42, 51, 42]) / 27 / torch.tensor([4, 5, 6])
    assert_close(measure.share_of_written_letter(), expected)


@pytest.mark.parametrize("trained", [False, True])
def test_mistakes_agree_with_the_probe(trained: bool) -> None:
    worst = evidence.worst()
    model = evidence.trained(worst.variant)[worst.seed] if trained else sorter()
    found = measure.mistakes(model)
    assert 27 - len(found) == int(sorting.probe(model)["solved"])
    for m in found:
        assert m.written == model.sort(m.word) and m.right == "".join(sorted(m.word))
        assert m.written[: m.position] == m.right[: m.position]
        step = model.trace(m.word)[m.position]
        chances = [float(step.probabilities["|abc".index(x[m.position])]) for x in m[1:3]]
        assert chances == pytest.approx([m.probability_written, m.probability_right])
        assert m.written[m.position] != m.right[m.position] and chances[0] >= chances[1]


def test_greedy_choices() -> None:
    model = sorter()
    for row, word in zip(
        measure.greedy_choices(model, forbid_sep=True).tolist(),
        sorting.all_sequences(),
        strict=True,
    ):
        assert sorting.decode(row) == model.sort(sorting.decode(word[:3].tolist()))
    with torch.no_grad():  # a model whose favourite token is SEP
        model.norm.weight.zero_()
        model.norm.bias.copy_(model.token.weight[sorting.SEP])
        model.token.weight[1:] *= 0.1
    assert (measure.greedy_choices(model, forbid_sep=False) == sorting.SEP).all()
    assert (measure.greedy_choices(model, forbid_sep=True) != sorting.SEP).all()


def test_sensitivity_of_a_model_that_copies_one_letter() -> None:
    def copies_second(x: Tensor) -> Tensor:
        logits = torch.full((*x.shape, 4), -40.0)
        logits[:, 3:] = logits[:, 3:].scatter(-1, x[:, 1].view(-1, 1, 1).expand(-1, 3, 1), 40.0)
        return logits

    moved = measure.sensitivity(copies_second)
    assert_close(moved, torch.tensor([0.0, 1.0, 0.0]).expand(3, 3))


def test_sensitivity_forbids_the_separator() -> None:
    def likes_sep(x: Tensor) -> Tensor:
        logits = torch.zeros(*x.shape, 4)
        logits[..., sorting.SEP] = 5.0
        logits[:, 3:, 3] = torch.where(x[:, 1:2] == 3, 40.0, 0.0)
        return logits

    # Without SEP: even over a, b, c, or all on c where the second letter is c. Replacing it
    # moves 2/3 of the probability for two thirds of the words and replacements.
    assert_close(measure.sensitivity(likes_sep), torch.tensor([0, 4 / 9, 0]).expand(3, 3))


def trained_sorter() -> Sorter:
    """A sorter that has learnt something, so that single weights matter."""
    optimizer = partial(torch.optim.AdamW, lr=3e-2)
    loss = partial(sorting.loss, predictions=sorting.OUTPUTS)
    return train([sorter()], loss, sorting.population(), steps=60, optimizer=optimizer).member(0)


@pytest.mark.slow
def test_scores_without_each_weight() -> None:
    model = trained_sorter()
    scores = measure.scores_without(model)
    assert scores["token.weight"].unique().numel() > 2
    assert {k: v.shape for k, v in scores.items()} == {
        k: p.shape for k, p in model.named_parameters()
    }
    for name, index in (
        ("token.weight", (2, 3)),
        ("block.attention.q.base", (1, 4, 0)),
        ("block.ln2.bias", (5,)),
        ("position.weight", (6, 1)),
    ):
        by_hand = copy.deepcopy(model)
        with torch.no_grad():
            by_hand.get_parameter(name)[index] = 0.0
        assert scores[name][index] == sorting.probe(by_hand)["solved"]


def test_sensitivity_of_the_best_predictor() -> None:
    # Counted by hand for the smallest letter: replacing one of three changes it for a third of
    # the words and replacements; so for the largest; the middle one for 14 of 27.
    moved = measure.sensitivity(sorting.ideal)
    assert_close(moved, torch.tensor([[1 / 3], [14 / 27], [1 / 3]]).expand(3, 3))


def test_the_finder_finds() -> None:
    """The head that it names, measured again, word by word; of nobody who sorts all, the best."""
    found = evidence.finder()
    model, shares = evidence.trained(found.variant)[found.seed], []
    for word in map(sorting.decode, sorting.all_sequences()[:, :3].tolist()):
        if found.letter in word:
            attention = model.trace(word)[0].attention[found.head]
            shares.append(sum(float(attention[i]) for i in range(3) if word[i] == found.letter))
    assert len(shares) == found.words
    assert sum(shares) / len(shares) == pytest.approx(found.share, abs=1e-5)
    every = [
        (int(score), float(measure.attention_by_letter(each)[:, 0, 0].max()))
        for variant in ("plain", "gated")
        for each, score in zip(evidence.trained(variant), evidence.scores(variant), strict=True)
    ]
    assert max(every) == (27, pytest.approx(found.share)) and found.share > 0.8
    failed = {name: values[2:5:2] for name, values in evidence.weights("plain").items()}  # 15, 18
    assert evidence.finder({"plain": failed})[:2] == ("plain", 1)


def test_of_whom_a_map_of_attention_says_what() -> None:
    """Counted again, from what each reads before it has written anything."""
    words, found = sorting.all_sequences()[:, :3], [0, 0, 0]
    first = words.min(1, keepdim=True).values == words
    for variant in VARIANTS:
        for model in evidence.trained(variant):
            with torch.no_grad():
                read = model.observe(sorting.all_sequences()[:, :4])[1][:, :, -1, :3]
            letter = bool((read * first[:, None]).sum(-1).mean(0).max() > 0.5)
            place = bool(read.mean(0).max() > 0.5)
            solved = int(sorting.probe(model)["solved"])
            found[0 if letter else 1 if place else 2] += int(solved == 27)
    assert [*evidence.reads()] == found and evidence.reads().all == sum(found)
