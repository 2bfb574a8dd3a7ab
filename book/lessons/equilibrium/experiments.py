"""The chapter's recorded runs."""

import math
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from torch import Generator, Tensor

from attn_notes.models.equilibrium import CORRECTIONS, LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text, tiny_shakespeare
from attn_notes.training.ensemble import Run
from book.kit import results
from book.kit.experiments import experiment
from book.lessons.equilibrium import estimators, evidence, lesson, measure, probes, recipe
from book.lessons.equilibrium.estimators import EXACT, Estimator, Nudged


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


def counted(text: Text) -> results.Record:
    """What counting loses on the pieces of the curves, and on those that ends are judged by."""
    pieces = {"probed": recipe.PROBED, "judged": recipe.JUDGED}
    return {
        part: {
            name: results.rounded(measure.count_loss(text, order, recipe.LENGTH, most), 5)
            for name, order in recipe.ORDERS.items()
        }
        for part, most in pieces.items()
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
            "members": [seen(member, text, recipe.ESTIMATORS[kind]) for member in members],
            "text": measure.written(members[0], text),
        }
    sizes = {"length": recipe.LENGTH, "validation pieces": recipe.JUDGED}
    of_text = {"characters": len(text.content), "counted": counted(text)}
    results.save("equilibrium_training", sizes | how | of_text, runs)
    # The trained model that is looked into: AEP's first seed. What it is not taught, its embedding,
    # the seed draws again.
    weights = trained["AEP"].member(0).named_parameters()
    packed = {name: p.detach().cpu().numpy().astype(np.float16) for name, p in weights}
    np.savez_compressed(results.path("equilibrium_trained.npz"), **packed)  # type: ignore[arg-type]


@experiment
def equilibrium_page() -> None:
    """What a reader trains in the page, trained here: by each of its ways, from the same seeds."""
    text = lesson.easier(Text.read(FALLBACK))
    ways = {name: recipe.ESTIMATORS[kind] for name, kind in recipe.IN_PAGE_WAYS.items()}
    how: dict[str, Any] = {"seeds": recipe.SEEDS, "steps": recipe.IN_PAGE_STEPS}
    how |= {"batch": recipe.BATCH, "lr": recipe.IN_PAGE_RATE}
    trained = measure.train_estimators(recipe.IN_PAGE, text, ways, **how)
    ends = {name: digits(run.history["loss"][-1], 6) for name, run in trained.items()}
    yardsticks = lesson.settings(text)["yardsticks"]
    results.save("equilibrium_page", how | {"yardsticks": yardsticks}, ends)


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
            cosines = {
                name: [results.rounded(of(gradient, true), 10) for gradient, _ in found.values()]
                for name, of in (("cosine", measure.cosine), ("whole", measure.cosine_of_whole))
            }
            lengths = [float(f"{size / whole:.4g}") for _, size in found.values()]
            runs[correction].append(cosines | {"length": lengths})
        for name, each, exact in (("beta", model, true), ("precision", single, true.float())):
            nudges = [Nudged("full", beta, recipe.AT_NUDGE) for beta in recipe.NUDGES]
            found_by = [measure.attention_gradient(each, sequences, nudge) for nudge in nudges]
            errors = [measure.relative_error(gradient, exact) for gradient in found_by]
            runs[name].append([float(f"{error:.4g}") for error in errors])
    how = {"seeds": recipe.GRADIENT_SEEDS, "batch": batch, "length": length, "steps": steps}
    how |= {"betas": recipe.NUDGES, "step": recipe.GRADIENT_STEP}
    results.save("equilibrium_gradients", how, runs)


@experiment
def equilibrium_limit() -> None:
    """At the published sizes: the share of AEP's force that the limit lets through, by T2."""
    text, steps = Text.read(FALLBACK), recipe.GRADIENT_STEPS
    relaxation = Relaxation(max(steps), recipe.GRADIENT_STEP)
    nudged, runs = Nudged("clipped", recipe.GRADIENT_BETA, relaxation), []
    for seed in range(recipe.GRADIENT_SEEDS):
        model = LanguageModel(recipe.published(text), Generator().manual_seed(seed)).double()
        batch = text.sample(
            recipe.PUBLISHED_BATCH, recipe.PUBLISHED_LENGTH, Generator().manual_seed(seed)
        )
        shares = measure.let_through(model, batch, nudged)
        runs.append(digits([shares[step - 1] for step in steps]))
    how = {"seeds": recipe.GRADIENT_SEEDS, "steps": steps, "step": recipe.GRADIENT_STEP}
    results.save("equilibrium_limit", how, {"shares": runs})


def digits(value: Any, keep: int = 4) -> Any:
    """A number, or all in a list or a record, in so many digits; None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): digits(each, keep) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [digits(each, keep) for each in value]
    if isinstance(value, Tensor):
        return digits(value.tolist(), keep)
    if isinstance(value, float):
        return float(f"{value:.{keep}g}") if math.isfinite(value) else None
    return value


@experiment
def equilibrium_rates() -> None:
    """How the recorded trained model's gradient errs, and where its credit goes."""
    text = tiny_shakespeare()
    pieces = measure.spread(text.held_out(recipe.LENGTH), 2)
    short = text.held_out(recipe.SHORT)[recipe.CREDIT_PIECE]
    settings = {"characters": text.characters, "pieces": pieces.tolist(), "short": short.tolist()}
    results.save("equilibrium_rates", settings, {})  # for what reads the model
    model, characters = evidence.trained()
    found = asdict(probes.rates(model, pieces))
    credit = probes.credit(model, short, characters)
    runs = {
        "rates": digits(found, 6),
        "credit": {"letters": credit.letters, "maps": digits(credit.maps)},
    }
    results.save("equilibrium_rates", settings, runs)


@experiment
def equilibrium_rest() -> None:
    """Where the block comes to rest, and where it does not: the spectrum, and what is left."""
    text = Text.read(FALLBACK)  # which a test has at hand
    spectrum = probes.spectrum(text)
    runs = {
        "spectrum": {
            "free": digits([spectrum.free.real, spectrum.free.imag]),
            "symmetric": digits(spectrum.symmetric),
            "antisymmetric": digits(spectrum.antisymmetric),
        },
        "rests": [digits(asdict(each)) for each in probes.rests(text)],
        "scaled": digits(asdict(probes.scaled(text))),
        "settling": digits(dict(probes.settling(text).left)),
    }
    results.save("equilibrium_rest", {"characters": len(text.content)}, runs)


@experiment
def equilibrium_costs() -> None:
    """What one gradient takes and holds, by each way to it, side by side."""
    text = Text.read(FALLBACK)
    runs = {
        "costs": digits(asdict(probes.costs(text))),
        "memory": digits(asdict(probes.memory(text))),
    }
    settings = {"batch": recipe.PUBLISHED_BATCH, "length": recipe.PUBLISHED_LENGTH, "threads": 1}
    results.save("equilibrium_costs", settings, runs)
