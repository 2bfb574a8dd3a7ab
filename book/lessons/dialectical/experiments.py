"""The chapter's recorded runs; their settings stand in the chapter's `recipe`."""

import base64
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Generator, Tensor

from attn_notes.analysis import leaks
from attn_notes.models.dialectical import PUBLISHED, Config, LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD, VOCABULARY, Batch
from attn_notes.training.comparison import BATCHES, held_out
from attn_notes.training.ensemble import Run, Tensors, train
from book.kit import results
from book.kit.experiments import experiment
from book.lessons.dialectical import measure, recipe
from book.lessons.dialectical.recipe import KINDS, SIZES, TASK, Setting


def kept(setting: Setting, *names: str) -> results.Record:
    """What a record says of how its models were trained."""
    return {name: getattr(setting, name) for name in ("seeds", "steps", "batch", *names)}


def curve(run: Run) -> results.Record:
    """How far above the floor each seed is at each probed step [n, m]."""
    return {
        "seconds": round(run.seconds, 1),
        "parameters": sum(p.numel() for p in run.member(0).parameters()),
        "steps": run.steps.tolist(),
        "excess": [[round(x, 4) for x in row] for row in run.history["excess"].tolist()],
    }


@torch.no_grad()
def seen(model: LanguageModel, batch: Batch) -> results.Record:
    """What one trained member does on strings that it never saw."""
    logits, observed = model.observe(batch[0])
    best = brackets.loss(TASK.ideal, batch)
    depths = measure.excess_by_depth(lambda _: logits, TASK, batch)
    tension, entropy = measure.tension_and_entropy(model, TASK, batch[0])
    return {
        "excess": round((brackets.loss(lambda _: logits, batch) - best).item(), 5),
        "mean steps": results.rounded(measure.mean_steps(observed)),
        "tension": [results.rounded(t) for t in measure.tension_by_step(observed).tolist()],
        "depth": {
            d: [results.rounded(above), results.rounded(share)]
            for d, (above, share) in depths.items()
        },
        "tension and entropy": results.rounded(measure.correlation(tension, entropy)),
    }


def held_out_strings() -> Batch:
    """What every recorded model is judged on."""
    return brackets.trim(TASK.sample(recipe.HELD_OUT, held_out()))


@experiment
def dialectical_published() -> None:
    """The published sizes, steps, batch and rate; as published and as corrected."""
    task, how = recipe.FULL_SIZE, recipe.FULL
    strings = brackets.trim(task.sample(recipe.PROBED, held_out()))
    best = brackets.loss(task.ideal, strings)
    runs = {}
    for kind, config in {"published": PUBLISHED, "corrected": Config()}.items():
        run = train(
            [LanguageModel(config, Generator().manual_seed(seed)) for seed in range(how.seeds)],
            brackets.loss,
            partial(task.sample, how.batch),
            generators=[Generator().manual_seed(BATCHES + seed) for seed in range(how.seeds)],
            steps=how.steps,
            optimizer=partial(torch.optim.AdamW, lr=how.rate(kind), fused=True),
            clip=1.0,
            probe=lambda model: {"excess": brackets.loss(model, strings) - best},
            probe_every=how.probe_every,
        )
        runs[kind] = curve(run)
    results.save("dialectical_published", kept(how, "lr"), runs)


@experiment
def dialectical_rates() -> None:
    """Every kind at three learning rates, in fewer steps: at which does it learn best?"""
    runs: results.Record = {}
    for rate in recipe.TRIED:
        found = measure.train_brackets(KINDS, TASK, replace(recipe.SWEEP, lr=rate))
        runs |= {f"{kind} {rate}": curve(run) for kind, run in found.items()}
    settings = {"rates": recipe.TRIED, **SIZES, **kept(recipe.SWEEP, "probe_every")}
    results.save("dialectical_rates", settings, runs)


@experiment
def dialectical_parts() -> None:
    """As published, as corrected, and without one part at a time, at equal cost."""
    how, batch = recipe.RECORDED, held_out_strings()
    runs = {}
    for kind, run in measure.train_brackets(KINDS, TASK, how).items():
        members = [cast(LanguageModel, run.member(i)) for i in range(how.seeds)]
        runs[kind] = curve(run) | {
            "operations": measure.operations(KINDS[kind], TASK.length),
            "head_dim": KINDS[kind].head_dim,
            "members": [seen(member, batch) for member in members],
        }
    settings = {**SIZES, **kept(how, "probe_every", "lr"), "held out": recipe.HELD_OUT}
    results.save("dialectical_parts", settings, runs)


@torch.no_grad()
def at_work(run: Run, parameters: Tensors, strings: Tensor) -> list[list[float | None]]:
    """Of each member: steps taken, and the tension where the head begins and where it ends."""
    model, found = cast(LanguageModel, run.member(0)), []
    for i in range(len(parameters["block.out.bias"])):
        model.load_state_dict({name: p[i] for name, p in parameters.items()})
        _, observed = model.observe(strings)
        tensions = measure.tension_by_step(observed)
        last = tensions[~tensions.isnan()][-1]
        values = (measure.mean_steps(observed), tensions[0].item(), last.item())
        found.append([results.rounded(v) for v in values])
    return found


@torch.no_grad()
def inside(model: LanguageModel, few: Batch) -> results.Record:
    """What one trained member reads."""
    text = brackets.encode(recipe.LEAK_TEXT)[None]
    _, observed = model.observe(few[0])
    apart = observed.attention[:, 0, 0] - observed.attention[:, 0, 1]
    alone = measure.on_prefixes(model, few[0], PAD)
    return {
        "loss": results.rounded(brackets.loss(model, few).item(), 5),
        "leak": results.rounded(leaks.future_leak(model, text, len(VOCABULARY))),
        "loss on prefixes": results.rounded(brackets.loss(lambda _: alone, few).item(), 5),
        "streams apart": results.rounded(apart.abs().max().item()),
        "first token saves": results.rounded(measure.share_saved_by_first(observed)),
    }


def halting(model: LanguageModel, batch: Batch) -> results.Record:
    """What halting saves it, by threshold, and what stopping every token alike does."""
    swept = batch[0][: recipe.SWEPT], batch[1][: recipe.SWEPT]
    found = measure.halting_tradeoff(model, TASK, swept, recipe.THRESHOLDS)
    return {
        rule: [[results.rounded(x, 5) for x in row] for row in rows] for rule, rows in found.items()
    }


def written(model: LanguageModel) -> results.Record:
    """What is wrong in its texts, by either decoder, with its logits as they are and all lower."""
    prompts = measure.open_prompts(recipe.LONGEST_PROMPT)
    writers = {
        "as trained": measure.remembered(model),
        "logits lower by 30": measure.lowered(model),
    }
    return {
        name: {str(b): measure.written_faults(writer, prompts, b) for b in recipe.BUDGETS}
        for name, writer in writers.items()
    }


def untrained(config: Config, few: Batch) -> results.Record:
    """What shows before any training: whether the keys are read, and the tension."""
    model = LanguageModel(config, Generator().manual_seed(0))
    brackets.loss(model, few).backward()
    keys = cast(Tensor, model.block.head.qkv.weight.grad).chunk(3)[1]
    with torch.no_grad():
        tension = measure.tension_by_step(model.observe(few[0])[1])[0]
    return {"gradient of the keys": keys.abs().max().item(), "tension": tension.item()}


def packed(parameters: Tensors) -> results.Record:
    """Parameters as text: float32, in the order of their names."""
    numbers = torch.cat([p.detach().flatten() for _, p in sorted(parameters.items())])
    return {"float32": base64.b64encode(numbers.numpy().tobytes()).decode()}


@experiment
def dialectical_inside() -> None:
    """Heads watched while they learn, what they read and where they halt, and one of each kind."""
    how, batch = recipe.WATCHED, held_out_strings()
    few = brackets.trim(TASK.sample(recipe.PROBED, held_out()))
    runs = {}
    for kind in recipe.INSIDE:
        snapshots: list[Tensors] = []

        def keep(_kind: str, _step: int, p: Tensors, kept: list[Tensors] = snapshots) -> None:
            kept.append({name: value.detach().clone() for name, value in p.items()})

        run = measure.train_brackets({kind: KINDS[kind]}, TASK, how, watch=keep)[kind]
        members = [cast(LanguageModel, run.member(i)) for i in range(how.seeds)]
        runs[kind] = curve(run) | {
            "at work": [at_work(run, parameters, few[0]) for parameters in snapshots],
            "best": results.rounded(brackets.loss(TASK.ideal, few).item(), 5),
            "untrained": untrained(KINDS[kind], few),
            "members": [inside(member, few) for member in members],
            "written": [written(member) for member in members[: recipe.WRITERS]],
            "weights": packed(dict(members[0].named_parameters())),
        }
        if kind == "corrected":
            runs[kind]["halting"] = [halting(member, batch) for member in members]
    settings = kept(how, "probe_every", "lr") | {"swept": recipe.SWEPT, "text": recipe.LEAK_TEXT}
    results.save("dialectical_inside", SIZES | settings, runs)
