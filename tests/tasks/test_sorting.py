import itertools
import math

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import prediction, sorting


def test_floor_by_enumeration():
    texts = [sorting.decode(row) for row in sorting.all_sequences().tolist()]
    words = ["".join(letters) for letters in itertools.product("abc", repeat=3)]
    assert texts == [f"{word}|{''.join(sorted(word))}" for word in words]
    entropies = sorting.entropies(sorting.all_sequences())
    assert_close(entropies, torch.tensor([math.log(3)] * 2 + [0.0] * 4))
    assert entropies.mean().item() == pytest.approx(sorting.FLOOR, rel=1e-6)


def test_the_floor_without_positions():
    """Counted by hand. `a`, `aa`, `aaa` are one: in 12 of 13 cases a letter follows, evenly.

    That state holds 9, 3 and 1 of the 27 words for each letter, at lengths 1, 2 and 3. The other 18
    words of length 2 go on evenly; the other 24 of length 3 end; what is sorted is certain.
    """
    found = sorting.entropies(sorting.all_sequences(), sorting.proportions)
    second, end = math.log(13 / 4), math.log(13)
    third = (9 * second + 18 * math.log(3)) / 27
    assert_close(found, torch.tensor([second, third, 3 * end / 27, 0.0, 0.0, 0.0]))
    assert found.mean() > sorting.FLOOR


def test_the_best_predictor_reaches_the_floor_and_sorts():
    """Even guessing loses ln 4."""
    loss = sorting.loss(sorting.ideal, sorting.population())
    assert loss.item() == pytest.approx(sorting.FLOOR, rel=1e-6)
    for part in (sorting.KNOWABLE, sorting.OUTPUTS):
        assert sorting.loss(sorting.ideal, sorting.population(), predictions=part).item() < 1e-6
    probed = sorting.probe(sorting.ideal)
    assert probed["solved"] == 27
    assert_close(probed["losses"], sorting.entropies(sorting.all_sequences()))
    even = sorting.loss(lambda x: torch.zeros(*x.shape, 4), sorting.population())
    assert even.item() == pytest.approx(math.log(4))


def test_the_best_predictor_reads_no_future():
    x = sorting.all_sequences()[:, :-1]
    for t in range(1, 7):
        assert torch.equal(sorting.ideal(x)[:, :t], sorting.ideal(x[:, :t]))


@pytest.mark.parametrize("part", [sorting.ALL, sorting.KNOWABLE, sorting.OUTPUTS, slice(1, 2)])
def test_a_part_is_the_same_mean_by_loss_by_probe_and_where_predictions_count(part):
    model = Sorter(Config(), Generator().manual_seed(3))
    loss = sorting.loss(model, sorting.population(), predictions=part)
    assert_close(sorting.probe(model)["losses"][part].mean(), loss)
    shares = sorting.counted(part)
    assert_close(shares.sum(), torch.tensor(1.0))
    batch = {"tokens": sorting.all_sequences(), "counted": shares}
    assert_close(sorting.counted_loss(model, batch), loss)


def test_one_weight_a_sequence_is_the_sampled_batch(generator):
    batch = sorting.sample(128, generator.clone_state())
    weights = sorting.sample_weights(128, generator)
    model = Sorter(Config(), Generator().manual_seed(3)).double()
    of_batch = prediction.token_losses(model(batch[:, :-1]), batch).mean()
    of_weights = sorting.loss(model, weights.double())
    assert_close(of_weights, of_batch)
    gradients = [torch.autograd.grad(v, list(model.parameters())) for v in (of_weights, of_batch)]
    assert_close(*gradients)


def test_samples_are_uniform(generator):
    n, weights = 27_000, sorting.sample_weights(27_000, generator)
    # Chi-squared with 26 degrees of freedom: above 54.1 once in a thousand.
    assert (27 * n * (weights - 1 / 27).square()).sum() < 54.1 and weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_forward_pass_decides_whether_greedy_decoding_sorts(variant):
    sequences = sorting.all_sequences()
    seen = set()
    for seed in range(2):
        model = Sorter(Config(variant), Generator().manual_seed(seed))
        teacher_forced = sorting.is_sorted(model(sequences[:, :-1]), sequences)
        for row, right in zip(sequences.tolist(), teacher_forced.tolist(), strict=True):
            word = sorting.decode(row[:3])
            assert (model.sort(word) == "".join(sorted(word))) == right
        seen |= {*teacher_forced.tolist()}
    assert seen == {True, False}
