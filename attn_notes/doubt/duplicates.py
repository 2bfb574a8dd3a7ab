"""Has training seen the test? Twins of test items among training items, and the score without."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from attn_notes import allowed
from attn_notes.doubt.reports import Answer, Report

SHOWN = 3  # of the test items that have a twin
TOLD = 20  # lines of progress


@allowed.typed
def twins(
    train: Sequence[Any] | Shaped[Tensor, "n ..."],
    test: Sequence[Any] | Shaped[Tensor, "n ..."],
    key: Callable[[Any], Hashable | str] | None = None,
    *,
    near: float | None = None,
    scores: Float[Tensor, " n"] | None = None,
    budget: float = 300.0,
    tell: Callable[[str], object] | None = None,
) -> Report:
    """Which test items training has seen, and what the score is without them.

    Args:
        train: what was trained on: texts, tensors, anything.
        test: what was tested on.
        key: item → what makes two items one: without cases and spaces, up to symmetries. If none is
            given, a tensor's numbers, or the item itself.
        near: how similar keys may be, from 0 to 1: 1 less the share of edits (Levenshtein). Each is
            then held against each, by rapidfuzz, which comes with `attn-notes[doubt]`: the time
            grows as their product. Keys must be texts or sequences.
        scores: of the test items, one each.
        budget: seconds that near twins may take, about. What it leaves out is said.
        tell: gets a line now and then while near twins are looked for, as `print` would.

    Raises:
        ValueError: no items; `near` that is not between 0 and 1; a budget that is not positive;
            scores that are not one an item.
        ModuleNotFoundError: `near` is asked, and rapidfuzz is not there.
    """
    allowed.some(train=train, test=test)
    if not budget > 0:
        raise ValueError(f"budget must be positive, not {budget}")
    if near is not None and not 0 < near < 1:
        raise ValueError(f"near must lie between 0 and 1, not at {near}")
    if scores is not None and scores.shape != (len(test),):
        raise ValueError(f"{len(test)} items have as many scores, not {tuple(scores.shape)}")
    keyed = partial(_key, key, near=near is not None)
    ours, theirs = ([*map(keyed, items)] for items in (test, train))
    known = set(theirs)
    seen = torch.tensor([one in known for one in ours])
    answers = [_found("twins", seen, len(ours), "stand in the training data")]
    if again := len(ours) - len(set(ours)):
        said = f"{again:,} of {len(ours):,} test items stand in the test more than once"
        answers.append(Answer("repeated", "warning", size=again / len(ours), found=said))
    if near is not None:
        found, done, took = _near(ours, theirs, near, budget, tell or (lambda line: None))
        seen, left = seen | found, len(ours) - done
        answer = _found("near twins", seen, len(ours), f"are {near:.0%} alike with one there")
        left_out = f"{left:,} of {len(ours):,} test items" if left else ""
        rest = took / max(1, done) * left
        answers.append(replace(answer, left_out=left_out, rest=rest, needed=bool(left)))
    if scores is not None:
        answers.append(_scored(scores, seen))
    return Report(f"twins, of {len(test):,} test items in {len(train):,}", answers)


def _key(key: Callable[[Any], Hashable] | None, item: Any, near: bool = False) -> Hashable:
    if key is not None:
        item = key(item)
    if isinstance(item, Tensor | np.ndarray):
        item = item.flatten().tolist()
    if isinstance(item, list):
        return tuple(_key(None, each) for each in item)
    if not isinstance(item, Hashable) or (near and not isinstance(item, Sequence)):
        kind = "a text or a list" if near else "a text, numbers or what can be looked up"
        raise ValueError(f"an item must be {kind}, or `key` make it that, not {item!r:.60}")
    return item


def _near(
    ours: Sequence[Any],
    theirs: Sequence[Any],
    near: float,
    budget: float,
    tell: Callable[[str], Any],
) -> tuple[Tensor, int, float]:
    """Which of ours have a near twin, of how many that was asked, and the seconds it took."""
    process = allowed.needed("rapidfuzz.process", "doubt")
    scorer = allowed.needed("rapidfuzz.distance", "doubt").Levenshtein.normalized_similarity
    found, start = torch.zeros(len(ours), dtype=torch.bool), time.perf_counter()
    for done, one in enumerate(ours):
        if done % max(1, len(ours) // TOLD) == 0:
            tell(f"near twins: {done:,} of {len(ours):,} test items")
        if time.perf_counter() - start > budget:
            return found, done, time.perf_counter() - start
        found[done] = process.extractOne(one, theirs, scorer=scorer, score_cutoff=near) is not None
    return found, len(ours), time.perf_counter() - start


def _found(name: str, seen: Tensor, n: int, what: str) -> Answer:
    count = int(seen.sum())
    which = ", ".join(map(str, seen.nonzero()[:SHOWN, 0].tolist()))
    if not count:
        return Answer(name, "ok", size=0.0, found=f"none of {n:,} test items {what}")
    more = ", ..." if count > SHOWN else ""
    said = f"{count:,} of {n:,} test items {what}: {which}{more}"
    return Answer(name, "leak", size=count / n, found=said)


def _scored(scores: Tensor, seen: Tensor) -> Answer:
    every = float(scores.double().mean())
    left = scores[~seen]
    if not len(left):
        return Answer("score", "not asked", found="no test item is left without its twin")
    rest = float(left.double().mean())
    said = f"{every:.4g} on all, {rest:.4g} on the {len(left):,} that training has not seen"
    return Answer("score", "ok", size=rest, found=said)
