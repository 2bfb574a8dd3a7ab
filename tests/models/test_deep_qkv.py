import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting


def test_without_positions_only_proportions_are_seen():
    """The same last token after the same proportions gives the same logits; else others."""
    model = Sorter(Config("plain", positions=False), Generator().manual_seed(2))

    def last(*tokens):
        return model(torch.tensor(tokens))[-1]

    for same in (((1,), (1, 1), (1, 1, 1)), ((1, 2, 3), (2, 1, 3)), ((1, 2), (1, 2, 1, 2))):
        assert len({sorting.proportions(tokens) for tokens in same}) == 1
        for other in same[1:]:
            assert_close(last(*other), last(*same[0]))
    different = [(1,), (2,), (1, 2), (2, 1), (1, 1, 2), (1, 2, 2), (1, 0), (1, 1, 0)]
    assert len({sorting.proportions(tokens) for tokens in different}) == len(different)
    for one, other in itertools.combinations(different, 2):
        assert not torch.allclose(last(*one), last(*other), atol=1e-4)


def independent_forward(model, x):
    """The same function from torch's own multi-head attention, one sequence at a time."""
    config, w = model.config, dict(model.named_parameters())
    e, h = config.embedding, config.heads
    rows = []
    for name, i in itertools.product("qkv", range(h)):  # heads one after another
        a, b, base = (w.get(f"block.attention.{name}.{m}") for m in ("A", "B", "base"))
        gate = 1 / 3 if config.variant == "fixed_gate" else 1
        if a is not None:
            gate = torch.exp(a[i] @ b[i] / config.temperature)
            gate = gate / gate.sum(1, keepdim=True)
        rows.append((gate if base is None else base[i] * gate).T)  # torch keeps [out, in]
    hidden = w["token.weight"][x]
    if config.positions:
        hidden = hidden + w["position.weight"][: len(x)]
    y = F.layer_norm(hidden, (e,), w["block.ln1.weight"], w["block.ln1.bias"])
    mask = torch.triu(torch.ones(len(x), len(x), dtype=torch.bool), 1)
    y, _ = F.multi_head_attention_forward(
        *[y[:, None]] * 3, e, h, torch.cat(rows), None, None, None, False, 0.0,
        w["block.attention.o.weight"], None, training=False, attn_mask=mask,
    )  # fmt: skip
    hidden = hidden + y[:, 0]
    y = F.layer_norm(hidden, (e,), w["block.ln2.weight"], w["block.ln2.bias"])
    up, down = w["block.feed_forward.l1.weight"], w["block.feed_forward.l2.weight"]
    hidden = hidden + F.linear(F.linear(y, up).clamp(min=0), down)
    return F.layer_norm(hidden, (e,), w["norm.weight"], w["norm.bias"]) @ w["token.weight"].T


def config_of(heads, per_head, **more):
    return Config(context=11, heads=heads, embedding=heads * per_head, **more)


@given(
    config=st.builds(
        config_of,
        variant=st.sampled_from(VARIANTS),
        heads=st.integers(1, 5),
        per_head=st.integers(1, 5),
        rank=st.integers(1, 7),
        temperature=st.floats(0.05, 20),
        vocabulary=st.integers(2, 13),
        positions=st.booleans(),
    ),
    length=st.integers(1, 11),
    seed=st.integers(0, 999),
)
def test_forward_equals_an_independent_one(config, length, seed):
    generator = Generator().manual_seed(seed)
    model = Sorter(config, generator).double()
    for p in model.parameters():  # off the start, where LayerNorms are trivial
        p.data += 0.5 * torch.randn(p.shape, generator=generator)
    x = torch.randint(config.vocabulary, (3, length), generator=generator)
    expected = torch.stack([independent_forward(model, row) for row in x])
    assert_close(model(x), expected)
    upstream = torch.randn(expected.shape, generator=generator).double()
    slopes = (
        torch.autograd.grad(y, [*model.parameters()], upstream, materialize_grads=True)
        for y in (model(x), expected)
    )
    assert_close(*slopes)


class TestTrace:
    @pytest.mark.parametrize("seed", range(4))
    def test_says_what_sort_does(self, seed):
        model = Sorter(Config(), Generator().manual_seed(seed))
        steps = model.trace("cab")
        assert sorting.decode([s.choice for s in steps]) == model.sort("cab")
        for i, step in enumerate(steps):
            assert sorting.decode(step.context.tolist()) == "cab|" + model.sort("cab")[:i]
            logits, attention = model.observe(step.context[None])
            expected = torch.cat([torch.zeros(1), logits[0, -1, 1:].softmax(-1)])
            assert_close(step.probabilities, expected)
            assert_close(step.attention, attention[0, :, -1])
            assert step.choice == int(expected.argmax())

    def test_never_writes_the_separator(self):
        model = Sorter(Config(), Generator().manual_seed(0))
        with torch.no_grad():  # a model whose favourite token is SEP, wherever it stands
            model.norm.weight.zero_()
            model.norm.bias.copy_(model.token.weight[sorting.SEP])
            model.token.weight[1:] *= 0.1
        assert model(sorting.prompt("abc")).argmax(-1).eq(sorting.SEP).all()
        assert "|" not in model.sort("abc")
        assert all(step.probabilities[sorting.SEP] == 0 for step in model.trace("abc"))
