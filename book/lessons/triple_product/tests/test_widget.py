"""The Python side of the explorer, besides what `test_each.py` asks of every widget."""

import pytest
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.triple_product import AttentionOnly, Config
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product.widget import TripleProductExplorer

TASK = Copying(vocabulary=5, length=13, periods=(3, 7))
SIZES = Config(score="angle", vocabulary=5, width=22, heads=3, head_dim=2, layers=2, residual=True)
PARAMETERS = stack_module_state([AttentionOnly(SIZES, Generator().manual_seed(1))])[0]


def test_a_text_comes_with_the_first_model():
    explorer = TripleProductExplorer()
    explorer.load(" one ", PARAMETERS, SIZES, TASK)
    text = explorer.text
    assert len(text) == 13 and any(text[p:] == text[:-p] for p in TASK.periods)
    explorer.text = "ABCDE"
    explorer.load("two", PARAMETERS, SIZES, TASK)
    assert explorer.text == "abcde"  # what was typed stays


REFUSED = [
    (Config("line", vocabulary=5), TASK, "shows dot, volume and angle, not line"),
    (Config(vocabulary=27), TASK, "so not 27 of them"),
    (SIZES, Copying(7, 13, (3,)), "the task has 7 tokens and the network 5"),
    (SIZES, Copying(5, 41, (3,)), "sequences of 40 tokens can be shown, not of 41"),
]


@pytest.mark.parametrize(("config", "task", "sentence"), REFUSED)
def test_a_model_that_cannot_be_shown_is_refused(config, task, sentence):
    explorer = TripleProductExplorer()
    with pytest.raises(ValueError, match=sentence):
        explorer.load("one", PARAMETERS, config, task)
    with pytest.raises(ValueError, match=sentence):
        explorer.teach(config, (TASK, task), rate=0.1, steps=1, batch=1, warmup=1, copied=0.9)
    assert not explorer.runs and not explorer.lessons
