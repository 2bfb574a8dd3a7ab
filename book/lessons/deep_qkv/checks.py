"""The checks of the lesson's exercises, and of those of its evidence."""

import itertools
import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit.exercises import Score, WrongError, answered, check, need, number, same
from book.kit.judgement import Case, Judged

NOTEBOOK_ONLY = {
    "rescue": "sixteen models are trained for hundreds of steps",
    "part": "its numbers are drawn by torch, and a page draws others",
}
"""Checks that a page does not run, and why."""


@check
def floor(answer: Callable[[int, int], float], draw: Generator) -> str:
    """The floor for words of `length` letters from an alphabet of `letters`."""

    def value_at(letters: int, length: int) -> float:
        return number(answer(letters, length))

    value = value_at(3, 3)
    for wrong, symptom in (
        (3 * math.log(3) / 6, "you count the first letter, which is given and never predicted."),
        (2 * math.log2(3) / 6, "that is in bits; a nat uses the natural logarithm."),
        (2 * math.log(3) / 7, "seven tokens make six predictions."),
        (2 * math.log(3), "that is the sum over a sequence; the loss is a mean over predictions."),
        (
            2 * math.log(3) / 2,
            "that is the mean over two letters; the loss is a mean over all six.",
        ),
        (-2 * math.log(3) / 6, "a loss is −ln p, which is positive."),
    ):
        need(not same(value, wrong), symptom)
    need(
        same(value, sorting.FLOOR),
        f"for three letters from three it should be {sorting.FLOOR:.7g}, not {value:.7g}.",
    )
    many, long = torch.randint(5, 1000, (2,), generator=draw).tolist()
    for letters, length, share, symptom in (
        (many, 3, 0.0, "your answer does not follow the size of the alphabet as it should."),
        (3, long, 0.5, "your answer does not follow the length of the word as it should."),
        (many, long, 0.5, f"not for {long} letters from {many}."),
        (2, 1, 0.5, "a word of one letter leaves nothing to guess."),
    ):
        right = (length - 1) * math.log(letters) / (2 * length)
        said = f"right for three of three, but {symptom}"
        need(same(value_at(letters, length), right), said, share)
    return "only letters 2 to n of the word cost anything, ln(alphabet) each, of 2n predictions."


@check
def rank_one_gate(answer: object, _: Generator) -> str:
    """A [6, 1] and B [1, 3] whose row softmax has rank 1 but is not constant."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise WrongError("give two tensors: A, B.")
    a, b = (torch.as_tensor(each, dtype=torch.float64) for each in answer)
    need(tuple(a.shape) == (6, 1), f"A should have shape (6, 1), not {tuple(a.shape)}.")
    need(tuple(b.shape) == (1, 3), f"B should have shape (1, 3), not {tuple(b.shape)}.")
    gate = (a @ b).softmax(-1)
    need(bool(gate.isfinite().all()), "the gate holds numbers that are not finite.")
    need(
        bool((gate - 1 / 3).abs().max() > 0.01),
        "this gate is ⅓ everywhere: rank 1, but it gates nothing. Let B's entries differ.",
    )
    values = torch.linalg.svdvals(gate)
    ratio = (values[1] / values[0]).item()
    need(
        ratio < 1e-6,
        f"the second singular value is {ratio:.3f} of the first, so the rank is above 1. "
        "Which rows must be alike?",
    )
    if bool((a - a[0]).abs().max() > 1e-6):
        return (
            "to rounding. Your rows differ, but the softmax is saturated and hides it. With all "
            "rows of A alike the rank is 1 exactly."
        )
    return "rows that sum to one are multiples of each other only if they are equal."


PAST = torch.ones(sorting.LENGTH - 1, sorting.LENGTH - 1).triu()[..., None]
"""Row: who is read, column: by whom."""
VALUES = torch.arange(1.0, len(sorting.VOCABULARY) + 1)


class _Suspect:
    """An untrained sorter whose predictions weigh the tokens up to their own, and is honest.

    Or its logits at one position also read a token that comes later.
    """

    def __init__(self, seed: int, position: int = 0, seen: int = 0, much: float = 0.0) -> None:
        t, v = PAST.shape[0], len(VALUES)
        honest = torch.randn(t, t, v, generator=Generator().manual_seed(seed))
        self.weights = (honest * PAST).flatten(1)
        self.weights[seen, position * v + 1] += much

    def __call__(self, x: Tensor) -> Tensor:
        t, v = x.shape[-1], len(VALUES)
        logits = VALUES[x] @ self.weights[:t, : t * v]
        return logits.unflatten(-1, (t, v))


@check
def future_leak(
    answer: Callable[[Callable[[Tensor], Tensor], Tensor], float], draw: Generator
) -> str:
    """A function (model, tokens) → largest change of an earlier logit."""
    every = sorting.all_sequences()[:, :-1]

    def size(suspect: _Suspect, words: list[int]) -> float:
        tokens = every[words]
        given = tokens.clone()
        try:
            found = answered(answer(lambda x: suspect(x), tokens))  # of no weights to look at
        except IndexError as error:
            raise WrongError(f"token ids run from 0 to 3; the model says: {error}") from error
        need(given.equal(tokens), "you change the tokens that you were given: `clone` them.")
        said = "return by how much a logit moves at most, not whether one does."
        need(torch.as_tensor(found).dtype != torch.bool, said)
        return number(found)

    value = size(_Suspect(1), [5, 11])
    need(
        value < 1e-5,
        f"a causal sorter was found to leak {value:.3g}. Do you compare only the logits *before* "
        "the token you changed?",
    )
    leaks = list(itertools.combinations(range(6), 2))
    missed, order = set(), torch.randperm(len(leaks) + 5, generator=draw).tolist()
    for i in order:  # in no order that could be counted on, five honest ones between
        if i >= len(leaks):
            words = torch.randperm(27, generator=draw)[:2].tolist()
            need(size(_Suspect(i), words) < 1e-5, "another causal sorter was found to leak.")
            continue
        position, seen = leaks[i]
        rises, falls = (_Suspect(i, position, seen, much) for much in (0.1, -0.1))
        words = torch.randperm(27, generator=draw)[:2].tolist()
        found = [size(rises, words[:1]), size(falls, words[1:])]
        for much in found:
            need(
                much < 1e-5 or 0.05 < much < 0.5,
                f"one logit of all was moved by 0.1 to 0.3, and you say {much:.3g}. Return the "
                "largest change of any logit.",
            )
        if min(found) > 0.05:
            continue
        missed.add(leaks[i])
        if max(found) > 0.05:  # is it the word that was missed, or the way?
            other = size(rises, words[1:]) if found[0] > 0.05 else size(falls, words[:1])
            said = "a logit that moves one way is found, one that moves the other way is not."
            need(other < 0.05, said)
    if missed:
        position, seen = min(missed)
        far = all(seen - position > 1 for position, seen in missed)
        near = "you find whoever reads the very next token, but " if far else ""
        raise WrongError(
            f"{near}a model whose logits at position {position} read the token at position {seen} "
            "got away with it. Do you change every position, one at a time, to a token that does "
            "not stand there already, and keep the largest change of any logit before it?",
            0.5 * far,
        )
    return "no change at a later position may move an earlier logit; yours finds every leak."


_fewest: list[int] = []
"""Steps of the answers to `rescue` that were right, in this kernel."""


@check(seconds=240.0)
def rescue(answer: Callable[[], object], _: Generator) -> Score:
    """Train plain sorters so that all of 16 seeds sort within 600 steps; fewer score better.

    All steps count that torch's optimisers take meanwhile, whatever the run says of itself.
    """
    size = 16 * sum(p.numel() for p in Sorter(Config("plain"), Generator()).parameters())
    made = 0.0

    def count(optimizer: Optimizer, *_: object) -> None:
        nonlocal made
        made += sum(p.numel() for group in optimizer.param_groups for p in group["params"]) / size

    counting = register_optimizer_step_post_hook(count)
    try:
        run = answered(answer())
    except KeyError as error:
        raise WrongError(f"{error} is missing: pass probe=sorting.probe.") from error
    finally:
        counting.remove()
    if not isinstance(run, Run):
        raise WrongError("return what `train` returns.")
    need("solved" in run.history, "pass probe=sorting.probe, so that there is something to check.")
    solved, steps = run.history["solved"], run.steps
    need(solved.shape[1] == 16, f"train 16 seeds, not {solved.shape[1]}.")
    need(
        len(run.history["losses"][0].unique(dim=0)) == 16,
        "some of your 16 start alike: give each its own seed.",
    )
    need(int(solved[0].min()) < 27, "they sort before the first step: start from untrained ones.")
    taken = max(int(steps[-1]), round(made))
    need(taken <= 600, f"you took {taken} steps; 600 are allowed.")
    sorters = [run.member(i) for i in range(16)]
    need(
        all(isinstance(s, Sorter) and s.config == Config("plain") for s in sorters),
        "the sorters should be plain, at their published sizes.",
    )
    scores = [int(sorting.probe(s)["solved"]) for s in sorters]
    unknowable = run.history["losses"][-1, :, :2].mean().item()
    need(
        min(scores) == 27,
        f"{sum(s == 27 for s in scores)} of 16 seeds sort all 27 inputs; the worst sorts "
        f"{min(scores)}. "
        + (
            "What part of the loss can the model do nothing about?"
            if unknowable < 1.5 * math.log(3)
            else "The loss is on the right part; try another rate, or more of the 600 steps."
        ),
    )
    _fewest.append(taken)
    said = f"all 16 seeds sort all 27 inputs. Your score: {taken} steps; your best so far: "
    return Score(f"{said}{min(_fewest)}.", float(taken), half=400.0, best=200.0)


@Judged
def part(draw: Generator) -> Case:
    """Steps until each of eight seeds sorts, of three kinds: was it the part?"""
    while True:
        sooner = 70.0 * int(torch.randint(2, (), generator=draw))
        middle = torch.tensor([[470.0], [400.0], [400.0 - sooner]])
        steps = middle + 40 * torch.randn(3, 8, generator=draw)
        plain, divided, gated = steps.div(5).round().mul(5)
        p = statistics.rank_p(gated, divided)
        # Nobody is asked to judge what lies on the edge.
        if p > 0.1 or (p < 0.02 and gated.median() < divided.median()):
            break
    return Case(
        {
            "plain": plain.int().tolist(),
            "divided by three": divided.int().tolist(),
            "gated": gated.int().tolist(),
        },
        {"p": p},
        "the part" if p < 0.05 else "cannot be told",
        {
            "the part": "weights that are only divided by three arrive no later, as far as these "
            "seeds tell.",
            "cannot be told": "hold gated weights against divided ones: chance does not do that.",
            "no difference": "that two kinds cannot be told apart does not make them equal.",
        },
        {
            "p": (
                (
                    statistics.rank_p(gated, plain),
                    "that holds gated weights against plain ones, which differ in two things. "
                    "Which is the control?",
                ),
                (p / 2, "count what is as uneven in the other direction, too: two sides."),
            )
        },
    )
