"""The chapter's evidence: records as values, rates chosen, heads found, the blackboard."""

import math

import pytest
import torch
from torch import Tensor
from torch.func import stack_module_state

from attn_notes.analysis import results
from attn_notes.chapters.deep_qkv import evidence, measure, recipe
from attn_notes.models.deep_qkv import VARIANTS, Config
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run

from .made_up import EARLY, LATE, NAN, NEVER, crowd, crowds

WORDS = sorting.all_sequences()[:, :3]


def test_both_forms_of_a_record_say_the_same() -> None:
    """In full: seed 0 has it from step 20 on, seed 1 touches it and falls back."""
    full = {
        "steps": [0, 10, 20],
        "solved": [[3, 4], [5, 27], [27, 9]],
        "mean_loss": [[2.0, 2.0], [1.0, 1.5], [0.5, 1.0]],
        "seconds": 3.0,
    }
    outline = {
        "steps": [0, 10, 20], "arrivals": [20.0, None], "solved": [27, 9], "lowest": 0.5,
        "seconds": 3.0,
    }  # fmt: skip
    for record in (full, outline):
        found = evidence.crowd(record)
        assert found.arrivals.tolist() == [20, math.inf]
        assert found.solved.tolist() == [27, 9] and found.arrived == 1
        assert (found.lowest, found.seconds) == (0.5, 3.0)
    assert evidence.crowd(full).curves[1].tolist() == pytest.approx([1.125, 1.25, 1.375])


@pytest.mark.parametrize(
    ("arrivals", "arrived", "median", "delay"),
    [
        (torch.tensor([10.0, 20, 60]), 3, 20, 30),
        (torch.tensor([10.0, math.inf, math.inf]), 1, math.inf, 670),
        (NEVER, 0, math.inf, 1000),
    ],
)
def test_of_a_crowd(arrivals: Tensor, arrived: int, median: float, delay: float) -> None:
    found = crowd(arrivals)
    assert (found.arrived, found.median) == (arrived, median)
    assert found.delay == pytest.approx(delay)


def test_the_best_rate() -> None:
    assert evidence.best_rate({0.1: crowd(LATE), 0.2: crowd(EARLY), 0.3: crowd(LATE)}) == 0.2
    assert evidence.best_rate({0.1: crowd(EARLY), 0.2: crowd(EARLY)}) == 0.1


def test_who_is_sooner_is_what_a_guess_is_held_to() -> None:
    """Two that converge at the same steps share their ranks, and one that never does is last."""
    made = crowds(gated=EARLY, fixed_gate=EARLY, plain__knowable=LATE)
    made["plain"] = crowd(NEVER, lowest=0.369)
    parts = {part.name: (part.came, part.either) for part in evidence.predicted(made)}
    assert parts == {
        "gated": (1.5, 0.5),
        "divided by three": (1.5, 0.5),
        "two letters left out": (3, 0),
        "plain": (4, 0),
        evidence.LOWEST.name: (made["plain"].lowest, 0),
    }


def test_of_two_whose_median_seed_never_converges_that_is_sooner_of_which_more_do() -> None:
    some = torch.where(torch.arange(40) < 19, 900.0, math.inf)
    parts = evidence.predicted(crowds(plain=NEVER.repeat(4), plain__knowable=some))
    came = {part.name: part.came for part in parts}
    assert came["two letters left out"] == 3 and came["plain"] == 4


def test_by_seed() -> None:
    mean = evidence.by_seed(
        [crowd(torch.tensor([100.0, 300])), crowd(torch.tensor([200.0, math.inf]))]
    )
    assert mean.tolist() == [150, 650]
    assert evidence.by_seed([crowd(NAN)]).isnan().all()


def test_each_kinds_rate_is_the_sweeps_choice() -> None:
    sweep = evidence.sweep()
    assert {kind: evidence.best_rate(sweep[kind]) for kind in recipe.KINDS} == recipe.RATE
    ends = {min(recipe.RATES), max(recipe.RATES)}
    assert not ends & set(recipe.RATE.values())


def test_rates_are_chosen_on_other_seeds() -> None:
    assert not set(recipe.SWEEP.seeds) & {*recipe.CHOSEN.seeds, *recipe.LIVE.seeds}
    assert set(recipe.LIVE.seeds) <= set(recipe.CHOSEN.seeds)
    for name, setting in (("rates", recipe.SWEEP), ("chosen", recipe.CHOSEN)):
        record = evidence.settings(name)
        assert (record["first_seed"], record["seeds"]) == (setting.seeds[0], len(setting.seeds))
        assert record["steps"] == setting.steps == recipe.LIVE.steps
    assert evidence.settings("chosen")["lr"] == recipe.RATE
    assert evidence.settings("rates")["lr"] == list(recipe.RATES)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_recorded_weights_are_the_recorded_runs(variant: str) -> None:
    """They sort what the record says the seeds sort."""
    scores = [int(sorting.probe(model)["solved"]) for model in evidence.trained(variant)]
    recorded = evidence.recorded("chosen")[variant].solved[: recipe.KEPT].tolist()
    assert scores == recorded == evidence.scores(variant).tolist()


def test_the_finder_finds() -> None:
    """The head that it names, measured again, word by word."""
    found = evidence.finder()
    model = evidence.trained(found.variant)[found.seed]
    shares = []
    for row in sorting.all_sequences():
        word = sorting.decode(row[:3].tolist())
        if found.letter in word:
            attention = model.trace(word)[0].attention[found.head]
            shares.append(sum(float(attention[i]) for i in range(3) if word[i] == found.letter))
    assert len(shares) == found.words
    assert sum(shares) / len(shares) == pytest.approx(found.share, abs=1e-5)
    assert all(model.sort(word) == "".join(sorted(word)) for word in ("cab", "bcb", "aac"))
    assert found.share > 0.8  # what the page calls looking for a letter
    others = [
        float(measure.attention_by_letter(m)[:, 0, 0].max())
        for v in ("plain", "gated")
        for m in evidence.trained(v)
        if int(sorting.probe(m)["solved"]) == 27
    ]
    assert found.share == pytest.approx(max(others))


def test_the_worst_is_the_worst() -> None:
    failed = evidence.worst()
    lowest = min(int(evidence.scores(variant).min()) for variant in VARIANTS)
    assert failed.score == lowest == int(evidence.scores(failed.variant)[failed.seed])


def test_settings_are_the_records() -> None:
    assert evidence.settings("published") == results.load("deep_qkv_published")["settings"]


@pytest.mark.slow
def test_the_finder_takes_the_stacks_it_is_given_and_of_those_who_sort_most() -> None:
    """Of one good sorter and fifteen untrained ones it is the good one, whatever they attend to."""
    good = evidence.finder()
    untrained = recipe.sorters(Config("plain"), range(16))
    stack = stack_module_state(untrained)[0]
    mixed = {name: values.detach().clone() for name, values in stack.items()}
    for name, values in evidence.weights("plain").items():
        mixed[name][5] = values[evidence.finder({"plain": evidence.weights("plain")}).seed]
    assert evidence.finder({"plain": mixed}).seed == 5
    assert evidence.finder({"plain": stack}).variant == "plain"  # though nobody sorts them all
    assert good.variant in ("plain", "gated")


def test_bodies_of_evidence_are_named_by_their_seeds() -> None:
    live = evidence.Live({"plain": evidence.recorded("chosen")["plain"]})
    beside = evidence.beside(live)
    ours, *recorded = beside
    assert beside[ours] is live and ours == f"live, {len(recipe.LIVE.seeds)} seeds"
    assert [beside[name] for name in recorded] == [*evidence.on_record().values()]
    for name, kinds in evidence.on_record().items():
        assert {name.split(", ")[1]} == {f"{len(c.arrivals)} seeds" for c in kinds.values()}
    own, published = evidence.on_record().values()
    assert own["plain"].steps[-1] == recipe.CHOSEN.steps
    assert published["plain"].steps[-1] == recipe.PUBLISHED.steps


def test_what_was_trained_just_now() -> None:
    """Two seeds, of which one sorts everything from the second probe on."""
    losses = torch.tensor([[2.0, 3.0], [1.0, 2.0], [0.5, 1.5]])[..., None].expand(3, 2, 6)
    history = {"solved": torch.tensor([[3, 4], [27, 27], [27, 9]]), "losses": losses}
    run = Run({}, {}, torch.tensor([0, 10, 20]), history, 3.0, torch.nn.Identity())
    found = evidence.live({"plain": run})["plain"]
    assert found.arrivals.tolist() == [10, math.inf] and found.solved.tolist() == [27, 9]
    assert (found.lowest, found.seconds) == (0.5, 3.0)
    assert found.curves[1].tolist() == [1.25, 1.5, 1.75]


def test_of_whom_a_map_of_attention_says_what() -> None:
    """Counted again, from what each reads before it has written anything."""
    found, first = [0, 0, 0], WORDS.min(1, keepdim=True).values == WORDS
    for variant in VARIANTS:
        for model, solved in zip(evidence.trained(variant), evidence.scores(variant), strict=True):
            with torch.no_grad():
                read = model.observe(sorting.all_sequences()[:, :4])[1][:, :, -1, :3]
            letter = bool((read * first[:, None]).sum(-1).mean(0).max() > 0.5)
            place = bool(read.mean(0).max() > 0.5)
            found[0 if letter else 1 if place else 2] += int(solved == 27)
    assert [*evidence.reads()] == found and evidence.reads().all == sum(found)


def test_the_middle_of_the_cosines() -> None:
    products = torch.eye(6).repeat(3, 2, 1, 1)
    products[1, :, 0, 2] = products[1, :, 2, 0] = -1.0
    along = evidence.Along(
        torch.tensor([0, 10, 20]), products, torch.ones(3, 2, 2), torch.ones(2, 15)
    )
    assert along.middle((0, 1), 10, 10) == pytest.approx(-1 / 8**0.5)
    assert along.middle((0, 1), 20, 20) == along.middle((0, 1), 0, 20) == 0
