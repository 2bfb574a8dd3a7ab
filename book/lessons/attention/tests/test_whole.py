"""The sorter seen whole: `Sorter`'s own answers, and each step of them by another way."""

import numpy as np
import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config
from book.lessons.attention.whole import WholeSorter, causal

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


def by_hand(model: WholeSorter, tokens: list[int]) -> dict[str, np.ndarray]:
    """The same of one text in NumPy, a head and a place at a time."""
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
            [made["normed"] @ w[f"block.attention.{short}.base"][h] for h in heads]
        )
    made["score"], made["attention"] = np.zeros((2, len(heads), t, t))
    for h, i in np.ndindex(len(heads), t):
        d = made["query"].shape[-1]
        made["score"][h, i] = [made["query"][h, i] @ made["key"][h, j] / d**0.5 for j in range(t)]
        raised = np.exp(made["score"][h, i, : i + 1])
        made["attention"][h, i, : i + 1] = raised / raised.sum()
    made["mixture"] = np.einsum("hij,hjd->hid", made["attention"], made["value"])
    made["read"] = np.concatenate([*made["mixture"]], 1) @ w["block.attention.o.weight"].T
    made["middle"] = made["row"] + made["read"]
    made["hidden"] = norm(made["middle"], "block.ln2") @ w["block.feed_forward.l1.weight"].T
    made["hidden"] = np.maximum(made["hidden"], 0)
    made["network"] = made["hidden"] @ w["block.feed_forward.l2.weight"].T
    made["end"] = made["middle"] + made["network"]
    made["final"] = norm(made["end"], "norm")
    made["logits"] = made["final"] @ w["token.weight"].T
    return made


def test_all_that_is_made_is_right_and_has_its_name(model: WholeSorter) -> None:
    whole = model.whole(TOKENS)
    for n, tokens in enumerate(TOKENS.tolist()):
        made = by_hand(model, tokens)
        assert made.keys() == {*whole._fields}
        for name, value in made.items():
            found = getattr(whole, name) if name == "position" else getattr(whole, name)[n]
            np.testing.assert_allclose(found.detach(), value, atol=2e-5, err_msg=name)


def test_it_is_the_sorter(model: WholeSorter) -> None:
    logits, attention = model.observe(TOKENS)
    assert_close(model(TOKENS), logits)
    assert_close(model.whole(TOKENS).attention, attention)


def test_a_place_reads_what_it_may(model: WholeSorter) -> None:
    assert_close(model(TOKENS, causal(5)), model(TOKENS))
    may_read = torch.tensor([[1.0, 0, 0, 0, 1], *torch.eye(5)[1:].tolist()])
    attention = model.whole(TOKENS, may_read).attention
    assert ((attention > 0) == (may_read > 0)).all()
    assert_close(attention.sum(-1), torch.ones(2, 2, 5))
    other = TOKENS.clone()
    other[:, 4] = 2
    moved = (model(other, may_read) - model(TOKENS, may_read)).abs().amax((0, -1)) > 1e-4
    assert moved.tolist() == [True, False, False, False, True]


def test_a_query_that_is_turned_moves_the_scores_of_its_own_row(model: WholeSorter) -> None:
    turned = torch.zeros(2, 5, 3)
    turned[1, 3] = torch.tensor([1.0, -2.0, 0.5])
    before, after = model.whole(TOKENS), model.whole(TOKENS, turned=turned)
    by = torch.einsum("hid,bhjd->bhij", turned, before.key) / 3**0.5
    assert_close(after.score, before.score + by)
    assert_close(after.query, before.query + turned)
    assert_close(after.logits[:, :3], before.logits[:, :3])
    assert not torch.allclose(after.logits[:, 3], before.logits[:, 3])


def test_a_head_that_is_held_reads_what_it_is_told(model: WholeSorter) -> None:
    held = torch.zeros(2, 5, 5)
    held[0, 4, 1] = 1
    before, after = model.whole(TOKENS), model.whole(TOKENS, held=held)
    assert_close(after.mixture[:, 0, 4], before.value[:, 0, 1])
    expected = before.attention.clone()
    expected[:, 0, 4] = held[0, 4]
    assert_close(after.attention, expected)
