"""The equilibrium model and its estimators return what the published program returned.

As in `test_parity.py`, of which this is to be a part: the golden files hold everything.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models import equilibrium
from attn_notes.models.equilibrium import LanguageModel, Relaxation, residual
from attn_notes.training.estimators import NAIVE, PUBLISHED, Estimator, bptt

GOLDEN = Path(os.environ.get("ATTN_NOTES_GOLDEN", Path(__file__).parent / "golden"))
SETTLED = 200  # the steps after which the source looks at the state, of the same size as all others


def files(kind: str) -> list[Path]:
    found = sorted(GOLDEN.glob(f"{kind}*.npz"))
    assert found, f"no {kind}*.npz in {GOLDEN}"
    return found


def load(golden: np.lib.npyio.NpzFile, steps: int) -> LanguageModel:
    source = {k[2:]: torch.from_numpy(golden[k]) for k in golden.files if k.startswith("w:")}
    vocabulary, width = source["tok_emb"].shape
    config = equilibrium.Config(
        vocabulary=vocabulary,
        context=len(source["pos_emb"]),
        width=width,
        heads=int(golden["heads"]),
        relaxation=Relaxation(steps, float(golden["eps"])),
    )
    model = LanguageModel(config, Generator()).to(source["tok_emb"].dtype)
    # The source multiplies rows by its weights, torch by their transposed.
    model.load_state_dict(
        {
            "token": source["tok_emb"],
            "position": source["pos_emb"],
            "block.qkv.weight": torch.cat([source[name].T for name in ("WQ", "WK", "WV")]),
            "block.o.weight": source["WO"].T,
            "unembedding.weight": source["Whead"].T,
        }
    )
    return model


def cost(logits: Tensor, golden: np.lib.npyio.NpzFile) -> Tensor:
    return F.cross_entropy(logits.mT, torch.from_numpy(golden["targets"]))


def gradients(golden: np.lib.npyio.NpzFile, estimator: Estimator) -> Tensor:
    """Of the source's four matrices, stacked in its order."""
    model = load(golden, int(golden["T1"]))
    value = model(
        torch.from_numpy(golden["tokens"]),
        lambda force, read, start, relax: estimator(
            force, lambda z: cost(read(z), golden), start, relax
        ),
    )
    qkv, o = torch.autograd.grad(value, [model.block.qkv.weight, model.block.o.weight])
    found = dict(zip(("WQ", "WK", "WV", "WO"), (*qkv.chunk(3), o), strict=True))
    return torch.stack([found[name].T for name in golden["order"].tolist()])


def as_in(golden: np.lib.npyio.NpzFile, published: Estimator) -> Estimator:
    nudge = Relaxation(int(golden["T2"]), float(golden["eps"]))
    return replace(published, beta=float(golden["beta"]), relaxation=nudge)


@pytest.mark.parametrize("path", files("aep"), ids=lambda p: p.stem)
class TestEquilibrium:
    def test_the_state_at_rest_its_residual_and_the_loss(self, path: Path) -> None:
        golden = np.load(path)
        model, tokens = load(golden, SETTLED), torch.from_numpy(golden["tokens"])
        z, start = model.settle(tokens), model.embed(tokens)
        assert_close(z, torch.from_numpy(golden["z_star"]), rtol=1e-12, atol=1e-14)
        left = residual(lambda z: model.block(z, start), z) * float(golden["eps"])
        # What is left is itself a rounded difference of numbers of the size of the state.
        bound = 2 * torch.finfo(z.dtype).eps
        assert left.item() == pytest.approx(float(golden["residual"]), rel=1e-9, abs=bound)
        assert cost(model(tokens), golden).item() == pytest.approx(float(golden["loss"]), rel=1e-12)

    def test_gradients(self, path: Path) -> None:
        golden = np.load(path)
        for name, estimator in (
            ("grad_bptt", bptt),
            ("grad_naive_ep", as_in(golden, NAIVE)),
            ("grad_aep_clipped", as_in(golden, PUBLISHED)),
        ):
            published = torch.from_numpy(golden[name])
            # A difference of two states, divided by β, has their rounding divided by β.
            bound = 1e-10 * published.abs().max().item()
            assert_close(gradients(golden, estimator), published, rtol=1e-9, atol=bound)

    def test_cosines(self, path: Path) -> None:
        golden = np.load(path)
        true = gradients(golden, bptt).flatten(1)
        for name, estimator in (("cos_naive", NAIVE), ("cos_aep_clipped", PUBLISHED)):
            found = gradients(golden, as_in(golden, estimator)).flatten(1)
            published = torch.from_numpy(golden[name])
            assert_close(F.cosine_similarity(found, true), published, rtol=1e-9, atol=1e-12)
