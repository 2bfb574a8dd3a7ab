"""What the pages and figures of the chapter say of recorded runs, held against the records."""

import math
import re
from itertools import pairwise

import pytest
import torch

from attn_notes.analysis import statistics
from attn_notes.analysis.words import median, number, signed, span
from attn_notes.chapters.equilibrium import claims, estimators, evidence, figures, measure, recipe
from attn_notes.chapters.equilibrium.claims import RECORDED, at_most
from attn_notes.chapters.equilibrium.probes import NOT_AEP, QUICKEST

from ...says import COUNT, Page, Told, titled

LESSON = Page("equilibrium")
EVIDENCE = Page("evidence/equilibrium")
TEACHING = Page("teaching/equilibrium")

TRAINING, FREE = evidence.training(), evidence.ungoverned()
GRADIENTS, RATES, CREDIT = evidence.gradients(), evidence.rates(), evidence.credit()
RESTS, COSTS, MEMORY = evidence.rests(), evidence.costs(), evidence.memory()
EVERY = claims.found(TRAINING, FREE, GRADIENTS, RATES, RESTS, MEMORY, COSTS)

ENDS, COUNTED, LENGTHS = TRAINING.ends, TRAINING.counted, GRADIENTS.lengths
FIVES = f"{COUNTED['fives']:.2f}"


told = Told(lambda: EVERY, RECORDED)
PUBLISHED, NAIVE_OFF = told("As published"), told("Naive equilibrium propagation's")
MORE, WHOLE = told("More nudged steps"), told("Without the clip")
ORDERS, EVENLY = told("Its error"), told("After the first")
DAMPED, TESTED = told("Damping, c > 0"), told("The published test")
AS_BPTT, AS_FREE = told("Trained by"), told("The same where")
AS_PUBLISHED = told("The same with")
TAUGHT, CLIP = told("AEP teaches"), told("The clip costs")
NAIVE = told("Naive equilibrium propagation teaches")
PAIRS, FLAT = told("AEP ends below"), told("AEP's memory")
QUICK, QUICKEST_IS_AEP = told("A gradient at least"), told("AEP is the quickest")


def all_fall(correction: str, *steps: int) -> bool:
    """Whether the cosines of all seeds fall, the mean of four and that of the whole."""
    return all(
        bool((of(correction, later) < of(correction, sooner)).all())
        for of in (GRADIENTS.at, GRADIENTS.whole)
        for sooner, later in pairwise(steps)
    )


# The lesson


def test_where_the_naive_credit_goes() -> None:
    """In every prediction, and in the one that is drawn: none to letters before, some to later."""
    later = CREDIT.maps["naive EP"].triu(1)[:-1].sum(1)
    before = CREDIT.maps["naive EP"].tril(-1).max()
    true = CREDIT.maps["exact"]
    none = before < 1e-6 and true.triu(1).max() < 1e-6
    so = bool(none and (later > 0).all() and (true.tril(-1)[1:].sum(1) > 0).all())
    titled(
        figures.one_prediction(CREDIT),
        "The naive way gives credit to letters that come later",
        where=so,
    )
    titled(figures.credit(CREDIT), "The naive method sends credit to the future", where=so)
    LESSON.says("The grey letters come too late to have had a part in the answer", where=so)
    LESSON.says(
        "what attention should have fetched from earlier letters gets no credit at all",
        failed=[NAIVE],
        where=so,
    )
    shares = CREDIT.shares["naive EP"]
    TEACHING.says(
        "most of its credit goes to the predicting state itself",
        failed=[NAIVE],
        where=so and shares[1] > 0.5,
    )
    TEACHING.says("The one with credit to the right of the diagonal", where=so)
    aep = CREDIT.maps["AEP"]
    same = bool((aep - true).abs().max() < 0.01 * true.max())
    LESSON.says("One more force mends this, exactly", held=[WHOLE, ORDERS], where=same)


def test_what_the_theorem_says_of_the_error() -> None:
    titled(
        figures.rates(RATES),
        "AEP's error falls as the theorem says: with β, and with β²",
        held=[ORDERS],
    )
    LESSON.says("each step leaves the same share of it, $\\rho$", held=[EVENLY])
    naive = torch.tensor(RATES.by_steps["naive EP"])
    LESSON.says(
        "The naive gradient has no slope to the right: it settles as well, but on something else.",
        held=[NAIVE_OFF],
        where=bool(naive.min() > 0.9 and naive[-5:].std() < 1e-6),
    )
    published = RATES.by_steps["AEP, clipped"]
    LESSON.says(
        "The clipped one, on this trained model, is worst after 12 steps",
        where=RATES.steps[published.index(max(published))] == 12,
    )
    LESSON.says("how the error falls does", held=[ORDERS, EVENLY], failed=[MORE])
    clipped = RATES.by_steps["AEP, clipped"]
    EVIDENCE.says(
        "A method that solves another equation has a floor under its error, and no slope: so the "
        "naive one. The clipped one errs tenfold on the way, and at 40 steps, the last recorded, "
        "it is still coming closer on this model; on untrained ones it does not arrive.",
        failed=[MORE],
        where=10 < max(clipped) < 12 and RATES.steps[-1] == 40 and clipped[-1] == min(clipped[8:]),
    )


def test_what_becomes_of_the_prediction() -> None:
    away = all_fall("clipped", recipe.FEW, recipe.AFTER, recipe.MANY)
    full = GRADIENTS.at("full", recipe.AFTER)
    near = bool((full > GRADIENTS.at("full", recipe.FEW)).all() and full.min() > 0.99999)
    titled(
        figures.clip(GRADIENTS),
        "With more steps the published gradient turns away from the true one",
        failed=[MORE],
        where=away,
    )
    LESSON.says(
        "Forty more steps take the published gradient away from the true one, in every seed; "
        "without the clip they bring it there.",
        held=[WHOLE],
        failed=[MORE],
        where=away and near,
    )
    LESSON.says(
        "At the published 20 steps the harm is small",
        held=[PUBLISHED],
        where=bool(GRADIENTS.whole("clipped", 20).min() > 0.98),
    )
    LESSON.says(
        "A limit meant for safety changed how the state settles, and whether it does",
        held=[CLIP],
        failed=[MORE],
    )
    EVIDENCE.says(
        "Why does the published gradient run away with more nudged steps",
        failed=[MORE],
        where=bool((LENGTHS["clipped"].diff() > 0).all()),
    )
    cosine = f"{GRADIENTS.at('clipped', recipe.FEW).quantile(0.5):.2f}"
    assert cosine == f"{GRADIENTS.whole('clipped', recipe.FEW).quantile(0.5):.2f}"
    TEACHING.says(
        f"The published one does: {cosine} at 20 nudged steps, and worse with more.", failed=[MORE]
    )


def test_what_each_way_teaches() -> None:
    titled(
        figures.ends(TRAINING, evidence.in_page()),
        "AEP teaches what BPTT does; the naive gradient, less than none",
        held=[AS_BPTT, TAUGHT],
        failed=[NAIVE],
    )
    level = abs(median(ENDS["AEP"]) - COUNTED["pairs"]) < 0.05
    gained = {k: median(ENDS["frozen"] - ENDS[k]) for k in ("AEP", "AEP, clipped")}
    LESSON.says(
        "With the clip, at our eight steps, the model gains about a fifth of what AEP gains over "
        "the frozen one, so the line is not safe.",
        "and cost most of the learning",
        held=[CLIP],
        where=0.15 < gained["AEP, clipped"] / gained["AEP"] < 0.25,
    )
    LESSON.says("the first picture says why the naive gradient does harm", failed=[NAIVE])
    LESSON.says("The level is that of counting pairs", failed=[PAIRS], where=level)


def test_what_nudging_is_for() -> None:
    faster = COSTS.seconds[NOT_AEP[1]] < COSTS.seconds[QUICKEST]
    flat = MEMORY.peaks["adjoint"][-1] < 1.1 * MEMORY.peaks["adjoint"][0]
    LESSON.says(
        "BPTT keeps every step of the relaxation, AEP a few states, however long it relaxes.",
        held=[FLAT],
    )
    LESSON.says(
        "it lets the credit itself settle, by $\\dot a = J^{\\top} a + g$, and is quicker.",
        failed=[QUICKEST_IS_AEP],
        where=faster and flat,
    )
    titled(
        figures.memory(MEMORY), "BPTT's memory grows with the steps, AEP's does not", held=[FLAT]
    )


# The evidence


def test_the_answer() -> None:
    EVIDENCE.says(
        "As well as by the exact gradient at rest, and only as long as there is rest.",
        f"end near {number(median(ENDS['AEP']), 2)} nats on the whole text, where counting pairs "
        f"comes to {COUNTED['pairs']:.2f} and counting with four characters of context to "
        f"{FIVES}.",
        held=[AS_BPTT],
        failed=[AS_PUBLISHED],
    )
    EVIDENCE.says(
        "with less damping and nothing held, end at " + span(FREE.ends("BPTT", 1), 3),
        where=not FREE.ran_away("BPTT", 1),
    )


def test_what_came_of_training() -> None:
    titled(
        figures.training(TRAINING),
        "Seed by seed AEP ends within two hundredths of a nat of BPTT",
        held=[AS_BPTT],
        where=statistics.within(*(TRAINING.curves[k][-1] for k in ("AEP", "BPTT")), 0.02),
    )
    EVIDENCE.says(
        "AEP ends lower than the frozen block, and lower than with the clip, in all eight seeds",
        held=[TAUGHT, CLIP],
        where=all(bool((ENDS["AEP"] < ENDS[k]).all()) for k in ("frozen", "AEP, clipped")),
    )
    EVIDENCE.says(
        "naive equilibrium propagation ends higher than the frozen block in all eight.",
        failed=[NAIVE],
        where=bool((ENDS["naive EP"] > ENDS["frozen"]).all()),
    )
    backwards = int((TRAINING.cosines["naive EP"] < 0).sum())
    EVIDENCE.says(
        f"its gradient points anywhere, in {COUNT[backwards]} of eight seeds backwards",
        where=bool(TRAINING.cosines["naive EP"].abs().max() < 0.5),
    )
    lower, higher = ((side * TRAINING.apart > 0).sum().item() for side in (-1, 1))
    EVIDENCE.says(
        f"ends at most {at_most(TRAINING.apart.abs().max().item())} nats apart, lower "
        f"in {COUNT[lower]} seeds and higher in {COUNT[higher]}.",
        held=[AS_BPTT],
    )
    exact = (ENDS["exact"] - ENDS["BPTT"]).abs().max().item()
    EVIDENCE.says(f"The exact gradient parts from it as well, in one seed by {exact:.3f} nats")
    TEACHING.says(
        "AEP with BPTT, within two hundredths of a nat seed by seed, and with the exact gradient, "
        "within three.",
        held=[AS_BPTT],
        where=statistics.within(ENDS["AEP"], ENDS["exact"], 0.03),
    )
    TEACHING.says("The naive method is worse than a frozen block", failed=[NAIVE])
    TEACHING.says(
        f"{median(ENDS['AEP']):.2f} nats against {COUNTED['pairs']:.2f}, where counting "
        f"with four characters of context gives {COUNTED['fives']:.1f}."
    )
    TEACHING.says("the point is that AEP gets where BPTT does", held=[AS_BPTT])


def test_a_cosine_of_what() -> None:
    nearer = [
        bool((side * (GRADIENTS.whole("clipped", n) - GRADIENTS.at("clipped", n)) > 0).all())
        for n, side in ((recipe.FEW, -1), (recipe.AFTER, 1))
    ]
    EVIDENCE.says(
        "Taken as one vector, the gradient as published is a little farther from the exact one at "
        "20 steps, and a little nearer at 60, in every seed",
        where=all(nearer),
    )
    EVIDENCE.says(
        "nothing turns on which is meant",
        held=[PUBLISHED, WHOLE],
        failed=[MORE],
        where=bool(GRADIENTS.whole("clipped", recipe.FEW).min() > 0.95)
        and bool(GRADIENTS.whole("none", recipe.FEW).max() < 0.95)
        and all_fall("clipped", recipe.FEW, recipe.AFTER, recipe.MANY),
    )


def test_rounding() -> None:
    single = GRADIENTS.single.quantile(0.5, 0)
    published = single[list(GRADIENTS.betas).index(estimators.PUBLISHED.beta)]
    titled(
        figures.nudges(GRADIENTS),
        "In single precision the published nudge drowns in rounding",
        where=bool(published > 100 * single.min()),
    )
    EVIDENCE.says(
        "In single precision a tiny nudge drowns in rounding",
        where=bool(single[0] > single[2] > single.min()),
    )


def test_the_spectrum() -> None:
    found = evidence.spectrum()
    stable = bool(found.free.real.max() < 0 < found.symmetric.max())
    titled(figures.spectrum(found), "J is stable, and its symmetric part is not", where=stable)
    LESSON.says("settles under each of the two need not settle under their mean", where=stable)


def test_where_rest_is_lost() -> None:
    scaled = evidence.scaled()
    moves = all(not values[-1] < 1e-3 for values in scaled.left.values())
    held = [sum(left < 1e-3 for left in values) for values in scaled.left.values()]  # NaN is not
    titled(
        figures.rest(scaled, FREE),
        "Damping buys room, and no certainty that a state comes to rest",
        failed=[DAMPED],
        where=moves and held == sorted(held),
    )
    EVIDENCE.says("But a step is short if only $\\varepsilon$ is", failed=[DAMPED, TESTED])
    away = {
        kind: sum(FREE.ran_away(kind, c) for c in recipe.DAMPINGS) for kind in recipe.UNGOVERNED
    }
    EVIDENCE.says(
        "A wrong gradient gets there sooner.",
        where=away["naive EP"] > away["AEP, clipped"] > away["AEP"] > away["BPTT"],
    )
    TEACHING.says("It settles while damping is stronger than attention", failed=[DAMPED])


def test_the_price_of_rest() -> None:
    free = FREE.ends("AEP", 3)
    governed = TRAINING.curves["AEP"][-1, : FREE.seeds]
    EVIDENCE.says(
        f"end at {span(governed, 3)} under the governor, which does not wait for the state to be "
        f"lost, and at {span(free, 3)} where nothing holds them; by BPTT with the published "
        f"damping and nothing held, at {span(FREE.ends('BPTT', 1), 3)}.",
        held=[AS_FREE],
        where=bool((FREE.ends("BPTT", 1) < free).all() and (free < governed).all()),
    )


def test_what_it_costs() -> None:
    aep, bptt, adjoint = (f"{1000 * COSTS.seconds[way]:.0f} ms" for way in (QUICKEST, *NOT_AEP))
    EVIDENCE.says(
        f"with longer steps and one side it takes {aep}, BPTT through twelve steps {bptt} and the "
        f"adjoint relaxation, $\\dot a = J^{{\\top}}a + g$, {adjoint}.",
        held=[QUICK],
        failed=[QUICKEST_IS_AEP],
    )
    EVIDENCE.says(
        "AEP and the adjoint relaxation keep a few states, whatever the steps", held=[FLAT]
    )
    settling = evidence.settling()
    short, long = (settling.needed(way) for way in ("ε = 0.1", "ε = 0.5"))
    titled(
        figures.settling(settling),
        "A longer step comes to rest nearly four times as soon",
        where=3.5 < short / long < 4,
    )


def test_what_was_trained_and_how() -> None:
    governor = measure.GOVERNOR
    held = f"multiplied by {governor.factor}"
    left = f"where the force that is left exceeds {governor.tolerance:g} of the state"
    EVIDENCE.says(
        f"The recorded models have the published width: {TRAINING.parameters:,} trained parameters "
        f"on the whole text, which has {len(evidence.trained()[1])} kinds of characters",
        f"pieces of {recipe.LENGTH} characters instead of {recipe.PUBLISHED_LENGTH}",
        f"Draws are the same for all, at a temperature of {recipe.TEMPERATURE}",
        f"after each step, {left}, the block's weights are {held}",
        f"multiplies the block's weights by {governor.factor} after a step {left}",
        f"{len(ENDS['AEP'])} for each kind under the governor, {FREE.seeds} where nothing holds, "
        f"{len(GRADIENTS.at('full', recipe.FEW))} untrained blocks for the recorded gradients. "
        f"Ungoverned runs were left at {FREE.seeds} seeds",
    )


def test_how_weak_a_nudge_is() -> None:
    """The loss is a mean, and each prediction is nudged by its share of β."""
    live, many = estimators.AEP.beta, recipe.BATCH * recipe.LENGTH
    LESSON.says(
        f"Even $\\beta = {live:g}$ is a weak nudge: the cost is a mean over {many} predictions, "
        f"and each gets its share, {live / many:.2f}",
        f"it makes the block's weights {100 * (1 - measure.GOVERNOR.factor):.0f} % smaller",
        f"One layer, {recipe.LENGTH} characters, {recipe.STEPS} steps",
    )
    pieces, length = recipe.PUBLISHED_BATCH, recipe.PUBLISHED_LENGTH
    EVIDENCE.says(
        f"the published {estimators.PUBLISHED.beta:g} is spread over {pieces * length:,}",
        f"(an untrained block, {pieces} pieces of {length} characters)",
    )


def test_where_seeds_part_from_bptt() -> None:
    gap = (TRAINING.curves["AEP"] - TRAINING.curves["BPTT"]).abs()
    together = [step for step, apart in zip(TRAINING.steps, gap, strict=True) if apart.max() < 1e-3]
    EVIDENCE.says(
        f"Why some seeds part from BPTT after step {max(together)}, by a hundredth of a nat or so",
        where=bool(0.005 < gap[len(together) :].max() < 0.016)
        and together == [*TRAINING.steps[: len(together)]],
    )


def test_a_run_that_ran_away_did_not_start_there() -> None:
    starts = torch.cat([curve[0] for curve in FREE.curves.values()])
    EVIDENCE.says(
        f"its loss, {span(starts, 1)} at the start, ever exceeded {recipe.RUN_AWAY}",
        where=bool(starts.max() < recipe.RUN_AWAY),
    )


@pytest.mark.parametrize("of", [TRAINING.ends, TRAINING.cosines])
def test_no_recorded_number_is_none(of: dict[str, torch.Tensor]) -> None:
    """What the pages say of all seeds is of all."""
    assert all(bool(values.isfinite().all()) for values in of.values())
    assert not math.isnan(RATES.factor)
    assert re.fullmatch(r"−?[\d.]+", signed(f"{RATES.factor:.3f}"))
