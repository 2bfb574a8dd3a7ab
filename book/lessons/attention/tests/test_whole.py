"""The sorter seen whole, each step by another way."""

import numpy as np
import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config
from book.lessons.attention.whole import WholeSorter

# All sizes differ: heads, numbers of a head, places, tokens.
CONFIG = Config("plain", vocabulary=7, context=8, embedding=6, heads=2)
TOKENS = torch.tensor([[3, 1, 2, 0, 6], [5, 5, 0, 4, 1]])


@pytest.fixture
def model() -> WholeSorter:
    made = WholeSorter(CONFIG, Generator().manual_seed(3))
    with torch.no_grad():
        for p in made.parameters():  # norms that are not one and zero
            p.add_(0.3 * torch.randn(p.shape, generator=Generator().manual_seed(p.numel())))
    return made


def by_hand(model: WholeSorter, tokens: list[int], **asked: Tensor) -> dict[str, np.ndarray]:
    """The same of one text in NumPy, a head and a place at a time."""
    may_read, turned, held = map(asked.get, ("may_read", "turned", "held"))
    w = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    t, heads = len(tokens), range(CONFIG.heads)

    def norm(rows: np.ndarray, name: str) -> np.ndarray:
        rows = rows - rows.mean(1, keepdims=True)
        rows = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-5)
        return rows * w[f"{name}.weight"] + w[f"{name}.bias"]

    made = {"embedding": w["token.weight"][tokens], "position": w["position.weight"][:t]}
    made["row"] = made["embedding"] + made["position"]
    made["normed"] = norm(made["row"], "block.ln1")
    for short, name in (("q", "query"), ("k", "key"), ("v", "value")):
        made[name] = np.stack(
            [made["normed"] @ each for each in w[f"block.attention.{short}.base"]]
        )
    made["query"] = made["query"] + (0 if turned is None else turned.numpy())
    made["score"], made["attention"] = np.zeros((2, len(heads), t, t))
    for h, i in np.ndindex(len(heads), t):
        made["score"][h, i] = made["key"][h] @ made["query"][h, i] / 3**0.5
        may = np.arange(t) <= i if may_read is None else may_read[i].numpy() > 0
        raised = np.exp(made["score"][h, i]) * may
        made["attention"][h, i] = raised / raised.sum()
        if held is not None and held[h, i].any():
            made["attention"][h, i] = held[h, i]
    made["mixture"] = np.einsum("hij,hjd->hid", made["attention"], made["value"])
    made["read"] = np.concatenate([*made["mixture"]], 1) @ w["block.attention.o.weight"].T
    made["middle"] = made["row"] + made["read"]
    normed = norm(made["middle"], "block.ln2")
    made["hidden"] = np.maximum(normed @ w["block.feed_forward.l1.weight"].T, 0)
    made["network"] = made["hidden"] @ w["block.feed_forward.l2.weight"].T
    made["end"] = made["middle"] + made["network"]
    made["final"] = norm(made["end"], "norm")
    made["logits"] = made["final"] @ w["token.weight"].T
    return made


AHEAD, TURNED, HELD = torch.eye(5), torch.zeros(2, 5, 3), torch.zeros(2, 5, 5)
AHEAD[0, 4], AHEAD[3, 1], TURNED[1, 3], HELD[0, 4, 1] = 1, 1, torch.tensor([1.0, -2.0, 0.5]), 1
ASKED = [{}, {"may_read": AHEAD}, {"turned": TURNED}, {"held": HELD}]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked), "as it is"))
def test_all_that_is_made_is_right_and_has_its_name(asked, model):
    whole = model.whole(TOKENS, **asked)
    for n, tokens in enumerate(TOKENS.tolist()):
        made = by_hand(model, tokens, **asked)
        assert made.keys() == {*whole._fields}
        for name, value in made.items():
            found = getattr(whole, name) if name == "position" else getattr(whole, name)[n]
            np.testing.assert_allclose(found.detach(), value, atol=2e-5, err_msg=name)


def test_it_is_the_sorter(model):
    logits, attention = model.observe(TOKENS)
    assert_close(model(TOKENS), logits)
    assert_close(model(TOKENS, AHEAD), model.whole(TOKENS, AHEAD).logits)
    assert_close(model.whole(TOKENS).attention, attention)
