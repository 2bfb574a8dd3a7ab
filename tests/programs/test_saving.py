"""What a program writes into a folder, what it refuses to write, and how it is told in a line."""

import json
from base64 import b64decode

import numpy as np
import pytest
import torch
from torch import Generator, nn

from attn_notes import programs
from attn_notes.programs import initial, source, training


def build(generator):
    layer = nn.Linear(3, 2, bias=False)
    nn.init.kaiming_uniform_(layer.weight, generator=generator)
    return layer


def loss(model, batch):
    return (model(batch["x"]) - batch["y"]).square().mean()


BATCH, MODEL = {"x": torch.ones(5, 3), "y": torch.zeros(5, 2)}, build(Generator().manual_seed(1))
INPUTS = training.inputs(MODEL, BATCH)
HOW = dict(rate=0.1, steps=10)


@pytest.fixture(scope="module")
def program():
    return training.step(MODEL, loss, BATCH)


def test_a_folder_has_the_program_its_numbers_and_what_goes_around_it(program, tmp_path):
    """The numbers as they are, and the page all of it once more."""
    more = [training.named(BATCH), training.named({"x": BATCH["x"] / 3, "y": BATCH["y"]})]
    draws = initial.draws(build) | {"another": {"draw": "constant"}}
    page = program.save(tmp_path / "a" / "b", INPUTS, batches=more, draws=draws, **HOW)
    folder = page.parent
    assert (folder / "step.js").read_text("utf-8") == program.module
    kept = json.loads((folder / "weights.json").read_text("utf-8"))
    assert kept.keys() == program.inputs.keys()
    for name, tensor in INPUTS.items():
        numbers = np.frombuffer(b64decode(kept[name]["base64"]), "<f4")
        assert np.array_equal(numbers.reshape(kept[name]["shape"]), tensor.detach().numpy())
    setup = json.loads((folder / "setup.json").read_text("utf-8"))
    assert setup["draws"].keys() == {"weight"} and setup["trained"] == ["weight"]
    third = np.frombuffer(b64decode(setup["batches"][1]["batch.x"]["base64"]), "<f4")
    assert np.array_equal(third, np.full(15, 1, "f4") / np.float32(3))
    (saved,) = (line for line in page.read_text("utf-8").splitlines() if 'id="saved"' in line)
    within = json.loads(saved.partition(">")[2].removesuffix("</script>"))
    assert within == {"program": program.module, "weights": kept, "setup": setup}
    for name in ("program.js", "vectors.js", "trainer.js"):
        assert (folder / name).read_text("utf-8") == (source.HERE / name).read_text("utf-8")


def test_double_keeps_every_digit(program, tmp_path):
    inputs = INPUTS | {"weight": torch.full((2, 3), 1 / 3, dtype=torch.float64)}
    program.save(tmp_path, inputs, double=True, **HOW)
    kept = json.loads((tmp_path / "weights.json").read_text("utf-8"))["weight"]["base64"]
    assert set(np.frombuffer(b64decode(kept), "<f8").tolist()) == {1 / 3}


def test_what_has_nothing_to_train_has_no_page(program, tmp_path):
    """Nor has what does not fit: nothing is written."""
    with pytest.raises(ValueError, match="batch 1: batch"):
        program.save(tmp_path / "none", INPUTS, batches=[training.named(BATCH), {}], **HOW)
    assert not (tmp_path / "none").exists()
    x = {"x": torch.ones(2)}
    doubling = programs.export(lambda t: {"y": 2 * t["x"]}, x)
    with pytest.raises(ValueError, match="gradients and a loss"):
        doubling.save(tmp_path, x, **HOW)


def test_a_program_is_told_in_a_line(program):
    """With its sizes, and without its text."""
    five = {c: torch.ones(2) for c in "abcde"}
    wide = programs.export(lambda t: {"sum": sum(t.values(), torch.zeros(2))}, five)
    assert repr(program).startswith(
        "Program(weight [2, 3], batch.x [5, 3], batch.y [5, 2] → gradient.weight [2, 3], loss []; "
    )
    assert f"{program.size:,} numbers; {len(program.module):,} characters)" in repr(program)
    assert repr(wide).startswith("Program(a [2], b [2], c [2], and 2 more → sum [2]; ")
