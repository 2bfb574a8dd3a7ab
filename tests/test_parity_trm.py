"""TRM on the published program's weights and inputs returns what that program returned."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models import trm
from attn_notes.models.trm import TRM

GOLDEN = Path(os.environ.get("ATTN_NOTES_GOLDEN", Path(__file__).parent / "golden"))


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


def trm_name(theirs: str) -> str:
    """The source's name of a weight → ours."""
    for old, new in {
        "input_embedding.summary_token": "summary",
        "input_embedding.token_embedding": "token",
        "network.layers": "net",
        "mlp.": "swiglu.",
        "gate_up_proj": "gate_up",
        "down_proj": "down",
        "output_head.proj": "out",
        "q_head.proj": "halt",
    }.items():
        theirs = theirs.replace(old, new)
    return theirs


def load_trm(golden: np.lib.npyio.NpzFile) -> TRM:
    source = trm_weights(golden)
    vocabulary, width = source["input_embedding.token_embedding.weight"].shape
    config = trm.Config(vocabulary=vocabulary, cells=golden["tokens"].shape[1], width=width)
    model = TRM(config, Generator())
    source["input_embedding.summary_token"] = source["input_embedding.summary_token"][0]
    model.load_state_dict({trm_name(name): w for name, w in source.items()})
    return model


@pytest.mark.parametrize("path", files("trm"), ids=lambda p: p.stem)
class TestTRM:
    @torch.no_grad()
    def test_two_supervision_steps(self, path: Path) -> None:
        golden = np.load(path)
        model, tokens = load_trm(golden), torch.from_numpy(golden["tokens"])
        state = None
        # What float32 rounds differently passes 42 uses of the network in a step, which stretch it.
        for step, bound in ((1, 1e-4), (2, 1e-3)):
            state, logits, halt = model(tokens, state)
            for found, name in ((logits, "logits"), (halt[:, None], "q")):
                expected = torch.from_numpy(golden[f"{name}_{step}"])
                assert_close(found, expected, rtol=bound, atol=bound)
            if step == 1:
                for found, name in zip(state, ("y_1", "z_1"), strict=True):
                    sampled = found[:, ::9, ::16]
                    assert_close(sampled, torch.from_numpy(golden[name]), rtol=bound, atol=bound)

    def test_parameter_count(self, path: Path) -> None:
        model = load_trm(np.load(path))
        trained = sum(
            w.numel() for name, w in trm_weights(np.load(path)).items() if "init" not in name
        )
        assert sum(p.numel() for p in model.parameters()) == trained
