"""Our models on the published programs' weights and inputs return what those programs returned.

The golden files hold everything: weights, inputs, sizes, settings and outputs of a run of the
published code. `ATTN_NOTES_GOLDEN` names another folder of files of the same kind.
"""

import math
import operator
import os
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models import deep_qkv, dialectical, equilibrium, triple_product, trm
from book.lessons.equilibrium.estimators import PUBLISHED, bptt

STEM = operator.attrgetter("stem")
GOLDEN = Path(os.environ.get("ATTN_NOTES_GOLDEN", Path(__file__).parent / "golden"))

# The sources' names of weights → ours: what stands there, and what stands in its place.
SORTER = {
    "^token_embed": "token",
    "^pos_embed": "position",
    r"\.att\.": ".attention.",
    r"\.ff\.": ".feed_forward.",
    "^final_norm": "norm",
    "([qkv])_?(A|B|base)$": r"\1.\2",
}
COPIER = {r"embed\.": "embedding.", r"^attn\.(W_)?": "layers.0."}
DIALECTICAL = {
    "^emb": "token",
    "^pos$": "position.weight",
    r"attn\.synth": "head.synthesis",
    r"attn\.step_gate": "head.gate",
    "attn": "head",
    r"ff\.0": "ln2",
    r"ff\.1": "feed_forward.l1",
    r"ff\.3": "feed_forward.l2",
    "^lm": "unembedding",
}
# What is one matrix in our head, and several in the source's.
JOINED = {
    "qkv.weight": ["q.weight", "k.weight", "v.weight"],
    "poles.weight": ["v_pos.weight", "v_neg.weight"],
    "tilt": ["u_pos", "u_neg"],
    "bias": ["b_pos", "b_neg"],
}
TURNED = {"WO": "block.o.weight", "Whead": "unembedding.weight"}
EMBEDDED = {"tok_emb": "token", "pos_emb": "position"}
RECURSIVE = {
    r"^input_embedding\.(summary|token)_(token|embedding)": r"\1",
    r"^output_head\.proj": "out",
    r"^q_head\.proj": "halt",
    r"^network\.layers": "net",
    "mlp": "swiglu",
    "_proj": "",
}
# What the source fixes in its code, where a file names it.
TRM_SETTINGS = {"latent_steps": "n", "cycles": "T"}


def files(kind):
    found = sorted(GOLDEN.glob(f"{kind}*.npz"))
    assert found, f"no {kind}*.npz in {GOLDEN}"
    return found


def read(path):
    """What a file has, numbers as tensors; and of it the weights, under the source's names."""
    with np.load(path) as file:
        golden = {k: v if v.dtype.kind == "U" else torch.from_numpy(v) for k, v in file.items()}
    return golden, {k[2:]: v for k, v in golden.items() if k.startswith("w:")}


def filled(kind, published, weights, names, **sizes):
    """A model of these sizes with the source's weights, each under our name of it."""
    model = kind(replace(published, **sizes), Generator()).to([*weights.values()][-1].dtype)
    for theirs, ours in names.items():
        weights = {re.sub(theirs, ours, name): weight for name, weight in weights.items()}
    model.load_state_dict(weights)
    return model


@pytest.mark.parametrize("path", files("deep_qkv"), ids=STEM)
def test_deep_qkv(path):
    golden, source = read(path)
    heads, embedding, rank = source["block.att.qA"].shape
    sizes = {"heads": heads, "embedding": embedding, "rank": rank}
    sizes |= {"vocabulary": len(golden["vocab"]), "context": len(source["pos_embed.weight"])}
    sizes["variant"] = "gated" if "block.att.q_base" in source else "strict"
    sizes["temperature"] = float(golden["temperature"])
    model = filled(deep_qkv.Sorter, deep_qkv.PUBLISHED, source, SORTER, **sizes)
    logits, attention = model.observe(golden["tokens"])
    # A few units in the last place of float32, which both sides rounded differently.
    assert_close(logits, golden["logits"], rtol=1e-5, atol=5e-6)
    assert_close(attention, golden["attention"], rtol=1e-5, atol=1e-6)
    assert golden["params"][-1] == sum(p.numel() for p in model.parameters())


def rounding(golden, size=1.0):
    """What our logits may differ by, in the precision that the published program ran in.

    `size` is how large the terms are of whose sum a score is what is left.
    """
    logits = golden["logits"]
    return max(50 * torch.finfo(logits.dtype).eps * size * logits.abs().max().item(), 1e-12)


@torch.no_grad()
def size_of_terms(model, tokens):
    """The published determinant has terms as large as the squared lengths of q, k and r."""
    q, k, r, _ = model.layers[0].project(model.embedding(tokens))
    product = math.prod(x.square().sum(-1).max().item() for x in (q, k, r))
    return max(1.0, product / model.config.d**1.5)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        *((path, form) for path in files("triple_attention") for form in triple_product.VOLUMES),
        *((path, "projected") for path in files("standard_attention")),
    ],
    ids=lambda each: getattr(each, "stem", each),
)
def test_triple_product_attention(path, form):
    """And the standard one."""
    golden, source = read(path)
    vocabulary, width = source["embed.weight"].shape
    sizes = {"vocabulary": vocabulary, "width": width, "heads": int(golden["heads"])}
    sizes |= {"form": form, "score": "volume" if "attn.W_r.weight" in source else "dot"}
    if sizes["score"] == "volume":
        source["attn.qkrv.weight"] = torch.cat([source.pop(f"attn.W_{n}.weight") for n in "qkrv"])
    model = filled(triple_product.AttentionOnly, triple_product.PUBLISHED, source, COPIER, **sizes)
    terms = size_of_terms(model, golden["tokens"]) if sizes["score"] == "volume" else 1.0
    bound = rounding(golden, terms)
    assert_close(model(golden["tokens"]), golden["logits"], rtol=bound, atol=bound)


def metrics(observed, keep):
    """What the source reports: mean steps, and mean tension of active tokens at every step.

    Its recursion, and so its list of tensions, ends when no token is active.
    """
    active = observed.active.double()
    counts = active.sum((0, 2))
    tensions = (observed.tension * active).sum((0, 2))[counts > 0] / counts[counts > 0]
    return observed.steps[keep].double().mean(), tensions


@pytest.mark.parametrize("path", files("dialectical"), ids=STEM)
def test_dialectical(path):
    """The whole, and the bare head."""
    golden, source = read(path)
    vocabulary, width = source["emb.weight"].shape
    sizes = {"vocabulary": vocabulary, "width": width, "context": source["pos"].shape[1]}
    sizes |= {"pad": golden["vocab"].tolist().index("_"), "head_dim": int(golden["d_head"])}
    sizes |= {"steps": int(golden["max_steps"]), "min_steps": int(golden["min_steps"])}
    sizes |= {name: float(golden[name]) for name in ("halt_eps", "tension_tau")}
    for ours, theirs in JOINED.items():
        parts = [source.pop(f"block.attn.{name}") for name in theirs]
        source[f"block.attn.{ours}"] = torch.cat(parts, 1 if ours == "tilt" else 0)
    source["pos"] = source["pos"][0]
    model = filled(dialectical.LanguageModel, dialectical.PUBLISHED, source, DIALECTICAL, **sizes)
    bound, keep = rounding(golden), golden["tokens"] != model.config.pad
    whole, bare = model.observe(golden["tokens"]), model.block.head.observe(golden["head_x"], keep)
    for (made, observed), name, of in ((whole, "logits", ""), (bare, "head_z", "head_")):
        steps, tensions = metrics(observed, keep)
        assert_close(made, golden[name], rtol=bound, atol=bound)
        assert steps.item() == pytest.approx(golden[f"{of}avg_steps"].item())
        assert_close(tensions.double().detach(), golden[f"{of}tensions"], rtol=bound, atol=bound)


SETTLED = 200  # the steps after which the source looks at the state, of the same size as all others


def load_equilibrium(path, steps):
    golden, source = read(path)
    vocabulary, width = source["tok_emb"].shape
    sizes = {"vocabulary": vocabulary, "width": width, "context": len(source["pos_emb"])}
    relaxation = equilibrium.Relaxation(steps, float(golden["eps"]))
    sizes |= {"heads": int(golden["heads"]), "relaxation": relaxation}
    # The source multiplies rows by its weights, torch by their transposed.
    joined = {"block.qkv.weight": torch.cat([source.pop(n).T for n in ("WQ", "WK", "WV")])}
    joined |= {name: source.pop(theirs).T for theirs, name in TURNED.items()}
    return golden, filled(
        equilibrium.LanguageModel, equilibrium.PUBLISHED, source | joined, EMBEDDED, **sizes
    )


def cost(logits, golden):
    return F.cross_entropy(logits.mT, golden["targets"])


def equilibrium_gradients(path, estimator):
    """Of the source's four matrices, stacked in its order."""
    golden, model = load_equilibrium(path, int(read(path)[0]["T1"]))
    if estimator is not bptt:
        nudge = equilibrium.Relaxation(int(golden["T2"]), float(golden["eps"]))
        estimator = replace(estimator, beta=float(golden["beta"]), relaxation=nudge)

    def solve(force, read, start, relax):
        return estimator(force, lambda z: cost(read(z), golden), start, relax)

    value = model(golden["tokens"], solve)
    qkv, o = torch.autograd.grad(value, [model.block.qkv.weight, model.block.o.weight])
    found = dict(zip(("WQ", "WK", "WV", "WO"), (*qkv.chunk(3), o), strict=True))
    return torch.stack([found[name].T for name in golden["order"].tolist()])


@pytest.mark.parametrize("path", files("aep"), ids=STEM)
class TestEquilibrium:
    def test_the_state_at_rest_its_residual_and_the_loss(self, path):
        golden, model = load_equilibrium(path, SETTLED)
        z, start = model.settle(golden["tokens"]), model.embed(golden["tokens"])
        assert_close(z, golden["z_star"], rtol=1e-12, atol=1e-14)
        left = equilibrium.residual(lambda z: model.block(z, start), z) * float(golden["eps"])
        # What is left is itself a rounded difference of numbers of the size of the state.
        bound = 2 * torch.finfo(z.dtype).eps
        assert left.item() == pytest.approx(golden["residual"].item(), rel=1e-9, abs=bound)
        assert_close(cost(model(golden["tokens"]), golden), golden["loss"], rtol=1e-12, atol=0)

    def test_gradients_and_their_cosines(self, path):
        golden, _ = read(path)
        naive, true = replace(PUBLISHED, correction="none"), equilibrium_gradients(path, bptt)
        for name, how in (("bptt", bptt), ("naive_ep", naive), ("aep_clipped", PUBLISHED)):
            found, published = equilibrium_gradients(path, how), golden[f"grad_{name}"]
            # A difference of two states, divided by β, has their rounding divided by β.
            assert_close(found, published, rtol=1e-9, atol=1e-10 * published.abs().max().item())
            if name != "bptt":
                cosines = F.cosine_similarity(found.flatten(1), true.flatten(1))
                published = golden[f"cos_{name.removesuffix('_ep')}"]
                assert_close(cosines, published, rtol=1e-9, atol=1e-12)


RUNS = 4  # of TRM, to see how far rounding carries them apart


def load_trm(path):
    """Of weights by the rule that the file is made by, under the source's names."""
    golden, source = read(path)
    for i, (name, text) in enumerate(zip(golden["names"], golden["shapes"], strict=True)):
        shape = tuple(int(size) for size in str(text).strip("(),").split(","))
        scale = 0.1 if len(shape) == 1 else shape[-1] ** -0.5
        drawn = np.random.RandomState(int(golden["seed_base"]) + i).standard_normal(shape) * scale
        source[str(name)] = torch.from_numpy(drawn).to(golden["logits_1"].dtype)
    vocabulary, width = source["input_embedding.token_embedding.weight"].shape
    sizes = {"vocabulary": vocabulary, "width": width, "cells": golden["tokens"].shape[1]}
    sizes["layers"] = len({n.split(".")[2] for n in source if n.startswith("network.layers")})
    sizes |= {ours: int(golden[its]) for ours, its in TRM_SETTINGS.items() if its in golden}
    source["input_embedding.summary_token"] = source["input_embedding.summary_token"][0]
    return golden, filled(trm.TRM, trm.PUBLISHED, source, RECURSIVE, **sizes)


def likeness(a, b):
    """The correlation of two runs' logits, a mean over the puzzles."""
    both = [torch.stack(pair).flatten(1) for pair in zip(a, b, strict=True)]
    return torch.stack([pair.corrcoef()[0, 1] for pair in both]).mean().item()


@torch.no_grad()
def runs(model, tokens, steps=2):
    """What the file holds of supervision steps, from runs whose embeddings are a millionth off.

    The states as the file has them: every ninth token's every sixteenth entry.
    """
    generator, embedding = Generator().manual_seed(0), model.token.weight.clone()
    found = defaultdict(list)
    for _ in range(RUNS):
        noise = torch.randn(embedding.shape, generator=generator)
        model.token.weight.copy_(embedding * (1 + 1e-6 * noise))
        state = None
        for step in range(1, steps + 1):
            state, logits, halt = model(tokens, state)
            found[f"logits_{step}"].append(logits)
            found[f"q_{step}"].append(halt[:, None])
            if step == 1:
                found["y_1"].append(state.y[:, ::9, ::16])
                found["z_1"].append(state.z[:, ::9, ::16])
    model.token.weight.copy_(embedding)
    return {name: torch.stack(values) for name, values in found.items()}


def spreads_away(published, ours):
    """How far the published numbers are from the mean of our runs, in their standard deviations."""
    error = (published - ours.mean(0)).square().mean()
    return (error / ours.var(0).mean()).sqrt().item()


def differs(golden, ours):
    """What of the file could not be of one of our runs."""
    found = []
    for name, values in ours.items():
        published, total = golden[name], values.sum(0)
        # Two numbers alone may lie anywhere among four pairs.
        if spreads_away(published, values) > (10 if name.startswith("q_") else 2):
            found.append(name)
        # In the sampled states a few large entries drown the others.
        elif name.startswith("logits_"):
            alike = np.mean([likeness(one, total - one) for one in values])
            if likeness(published, total) < alike / 2:
                found.append(name)
    return found


@pytest.mark.parametrize("path", files("trm"), ids=STEM)
@pytest.mark.long
@pytest.mark.slow
def test_trm(path):
    """The published run is like one of ours.

    The file holds what the published program returned in float32, on weights that are chaotic.

    A difference grows about tenfold at each use of the network, of which there are 21 in a
    supervision step. Two runs that round differently, on other processors or with other numbers of
    threads, are in the end no more alike than two days of one season. But seasons can be compared:
    among runs of ours whose embeddings differ by a millionth, the file's logits go with the mean of
    all as one of theirs does, and with those of a network that is wrong in one place they do not.
    Nor are they, q, y or z further from that mean than one of ours may be; where weights are not
    chaotic, that is near.
    """
    golden, model = load_trm(path)
    assert not differs(golden, runs(model, golden["tokens"]))

    with torch.no_grad():  # what x counts for, beside y and z
        model.token.weight.div_(model.config.width**0.5)
        model.summary.div_(model.config.width**0.5)
    assert differs(golden, runs(model, golden["tokens"], steps=1))
