"""Chapter 4's recorded runs."""

from dataclasses import replace
from typing import Any, cast

from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.equilibrium import estimators, measure
from attn_notes.chapters.equilibrium.estimators import EXACT, Estimator, Implicit, Nudged
from attn_notes.models import equilibrium
from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text, tiny_shakespeare
from attn_notes.training.ensemble import Run
from experiments import experiment

LENGTH = 32
ESTIMATORS: dict[str, Estimator] = {
    "BPTT": estimators.bptt,
    "exact": Implicit(Relaxation(16, 0.25)),
    "AEP": estimators.AEP,
    "AEP, clipped": replace(estimators.AEP, correction="clipped"),
    "naive EP": replace(estimators.AEP, correction="none"),
    "frozen": estimators.frozen,
}
TRAINING: dict[str, Any] = dict(batch=16, lr=2e-3, probe_every=50)


def sizes(text: Text) -> equilibrium.Config:
    """The corrected block for pieces of this text."""
    return replace(equilibrium.CORRECTED, context=LENGTH, vocabulary=len(text.characters))


def curve(run: Run) -> results.Record:
    """Loss and what is left of the force, of each seed at each probed step [n, m]."""
    return {
        "seconds": round(run.seconds, 1),
        "parameters": sum(p.numel() for p in run.member(0).parameters()),
        "steps": run.steps.tolist(),
        "loss": [[results.rounded(x) for x in row] for row in run.history["loss"].tolist()],
        "left": [[results.rounded(x, 8) for x in row] for row in run.history["left"].tolist()],
    }


def seen(model: LanguageModel, text: Text, estimator: Estimator) -> results.Record:
    """What one trained member does on text that it never saw."""
    pieces = text.held_out(LENGTH)
    batch = measure.spread(pieces, 16)
    cosine = 0.0  # of no gradient at all
    if estimator is not estimators.frozen:
        found = measure.attention_gradient(model, batch, estimator)
        cosine = measure.cosine(found, measure.attention_gradient(model, batch, EXACT))
    return {
        "loss": results.rounded(
            measure.losses(model, measure.spread(pieces, 1024)).mean().item(), 5
        ),
        "cosine": results.rounded(cosine, 6),
        "weights": [results.rounded(p.norm().item()) for p in model.block.parameters()],
    }


@experiment
def equilibrium_training() -> None:
    """Every estimator, at an equal number of steps, all under the governor."""
    text = tiny_shakespeare()
    settings: dict[str, Any] = dict(seeds=4, steps=400, **TRAINING)
    runs = {}
    for kind, run in measure.train_estimators(sizes(text), text, ESTIMATORS, **settings).items():
        members = [cast(LanguageModel, run.member(i)) for i in range(settings["seeds"])]
        runs[kind] = curve(run) | {
            "members": [seen(member, text, ESTIMATORS[kind]) for member in members]
        }
    results.save(
        "equilibrium_training", {"length": LENGTH, "validation pieces": 1024, **settings}, runs
    )


@experiment
def equilibrium_ungoverned() -> None:
    """Nothing holds the weights back: with the damping as corrected, and as published."""
    text = tiny_shakespeare()
    settings: dict[str, Any] = dict(seeds=3, steps=400, **TRAINING)
    corrected, runs = sizes(text), {}
    for damping in (corrected.damping, equilibrium.Config().damping):
        step = 1 / (1 + damping)
        config = replace(corrected, damping=damping, relaxation=Relaxation(16, step))
        for kind in ("BPTT", "AEP", "AEP, clipped", "naive EP"):
            estimator = ESTIMATORS[kind]
            if isinstance(estimator, Nudged):
                estimator = replace(estimator, relaxation=replace(estimator.relaxation, step=step))
            found = measure.train_estimators(
                config, text, {kind: estimator}, governor=None, **settings
            )
            runs[f"{kind}, c = {damping:g}"] = curve(found[kind])
    results.save("equilibrium_ungoverned", {"length": LENGTH, **settings}, runs)


@experiment
def equilibrium_gradients() -> None:
    """At the published sizes: the cosine to the exact gradient, by T2, by β and by precision."""
    text = Text.read(FALLBACK)  # which is at hand without a network, for a test to repeat it
    steps = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)
    betas = (2e-4, 2e-3, 2e-2, 2e-1, 2.0, 20.0, 200.0, 2000.0)
    seeds, batch, length, step = 5, 16, 64, 0.1
    runs: results.Record = {c: [] for c in equilibrium.CORRECTIONS} | {"beta": [], "precision": []}
    for seed in range(seeds):
        config = equilibrium.Config(vocabulary=len(text.characters))
        single = LanguageModel(config, Generator().manual_seed(seed))
        model = LanguageModel(config, Generator().manual_seed(seed)).double()
        sequences = text.sample(batch, length, Generator().manual_seed(seed))
        true, whole = measure.gradients_by_steps(model, sequences, EXACT, [60])[60]
        for correction in equilibrium.CORRECTIONS:
            nudged = Nudged(correction, 0.02, Relaxation(max(steps), step))
            found = measure.gradients_by_steps(model, sequences, nudged, steps)
            runs[correction].append(
                {
                    "cosine": [
                        results.rounded(measure.cosine(gradient, true), 10)
                        for gradient, _ in found.values()
                    ],
                    "length": [float(f"{size / whole:.4g}") for _, size in found.values()],
                }
            )
        settled = Relaxation(40, 0.5)
        for name, each, exact in (("double", model, true), ("single", single, true.float())):
            errors = [
                measure.relative_error(
                    measure.attention_gradient(each, sequences, Nudged("full", beta, settled)),
                    exact,
                )
                for beta in betas
            ]
            runs["beta" if name == "double" else "precision"].append(
                [float(f"{error:.4g}") for error in errors]
            )
    settings = {"seeds": seeds, "batch": batch, "length": length, "steps": steps, "betas": betas}
    results.save("equilibrium_gradients", settings | {"step": step}, runs)
