"""Chapter 4's recorded runs."""

from typing import Any, cast

from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.equilibrium import estimators, measure, recipe
from attn_notes.chapters.equilibrium.estimators import EXACT, Estimator, Nudged
from attn_notes.models.equilibrium import CORRECTIONS, LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text, tiny_shakespeare
from attn_notes.training.ensemble import Run
from experiments import experiment


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
    pieces = text.held_out(recipe.LENGTH)
    batch = measure.spread(pieces, 16)
    cosine = 0.0  # of no gradient at all
    if estimator is not estimators.frozen:
        found = measure.attention_gradient(model, batch, estimator)
        cosine = measure.cosine(found, measure.attention_gradient(model, batch, EXACT))
    return {
        "loss": results.rounded(
            measure.losses(model, measure.spread(pieces, recipe.JUDGED)).mean().item(), 5
        ),
        "cosine": results.rounded(cosine, 6),
        "weights": [results.rounded(p.norm().item()) for p in model.block.parameters()],
    }


def settings(seeds: int) -> dict[str, Any]:
    """What `measure.train_estimators` is told, and the record tells."""
    return {
        "seeds": seeds,
        "steps": recipe.STEPS,
        "batch": recipe.BATCH,
        "lr": recipe.RATE,
        "probe_every": recipe.PROBE_EVERY,
    }


@experiment
def equilibrium_training() -> None:
    """Every estimator, at an equal number of steps, all under the governor."""
    text, how = tiny_shakespeare(), settings(recipe.SEEDS)
    trained = measure.train_estimators(recipe.corrected(text), text, recipe.ESTIMATORS, **how)
    runs = {}
    for kind, run in trained.items():
        members = [cast(LanguageModel, run.member(i)) for i in range(recipe.SEEDS)]
        runs[kind] = curve(run) | {
            "members": [seen(member, text, recipe.ESTIMATORS[kind]) for member in members]
        }
    sizes = {"length": recipe.LENGTH, "validation pieces": recipe.JUDGED}
    results.save("equilibrium_training", sizes | how, runs)


@experiment
def equilibrium_ungoverned() -> None:
    """Nothing holds the weights back: with the damping as corrected, and as published."""
    text, how, runs = tiny_shakespeare(), settings(recipe.UNGOVERNED_SEEDS), {}
    for damping in recipe.DAMPINGS:
        config = recipe.damped(recipe.corrected(text), damping)
        for kind in recipe.UNGOVERNED:
            estimator = {kind: recipe.stepped(kind, damping)}
            found = measure.train_estimators(config, text, estimator, governor=None, **how)
            runs[f"{kind}, c = {damping:g}"] = curve(found[kind])
    results.save("equilibrium_ungoverned", {"length": recipe.LENGTH, **how}, runs)


@experiment
def equilibrium_gradients() -> None:
    """At the published sizes: the cosine to the exact gradient, by T2, by β and by precision."""
    text = Text.read(FALLBACK)  # which is at hand without a network, for a test to repeat it
    steps, config = recipe.GRADIENT_STEPS, recipe.published(text)
    batch, length = recipe.PUBLISHED_BATCH, recipe.PUBLISHED_LENGTH
    runs: results.Record = {c: [] for c in CORRECTIONS} | {"beta": [], "precision": []}
    for seed in range(recipe.GRADIENT_SEEDS):
        single = LanguageModel(config, Generator().manual_seed(seed))
        model = LanguageModel(config, Generator().manual_seed(seed)).double()
        sequences = text.sample(batch, length, Generator().manual_seed(seed))
        true, whole = measure.gradients_by_steps(model, sequences, EXACT, [60])[60]
        for correction in CORRECTIONS:
            relaxation = Relaxation(max(steps), recipe.GRADIENT_STEP)
            nudged = Nudged(correction, recipe.GRADIENT_BETA, relaxation)
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
        for name, each, exact in (("beta", model, true), ("precision", single, true.float())):
            nudges = [Nudged("full", beta, recipe.AT_NUDGE) for beta in recipe.NUDGES]
            found_by = [measure.attention_gradient(each, sequences, nudge) for nudge in nudges]
            errors = [measure.relative_error(gradient, exact) for gradient in found_by]
            runs[name].append([float(f"{error:.4g}") for error in errors])
    how = {"seeds": recipe.GRADIENT_SEEDS, "batch": batch, "length": length, "steps": steps}
    how |= {"betas": recipe.NUDGES, "step": recipe.GRADIENT_STEP}
    results.save("equilibrium_gradients", how, runs)
