"""The trained weights that come with the package: each does what its chapter asks of a model."""

import pytest
import torch
from torch import Generator, nn

from attn_notes.analysis import pretrained
from attn_notes.models import deep_qkv
from attn_notes.models.trm import TRM
from attn_notes.tasks import brackets, sorting
from attn_notes.tasks.prediction import token_losses
from attn_notes.tasks.text import FALLBACK, Text
from book.experiments import weights
from book.lessons.dialectical import recipe as heads
from book.lessons.equilibrium import recipe as settled
from book.lessons.triple_product import recipe as copiers
from book.lessons.trm import measure as thinking
from book.lessons.trm import recipe as thinkers


def test_there_is_one_for_each_chapter():
    kinds = {pretrained.about(name)["model"] for name in pretrained.names()}
    assert kinds == {*pretrained.MODELS}


@torch.no_grad()
def test_the_sorter_sorts_all_words():
    words = sorting.all_sequences()
    assert sorting.is_sorted(pretrained.load("deep-qkv")(words[:, :-1]), words).all()


@torch.no_grad()
def test_the_copier_copies():
    x = copiers.FIXED.sample(64, Generator().manual_seed(0))
    assert copiers.FIXED.probe(pretrained.load("triple-product"), x)["accuracy"] > 0.98


@torch.no_grad()
def test_the_brackets_come_near_the_best_predictor_without_reading_ahead():
    task, model = heads.TASK, pretrained.load("dialectical")
    x, y = task.sample(256, Generator().manual_seed(0))
    assert brackets.loss(model, (x, y)) - brackets.loss(task.ideal, (x, y)) < heads.NEAR_IN_PAGE
    other = torch.cat([x[:, :-1], (x[:, -1:] + 1) % heads.MENDED.vocabulary], 1)
    torch.testing.assert_close(model(other)[:, :-1], model(x)[:, :-1])


@torch.no_grad()
def test_the_language_model_does_better_than_single_characters():
    """On text that it learned from or not, as the excerpt may be: a bound, not a measurement."""
    model = pretrained.load("equilibrium")
    characters = pretrained.about("equilibrium")["characters"]
    assert len(characters) == model.config.vocabulary
    piece = Text.read(FALLBACK).content[1000 : 1000 + 64 * (settled.LENGTH + 1)]
    ids = torch.tensor([characters.index(c) for c in piece]).view(64, -1)
    loss = token_losses(model(ids[:, :-1]), ids).mean()
    shares = torch.bincount(ids.flatten()) / ids.numel()
    assert loss < -(shares * shares.clamp(min=1e-9).log()).sum() - 0.5


@pytest.mark.long
@pytest.mark.slow
@torch.no_grad()
def test_the_thinker_solves_most_minimal_puzzles():
    model = pretrained.load("trm-6x6")
    batch = thinkers.probed(thinkers.FRESH["minimal"].sample())
    assert thinking.solve(model, batch, thinkers.TRAINED).right[-1].float().mean() > 0.6


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"no trained model 'gpt'.* there are: deep-qkv"):
        pretrained.load("gpt")
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there are: none"):
        pretrained.about("../results/deep-qkv")


def test_what_is_saved_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path / "new"))
    config = deep_qkv.Config("strict", temperature=0.5)
    model = deep_qkv.Sorter(config, Generator().manual_seed(3))
    weights.write("mine", model, config, trained="not at all")
    tokens = sorting.all_sequences()[:, :-1]
    assert pretrained.load("mine")(tokens).equal(model(tokens))
    thinker = TRM(thinkers.LIVE.config, Generator().manual_seed(5))  # what it starts from is drawn
    weights.write("thinker", thinker, thinkers.LIVE.config)
    again = pretrained.load("thinker").state_dict()
    assert all(torch.equal(again[name], kept) for name, kept in thinker.state_dict().items())
    assert pretrained.about("mine")["trained"] == "not at all"
    with pytest.raises(ValueError, match="Linear is none of Sorter, "):
        weights.write("mine", nn.Linear(2, 2), config)
