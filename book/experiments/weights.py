"""The trained weights that come with the package, a model a chapter: see `analysis.pretrained`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn

from attn_notes.analysis import pretrained
from attn_notes.models.deep_qkv import Config
from attn_notes.tasks.text import tiny_shakespeare
from attn_notes.training import checkpoint
from book.kit.experiments import Experiment, experiment
from book.lessons.deep_qkv import recipe as sorters
from book.lessons.dialectical import measure as heads_measured
from book.lessons.dialectical import recipe as heads
from book.lessons.equilibrium import estimators
from book.lessons.equilibrium import measure as settling
from book.lessons.equilibrium import recipe as settled
from book.lessons.triple_product import measure as copied
from book.lessons.triple_product import recipe as copiers
from book.lessons.trm import measure as thinking
from book.lessons.trm import recipe as thinkers


def save(made_by: Experiment, name: str, model: nn.Module, config: Any, **said: Any) -> None:
    """Write a trained model, and which experiment made it."""
    write(name, model, config, made_by=made_by.__name__, **said)


def write(name: str, model: nn.Module, config: Any, **said: Any) -> Path:
    """Write a model's parameters, with what is to be known of them, for `pretrained.load` to read.

    Raises:
        ValueError: a model that is none of `pretrained.MODELS`.
    """
    kinds = [kind for kind, (made, _) in pretrained.MODELS.items() if type(model) is made]
    if not kinds:
        raise ValueError(f"{type(model).__name__} is none of {', '.join(pretrained.MODELS)}")
    path = pretrained.folder() / f"{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {"model": kinds[0], "config": asdict(config), **said}
    checkpoint.save_weights(model, path, {key: json.dumps(value) for key, value in known.items()})
    return path


@experiment
def weights_deep_qkv() -> None:
    """The first gated sorter that sorts everything."""
    run = sorters.train_kind("gated")
    solved = run.history["solved"][-1].tolist()
    seed = solved.index(sorters.SOLVED)
    trained = f"all 27 inputs, {sorters.LIVE.steps} steps, seed {seed}"
    save(weights_deep_qkv, "deep-qkv", run.member(seed), Config("gated"), trained=trained)


@experiment
def weights_triple_product() -> None:
    """Attention by angle, one layer, one period."""
    kind = {"angle": copiers.ONE_OF_EACH["angle"]}
    run = copied.train_comparison(kind, copiers.FIXED, **copiers.ONE)["angle"]
    trained = f"copying at period {copiers.HALF}, {copiers.ONE['steps']} steps, seed 0"
    save(weights_triple_product, "triple-product", run.member(0), kind["angle"], trained=trained)


@experiment
def weights_dialectical() -> None:
    """The dialectical head, its mask mended."""
    kind = {"mask mended": heads.MENDED}
    run = heads_measured.train_brackets(kind, heads.TASK, heads.LIVE)["mask mended"]
    trained = f"brackets of at most {heads.TASK.max_length} characters, {heads.LIVE.steps} steps"
    save(weights_dialectical, "dialectical", run.member(0), heads.MENDED, trained=trained)


@experiment
def weights_equilibrium() -> None:
    """A language model trained by AEP on Tiny Shakespeare."""
    text = tiny_shakespeare()
    config = settled.corrected(text)
    run = settling.train_estimators(
        config,
        text,
        {"AEP": estimators.AEP},
        seeds=1,
        steps=settled.STEPS,
        batch=settled.BATCH,
        lr=settled.RATE,
    )["AEP"]
    trained = f"Tiny Shakespeare, {settled.STEPS} steps of AEP, seed 0"
    save(
        weights_equilibrium,
        "equilibrium",
        run.member(0).half(),  # half the size
        config,
        trained=trained,
        characters=text.characters,
    )


@experiment
def weights_trm() -> None:
    """TRM's network for boards of 6 × 6, its averaged weights."""
    run, _ = thinking.learn(
        thinkers.LIVE,
        thinkers.TASK,
        thinkers.BANK.sample(),
        seed=thinkers.SEED,
        probe=lambda model: {},
        probe_every=thinkers.LIVE.steps,
    )
    trained = f"mixed Sudokus of 2 × 3 boxes, {thinkers.LIVE.steps} steps, seed {thinkers.SEED}"
    save(weights_trm, "trm-6x6", run.judged, thinkers.LIVE.config, trained=trained)
