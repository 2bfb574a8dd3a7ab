import pytest
import torch
from safetensors.torch import save_file
from torch import Generator

from attn_notes.models.trm import TRM, Config
from attn_notes.training import checkpoint

CONFIG = Config(vocabulary=5, cells=16, width=12, layers=1, multiple=4, latent_steps=1, cycles=2)


def test_weights_of_a_file_fill_a_model(tmp_path):
    first, second = (TRM(CONFIG, Generator().manual_seed(seed)) for seed in (1, 2))
    buffer = second.y_init.clone()
    path = tmp_path / "weights.safetensors"
    save_file({name: p.detach() for name, p in first.named_parameters()}, path)
    checkpoint.load_weights(second, path)
    for name, parameter in first.named_parameters():
        assert torch.equal(second.get_parameter(name), parameter), name
    assert torch.equal(second.y_init, buffer)  # is not trained


@pytest.mark.parametrize(
    ("name", "value"), [("halt.bias", None), ("more", torch.ones(1)), ("halt.bias", torch.ones(2))]
)
def test_other_weights_are_refused(tmp_path, name, value):
    model = TRM(CONFIG, Generator().manual_seed(1))
    weights = {n: p.detach() for n, p in model.named_parameters()} | {name: value}
    save_file({n: w for n, w in weights.items() if w is not None}, tmp_path / "weights.safetensors")
    with pytest.raises(RuntimeError, match=name.replace(".", r"\.")):
        checkpoint.load_weights(model, tmp_path / "weights.safetensors")
