"""What a loss asks: labels and weights drawn at random are read back, and what is said of them.

Bugs and honest doubles of `mislabelled` are asked about in `test_rest.py`, with all others.
"""

import math
import re
from functools import partial
from itertools import product
from typing import cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from attn_notes import doubt
from attn_notes.doubt import losses as asked_of
from zoo import mislabelled
from zoo.mislabelled import PAD, PADDED, TEXTS, Model, V, counts, focal, losses, own, plain, twice


def said(report):
    return {answer.check: (answer.verdict, answer.found) for answer in report.answers}


def told(loss, texts=TEXTS, v=V, **how):
    return said(doubt.targets(loss, texts, v, **how))


def total(logits, x):
    return losses(logits, x).sum()


def ends(report):
    return {(a.row, a.place, a.to_row, a.to) for a in report.arrows}


def ahead(n, **how):
    """The mean loss of the token n on."""
    return lambda z, x: F.cross_entropy(z[:, :-n].mT, x[:, n:], **how)


mean = ahead(1)


def ask(model, x):
    return mean(model(x), x)


# Any labels, any weights


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), vocabulary=st.sampled_from([5, 9, 60, 1000]))
def test_labels_and_weights_are_read_off_whatever_they_are(seed, vocabulary):
    """Each logit answers for a place drawn at random, or for none, with a weight drawn as well."""
    g = Generator().manual_seed(seed)
    to = torch.randint(14, (14,), generator=g)
    weight = (0.2 + torch.rand(14, generator=g)) * (torch.rand(14, generator=g) < 0.8)
    weight[0] = 1.0

    def loss(logits, x):
        each = F.cross_entropy(logits.flatten(0, 1), x.flatten()[to], reduction="none")
        return (weight * each).sum()

    tokens = torch.randint(vocabulary, (2, 7), generator=g)
    arrows = doubt.targets(loss, tokens, vocabulary).arrows
    found = {(a.row * 7 + a.place, a.to_row * 7 + a.to): a.weight for a in arrows}
    asked = {(i, int(to[i])): float(weight[i]) for i in range(14) if weight[i]}
    assert found == pytest.approx(asked, rel=2e-3)


def test_an_arrow_goes_from_what_was_read_to_what_is_asked():
    every = {(row, place, row, place + 1) for row in (0, 1) for place in range(10)}
    assert ends(doubt.targets(plain, TEXTS[:2], V)) == every
    assert {to - place for _, place, _, to in ends(doubt.targets(twice, TEXTS, V))} == {2}
    begun = lambda m, x: F.cross_entropy(m(F.pad(x[:, :-1], (1, 0))).mT, x)  # noqa: E731
    before = doubt.targets(begun, TEXTS, V, model=Model())
    assert {to - place for _, place, _, to in ends(before)} == {1}
    assert min(place for _, place, _, _ in ends(before)) == -1 and before.ok


# In words


def test_what_is_said_of_labels():
    back = lambda z, x: F.cross_entropy(z[:, 2:].mT, x[:, :-2])  # noqa: E731
    both = lambda z, x: plain(z[:, :6], x[:, :6]) + twice(z[:, 6:], x[:, 6:])  # noqa: E731
    for loss, words in (
        (plain, "each logit answers for the next token"),
        (twice, "each logit answers for the token after the next: are labels shifted twice?"),
        (own, "each logit answers for its own token: are labels not shifted?"),
        (back, "each logit answers for the token 2 back"),
        (ahead(4), "each logit answers for the token 4 on"),
        (both, "12 of 32 labels are the token after the next: are labels shifted twice?"),
    ):
        assert told(loss)["label"][1] == words
    assert doubt.targets(twice, TEXTS, V, ahead=2).ok and doubt.targets(own, TEXTS, V, ahead=0).ok


def test_what_is_said_of_rows_documents_and_what_counts():
    joined = "the logit at 10 of row 0 answers for token 0 of row 1"
    asked = f"{joined}: are rows joined before they are shifted?"
    assert told(mislabelled.joined)["rows"] == ("wrong", asked)
    assert told(plain, TEXTS[:1])["rows"][0] == "not asked"
    middle = told(plain, separator=1)["documents"][1]  # none is there: one is put in
    assert middle == "4 logits answer for a token of the next document, as at row 0, place 5"
    which = (torch.arange(11) > 4).long().expand(4, 11)
    assert told(plain, documents=which)["documents"][0] == "wrong"
    assert doubt.targets(mislabelled.after_prompt(-1), TEXTS, V, documents=which).bad
    assert doubt.targets(mislabelled.after_prompt(1), TEXTS, V, documents=which).ok
    passed = "1 to 4 of row 0; 1 to 4 of row 1; 1 to 4 of row 2; ..."
    counted = f"24 of 40 tokens; not answered for: {passed}"
    assert told(mislabelled.after_prompt(0))["counted"] == ("ok", counted)
    assert told(plain, PADDED, pad=PAD)["counted"] == ("ok", "all 33 tokens")
    ignored = TEXTS.where(torch.arange(11) > 2, -100)
    assert told(plain, ignored)["counted"] == ("ok", "all 32 tokens")


def test_what_is_said_of_weights():
    assert told(plain)["weights"][1] == "all alike, 0.025 each, 1 together"
    assert told(total)["weights"][1] == "all alike, 1 each, 40 together"
    uneven, short = told(mislabelled.of_rows, PADDED[:2], pad=PAD), told(mislabelled.of_rows)
    means = "is it a mean of means?"
    assert uneven["weights"][1] == f"a token of row 0 weighs 0.05, of row 1 0.1: {means}"
    assert uneven["short"][0] == "not asked" and short["weights"][0] == "ok"
    assert short["short"][1] == f"a token of row 1 weighs 0.025, of row 0 0.0625: {means}"
    kinds = torch.rand(V, generator=Generator().manual_seed(1)) + 0.5
    by_kind = ahead(1, weight=kinds)
    assert told(by_kind)["weights"][0] == "wrong"
    assert not doubt.targets(by_kind, TEXTS, V, weights=lambda x: kinds[x]).bad


def test_what_is_said_of_rows_and_batches_that_are_empty():
    harmless = "a row with nothing to answer for does no harm"
    assert told(mean)["empty"] == ("ok", f"{harmless}; a whole batch makes NaN")
    assert told(total)["empty"][1].endswith("harm")
    nothing = doubt.targets(mean, torch.full((2, 5), -100), V)
    assert nothing.bad[0].found == "the loss or its slope is no finite number"


def test_what_is_said_of_a_batch_in_parts():
    assert told(plain, parts=2)["accumulated"] == (
        "ok",
        "in 2 parts a token weighs what it weighs at once; where a row is shorter in 2 parts a "
        "token of row 2 weighs 0.025, of row 0 0.0357",
    )
    padded, summed = (doubt.targets(f, PADDED, V, pad=PAD, parts=4) for f in (plain, total))
    assert [a.check for a in padded.bad] == ["accumulated"] and summed.ok


def minus_p(logits, x):
    """How often the right one would be drawn."""
    return -logits[:, :-1].softmax(-1).gather(-1, x[:, 1:, None]).mean()


def weighed(logits, x):
    """By the probability itself: as of a softmax twice each slope is, but for the loss."""
    loss = losses(logits, x)
    return ((-loss).exp().detach() * loss).mean()


def generalised(logits, x):
    """Between the two (Zhang and Sabuncu, 2018)."""
    p = logits[:, :-1].softmax(-1).gather(-1, x[:, 1:, None])
    return ((1 - p**0.7) / 0.7).mean()


def mixed(logits, x):
    p = 0.9 * logits[:, :-1].softmax(-1) + 0.1 / logits.shape[-1]
    return F.nll_loss(p.log().flatten(0, 1), x[:, 1:].flatten())


@pytest.mark.in_short(1)
@pytest.mark.parametrize("v", [3, V, 5000])
def test_a_softmax_before_a_loss_is_told_and_what_looks_like_it_is_not(v):
    x = torch.randint(v, (3, 7), generator=Generator().manual_seed(v))
    for before in (1.0, 20.0):  # a cap of so much
        capped = lambda z, c=before: c * (z / c).tanh() if c > 1 else z  # noqa: E731
        two = mislabelled.squeezed(lambda z, cap=capped: cap(z).softmax(-1))
        for loss in (
            two,
            lambda z, x, two=two: 9 * two(z, x) + 1e-3 * z.logsumexp(-1).square().mean(),
            lambda z, x, two=two: two(z.bfloat16(), x),
        ):
            assert told(loss, x, v)["softmax"] == (
                "wrong",
                "a softmax goes over the logits before the softmax of the loss: is it taken twice? "
                f"No token can get more than {math.e / (math.e + v - 1):.2g} then",
            )
    for loss in (minus_p, weighed, generalised, mixed, focal):
        assert "softmax" not in [a.check for a in doubt.targets(loss, x, v).bad], loss


@pytest.mark.parametrize("divided", [0.1, 0.7, 4.0])
def test_a_softmax_of_divided_logits_is_told_by_what_a_token_can_get(divided):
    for squash, smoothing in product((lambda z: z.softmax(-1), torch.sigmoid), (0.0, 0.1)):
        divides = lambda z, f=squash: f(z / divided)  # noqa: E731
        loss = mislabelled.squeezed(divides, label_smoothing=smoothing)
        verdict, words = told(loss)["softmax"]
        assert verdict == "wrong" and words.startswith("however far its logit is, a"), words
        assert 0.02 < float(words.split("about ")[1].split(":")[0]) < 0.05


def table_of(x):
    """What a teacher gives each token after the one at hand."""
    table = 2 * torch.randn(V, V, generator=Generator().manual_seed(1))
    return table[x[:, :-1].clamp(min=0)].softmax(-1)


def softly(weights, z_loss, logits, x):
    """Half of each label by a teacher; each row with a weight."""
    y = (table_of(x) + F.one_hot(x[:, 1:].clamp(min=0), V)) / 2
    each = -(y * logits[:, :-1].log_softmax(-1)).sum(-1)
    kept = z_loss * logits.logsumexp(-1).square().mean()
    return (weights[: len(x), None] * each).mean() + kept


@pytest.mark.in_short(1)
@pytest.mark.parametrize("z_loss", [0.0, 1e-4])
def test_weights_of_soft_labels_and_of_rows_pushed_away_are_read(z_loss):
    even, uneven = torch.ones(4), torch.tensor([1.0, 1.0, 1.0, 2.0])
    right = doubt.targets(partial(softly, even, z_loss), TEXTS, V)
    assert right.ok and said(right)["weights"][1].startswith("all alike")
    report = doubt.targets(partial(softly, uneven, z_loss), TEXTS, V)
    assert re.match("a token of row 0 weighs 0.02.*, of row 3 0.0[45]", said(report)["weights"][1])
    assert [a.check for a in report.bad] == ["weights"]
    meant = uneven[:, None].expand(TEXTS.shape)
    assert doubt.targets(partial(softly, uneven, z_loss), TEXTS, V, weights=meant).ok
    signs = torch.tensor([1.0, -1.0, 2.0, 1.0])[:, None]
    for texts, v in ((TEXTS % 6 + 2, 8), (TEXTS, V)):
        few = doubt.targets(lambda z, x: (signs * losses(z, x)).mean(), texts, v)
        assert said(few)["weights"][1].startswith("a token of row 0 weighs 0.025, of row 2 0.05")


def test_weights_that_cannot_be_read_are_asked_for():
    """A weight that falls with the label's probability, and labels that are soft beside."""

    def faded(logits, x):
        by = (logits[:, :-1].softmax(-1) * table_of(x)).sum(-1)
        return -(by + logits[:, :-1].softmax(-1).gather(-1, x[:, 1:, None])[..., 0]).mean()

    report = doubt.targets(faded, TEXTS, V)
    assert said(report)["weights"] == ("not asked", "labels are soft, or others have a part")
    assert not report.ok and not report.bad


def test_a_loss_of_directions_alone_is_accused_of_no_weights():
    """As of LogitNorm (Wei et al., 2022): however long logits are, it is the same."""
    turned = lambda z, x: plain(F.normalize(z, dim=-1) / 0.04, x)  # noqa: E731
    report = doubt.targets(turned, TEXTS, V)
    assert said(report)["weights"][1].startswith("the loss hears the direction of logits alone")
    assert said(report)["short"] == ("not asked", "weights were not asked")
    assert not report.ok and not report.bad


def test_a_softmax_that_is_missing_is_told_and_a_logarithm_asked_for():
    bare = lambda z, x: F.nll_loss(z[:, :-1].flatten(0, 1), x[:, 1:].flatten())  # noqa: E731
    for loss, said in ((bare, "wrong .*is a softmax missing"), (minus_p, "ok .*logarithm meant")):
        assert re.match(rf"{said}\?$", " ".join(told(loss)["softmax"]))


def test_a_softmax_in_a_model_is_told():
    assert told(in_turn)["softmax"] == ("not asked", "the loss returns no number")
    for right in (True, False):
        model = nn.Sequential(Model(), nn.LogSoftmax(-1) if right else nn.Softmax(-1))
        report = doubt.targets(ask, TEXTS, V, model=model)
        assert report.ok == right and [a.check for a in report.bad] == ["softmax"] * (not right)


# Losses that are written in other ways


def in_turn(logits, x) -> None:
    for one, row in zip(logits.split(1), x.split(1), strict=True):
        (losses(one, row).sum() / counts(x).sum()).backward()


def in_place(logits, x):
    """Divides by a temperature, and forbids what only fills up the table."""
    logits.div_(2)
    logits[..., 50:] = -math.inf
    return plain(logits, x)


def one_by_one(logits, x):
    """Each token of the vocabulary is a question of yes or no."""
    return F.binary_cross_entropy_with_logits(logits[:, :-1], F.one_hot(x[:, 1:], V).float())


def sampled(logits, x):
    """Beside ten others, drawn at random."""
    right = logits[:, :-1].gather(-1, x[:, 1:, None].clamp(min=0))
    others = logits[:, :-1, torch.randint(V, (10,))]
    return (torch.cat([right, others], -1).logsumexp(-1) - right[..., 0]).mean()


def certain(logits, x):
    p = logits.log_softmax(-1)
    return plain(logits, x) - 0.1 * (p.exp() * p).sum(-1).mean()


@pytest.mark.in_short(1)
@pytest.mark.parametrize("loss", [in_turn, in_place, one_by_one, focal, sampled, certain])
def test_an_honest_loss_is_left_alone_however_it_is_written(loss):
    report = doubt.targets(loss, TEXTS % 50, V)
    assert report.ok and not report.warnings, report
    off = doubt.targets(lambda z, x: loss(z[:, :-1], x[:, 1:]), TEXTS % 50, V)
    assert "token after the next" in off.bad[0].found


@pytest.mark.parametrize(("v", "form"), [(3, (2, 6)), (8, (3, 16)), (5000, (1, 40))])
def test_any_vocabulary_and_any_form(v, form):
    x = torch.randint(v, form, generator=Generator().manual_seed(3))
    assert doubt.targets(mean, x, v).ok
    assert doubt.targets(lambda z, x: mean(z[:, :-1], x[:, 1:]), x, v).bad


def test_a_token_that_is_passed_over_and_not_told():
    """It is drawn as well, and what it stands in the place of is counted all the same."""
    passed = lambda z, x: F.cross_entropy(z[:, :-1].mT, x[:, 1:], ignore_index=5)  # noqa: E731
    for v in (8, V):
        assert doubt.targets(passed, TEXTS % v, v).ok


class Heads(nn.Module):
    """One head for the next token, and one for the token after it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.first, self.second = nn.Embedding(V, 8), nn.Linear(8, V), nn.Linear(8, V)

    def forward(self, x):
        h = self.embed(x)
        return self.first(h), self.second(h)


def several(shifts, model, x):
    """A loss that heads share, each with labels so far behind the token just read."""
    both = zip(model(x), shifts, (1.0, 0.3), strict=True)
    return sum(by * F.cross_entropy(z[:, :-n].mT, x[:, n:]) for z, n, by in both)


def test_a_row_that_is_pushed_away_is_wrong_where_weights_say_that_it_is_not():
    signs, even = torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None], torch.ones(TEXTS.shape)
    loss = lambda z, x: (signs[: len(x)] * losses(z, x)).mean()  # noqa: E731
    assert doubt.targets(loss, TEXTS, V, weights=even).bad
    assert doubt.targets(loss, TEXTS, V, weights=signs * even).ok


def test_several_tokens_at_a_time_are_a_head_each_and_a_shift_is_seen_beside_them():
    asked = doubt.targets(partial(several, (1, 2)), TEXTS, V, model=Heads())
    assert asked.ok and "further heads" in str(asked)
    assert {arrow.to - arrow.place for arrow in asked.arrows} == {1}
    assert not doubt.targets(partial(several, (2, 3)), TEXTS, V, model=Heads()).ok
    twice = lambda model, x: several((1, 2), lambda x: [model(x)[0]] * 2, x)  # noqa: E731
    assert not doubt.targets(twice, TEXTS, V, model=Heads()).ok  # by the logits of one


# Models


class Written(nn.Module):
    """A model of many ways: where its logits are made, and what makes the loss."""

    def __init__(self, way, shifts=1) -> None:
        super().__init__()
        self.way, self.shifts = way, shifts
        self.embed, self.head = nn.Embedding(V, 8), nn.Linear(8, V, bias=False)
        self.cell, self.places = nn.GRUCell(8, 8), nn.Embedding(20, 8)
        self.norm = nn.BatchNorm1d(8)

    def states(self, x):
        h, made = torch.zeros(len(x), 8), []
        for e in (self.embed(x) + self.places(torch.arange(x.shape[1]))).unbind(1):
            h = self.cell(F.dropout(e, 0.1), h)
            made.append(self.head(h) if self.way == "step by step" else h)
        return torch.stack(made, 1)

    def forward(self, input_ids, labels=None):
        h = self.states(input_ids)
        y = input_ids if labels is None else labels
        if self.way == "step by step":
            return F.cross_entropy(h[:, : -self.shifts].mT, y[:, self.shifts :])
        h, y = h[:, : -self.shifts].flatten(0, 1), y[:, self.shifts :].flatten()
        self.norm(h)
        if self.way == "by torch":
            return F.linear_cross_entropy(h, self.head.weight, y)
        if self.way == "einsum":
            return F.nll_loss(torch.einsum("ld,vd->lv", h, self.embed.weight).log_softmax(-1), y)
        parts = zip(h.split(7), y.split(7), strict=True)
        ask = lambda h, y: F.cross_entropy(self.head(h), y, reduction="sum")  # noqa: E731
        return cast(Tensor, sum(checkpoint(ask, *p, use_reentrant=False) for p in parts)) / len(y)


LACKS = pytest.mark.skipif(not hasattr(F, "linear_cross_entropy"), reason="this torch lacks it")
BY_TORCH = pytest.param("by torch", marks=LACKS)


@pytest.mark.in_short(1)
@pytest.mark.parametrize("way", ["step by step", BY_TORCH, "einsum", "in chunks"])
def test_a_model_is_heard_wherever_its_logits_are_made(way):
    model = Written(way)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.head.weight.grad = torch.ones(V, 8)
    follows = torch.rand(3, generator=torch.manual_seed(4).clone_state())
    report = doubt.targets(lambda m, x: m(input_ids=x, labels=x), TEXTS, V, model=model)
    assert report.ok and len(report.arrows) == 40, report
    assert torch.rand(3).equal(follows) and model.training
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    assert model.head.weight.grad is not None and model.head.weight.grad.eq(1).all()
    assert model.embed.weight.grad is None
    off = doubt.targets(lambda m, x: m(x), TEXTS, V, model=Written(way, 2))
    assert off.bad[0].found.endswith("shifted twice?")


class States(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(V, 8), nn.GRU(8, 8, batch_first=True)
        self.later, self.norm = nn.GRU(16, 8, batch_first=True), nn.LayerNorm(8)
        self.head = nn.Linear(8, V)

    def forward(self, x):
        return self.cell(self.embed(x))[0]

    def asked(self, h, y):
        return F.cross_entropy(self.head(self.norm(h)).flatten(0, -2), y.flatten())


def labels(x):
    return x.masked_fill(x == PAD, -100)


def by_mask(m, x, n):
    counted = x[:, n:] != PAD
    return m.asked(m(x)[:, :-n][counted], x[:, n:][counted])


def by_number(m, x, n):
    counted = (x[:, n:] != PAD).flatten().nonzero()[:, 0]
    logits = m.head(m(x)[:, :-n].reshape(-1, 8))
    return F.cross_entropy(logits[counted], x[:, n:].reshape(-1)[counted])


def unpadded(m, x, n):
    y = F.pad(x[:, n:], (0, n), value=PAD)[x != PAD]
    return F.cross_entropy(m.head(m(x)[x != PAD]), labels(y))


def time_first(m, x, n):
    return m.asked(m(x).transpose(0, 1)[:-n], labels(x.T[n:]))


def the_last(m, x, n):
    return m.asked(m(x)[:, 4:-n], labels(x[:, 4 + n :]))


def exits(m, x, n):
    """An early one too, as of layers that may be left."""
    return {"loss": by_mask(m, x, n) + 0.3 * m.asked(m.embed(x)[:, :-n], labels(x[:, n:]))}


def of_two(m, x, n):
    """A later head, which is given the next token, predicts the one after it (DeepSeek-V3)."""
    h, y = m(x), labels(x)
    late = m.later(torch.cat([h[:, :-1], m.embed(x[:, 1:])], -1))[0]
    return m.asked(h[:, :-n], y[:, n:]) + 0.3 * m.asked(late[:, :-n], y[:, 1 + n :])


WRITTEN = [by_mask, by_number, unpadded, time_first, the_last, exits, of_two]


@pytest.mark.in_short(2)
@pytest.mark.parametrize("loss", WRITTEN)
def test_a_state_is_followed_to_its_place(loss):
    asked = {"model": States(), "pad": PAD}
    right, off = (doubt.targets(partial(loss, n=n), PADDED, V, **asked) for n in (1, 2))
    assert right.ok and not right.warnings, right
    assert off.bad[0].found.endswith("the token after the next: are labels shifted twice?")


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="compiled, it runs alone")
def test_a_model_that_is_compiled_is_heard():
    for shifts in (1, 2):
        model = torch.compile(Model(shifts), backend="eager")
        report = doubt.targets(lambda m, x: m(x, labels=x), TEXTS, V, model=model)
        assert report.ok == (shifts == 1) and len(report.arrows) == 44 - 4 * shifts


def test_functions_tables_and_loops_around_a_model():
    table, model = nn.Parameter(torch.randn(V, V)), Model()
    for asked in (lambda x: table[x], nn.Embedding(V, V), model, lambda x: model(x)):
        assert doubt.targets(ask, TEXTS, V, model=asked).ok

    def loop(m, x) -> None:
        for row in x.split(1):
            (ask(m, row) / len(x)).backward()

    assert doubt.targets(loop, TEXTS, V, model=model).ok
    assert all(p.grad is None for p in model.parameters())
    joined = lambda m, x: F.cross_entropy(m(x).flatten(0, 1)[:-1], x.flatten()[1:])  # noqa: E731
    assert [a.check for a in doubt.targets(joined, TEXTS, V, model=model).bad] == ["rows"]
    ours = lambda m, x: ask(m, x.masked_fill(x == PAD, 0))  # noqa: E731
    padded = doubt.targets(ours, PADDED, V, model=model, pad=PAD)
    assert padded.bad[0].found == "padding is answered for: 7 to 10 of row 1; 10 of row 3"


# What cannot be asked


def test_what_cannot_be_asked_is_said():
    for loss, why in (
        (lambda z, x: 1 / 0, "could not be asked: ZeroDivisionError: division by zero"),
        (lambda z, x: 3.0, "the loss hangs on no logits that were seen"),
        (lambda z, x: plain(z.detach(), x), "the loss hangs on no logits that were seen"),
        (lambda z, x: 0 * plain(z, x), "the loss has no slope at the logits"),
        (lambda z, x: plain(z, TEXTS), "no label follows the tokens"),
    ):
        report = doubt.targets(loss, TEXTS, V)
        assert not report.ok and not report.bad and report.answers[0].found.startswith(why)
    refused = "could not be asked: RuntimeError: Class values must be non-negative."
    assert told(one_by_one)["short"][1] == refused
    assert doubt.targets(lambda m, x: mislabelled.fused(m(x), x), TEXTS, V, model=Model()).ok

    def hidden(m, x):
        states, y = m.embed(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()
        return mislabelled._Fused.apply(states, m.head.weight, y)

    assert "torch.eye" in doubt.targets(hidden, TEXTS, V, model=Model()).answers[0].found


def test_long_texts_are_cut_and_it_is_said(monkeypatch):
    monkeypatch.setattr(asked_of, "NUMBERS", 2**12)
    report = doubt.targets(plain, TEXTS.repeat(3, 1), V)
    assert report.ok and "8 texts of 8 tokens of 60" in str(report)
    assert report.notes == ["read are 8 texts to their token 8, for there are many"]
    with pytest.raises(ValueError, match="give fewer tokens, with weights"):
        doubt.targets(plain, TEXTS.repeat(3, 1), V, weights=torch.ones(12, 11))


def test_pieces_that_are_shifted_one_by_one_are_warned_of():
    def by_pieces(z, x):
        parts = zip(z.split(4, 1), x.split(4, 1), strict=True)
        each = [F.cross_entropy(a[:, :-1].mT, b[:, 1:], reduction="sum") for a, b in parts]
        return torch.stack(each).sum() / x.numel()

    report = doubt.targets(by_pieces, TEXTS, V)
    assert [answer.check for answer in report.warnings] == ["counted"]
    assert said(report)["counted"][1].endswith("; ...: are pieces shifted one by one?")
    assert told(by_pieces, weights=torch.ones(4, 11))["counted"][0] == "wrong"
    assert not doubt.targets(mislabelled.after_prompt(0), TEXTS, V).warnings
    for honest in (mislabelled.apart(1), mislabelled.apart(0)):
        report = doubt.targets(honest, mislabelled.PACKED, V, separator=mislabelled.END)
        assert not report.warnings
