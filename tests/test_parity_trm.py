"""TRM and the published program, on the same weights and inputs.

The golden file is what that program returned in float32, and its weights make it chaotic: a
difference grows about tenfold at each use of the network, of which there are 21 in a supervision
step. Two runs that round differently, on other processors or with other numbers of threads, are in
the end no more alike than two days of one season. But seasons can be compared: among runs of ours
whose embeddings differ by a millionth, the file's logits go with the mean of all as one of theirs
does, and with those of a network that is wrong in one place they do not.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from attn_notes.models import trm
from attn_notes.models.trm import TRM

GOLDEN = Path(os.environ.get("ATTN_NOTES_GOLDEN", Path(__file__).parent / "golden"))
RUNS = 6

# The source's names of TRM's weights → ours.
TRM_NAMES = {
    "y_init": "y_init",
    "z_init": "z_init",
    "input_embedding.summary_token": "summary",
    "input_embedding.token_embedding.weight": "token.weight",
    **{
        f"network.layers.{i}.{theirs}_proj.weight": f"net.{i}.{ours}.weight"
        for i in range(2)
        for theirs, ours in {
            "mixer.swiglu.gate_up": "mixer.swiglu.gate_up",
            "mixer.swiglu.down": "mixer.swiglu.down",
            "mlp.gate_up": "swiglu.gate_up",
            "mlp.down": "swiglu.down",
        }.items()
    },
    "output_head.proj.weight": "out.weight",
    "q_head.proj.weight": "halt.weight",
    "q_head.proj.bias": "halt.bias",
}


def files(kind: str) -> list[Path]:
    found = sorted(GOLDEN.glob(f"{kind}*.npz"))
    assert found, f"no {kind}*.npz in {GOLDEN}"
    return found


def trm_weights(golden: np.lib.npyio.NpzFile) -> dict[str, Tensor]:
    """By the rule that the file is made by, under the source's names."""
    found = {}
    for i, (name, text) in enumerate(zip(golden["names"], golden["shapes"], strict=True)):
        shape = tuple(int(size) for size in str(text).strip("(),").split(","))
        scale = 0.1 if len(shape) == 1 else shape[-1] ** -0.5
        drawn = np.random.RandomState(int(golden["seed_base"]) + i).standard_normal(shape) * scale
        found[str(name)] = torch.from_numpy(drawn).float()
    return found


def load_trm(golden: np.lib.npyio.NpzFile) -> TRM:
    source = trm_weights(golden)
    vocabulary, width = source["input_embedding.token_embedding.weight"].shape
    config = trm.Config(vocabulary=vocabulary, cells=golden["tokens"].shape[1], width=width)
    model = TRM(config, Generator())
    source["input_embedding.summary_token"] = source["input_embedding.summary_token"][0]
    model.load_state_dict({TRM_NAMES[name]: w for name, w in source.items()})
    return model


def likeness(a: Tensor, b: Tensor) -> float:
    """The correlation of two runs' logits, a mean over the puzzles."""
    both = [torch.stack(pair).flatten(1) for pair in zip(a, b, strict=True)]
    return torch.stack([pair.corrcoef()[0, 1] for pair in both]).mean().item()


@torch.no_grad()
def runs(model: TRM, tokens: Tensor) -> Tensor:
    """Logits of a supervision step, again and again with embeddings off by a millionth."""
    generator, embedding = Generator().manual_seed(0), model.token.weight.clone()
    found = []
    for _ in range(RUNS):
        noise = torch.randn(embedding.shape, generator=generator)
        model.token.weight.copy_(embedding * (1 + 1e-6 * noise))
        found.append(model(tokens).logits)
    return torch.stack(found)


@pytest.mark.parametrize("path", files("trm"), ids=lambda p: p.stem)
class TestTRM:
    def test_parameter_count(self, path: Path) -> None:
        golden = np.load(path)
        published = sum(w.numel() for n, w in trm_weights(golden).items() if "init" not in n)
        assert sum(p.numel() for p in load_trm(golden).parameters()) == published

    def test_the_published_logits_are_like_one_of_our_runs(self, path: Path) -> None:
        golden = np.load(path)
        model, tokens = load_trm(golden), torch.from_numpy(golden["tokens"])
        published, ours = torch.from_numpy(golden["logits_1"]), runs(model, tokens)
        one = np.mean([likeness(ours[i], ours.sum(0) - ours[i]) for i in range(RUNS)])
        assert likeness(published, ours.sum(0)) > one / 2

        with torch.no_grad():  # what x counts for, beside y and z
            model.token.weight.div_(model.config.width**0.5)
            model.summary.div_(model.config.width**0.5)
        assert likeness(published, runs(model, tokens).sum(0)) < one / 2
