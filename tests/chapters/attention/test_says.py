"""What the lesson and its teaching page say of the recorded sorters."""

import math
import re

import torch

from attn_notes.chapters.attention import evidence, measure, recipe
from attn_notes.tasks import sorting

from ...says import Page

LESSON, TEACHING = Page("attention"), Page("teaching/attention")
MASK, OPEN = recipe.MASKS["mask"], recipe.MASKS["no mask"]
SHOWN, PEEKS = evidence.model("mask"), evidence.model("no mask")
HONEST, LEAKY = evidence.recorded().values()


def test_the_models_of_the_pictures() -> None:
    first, second, third = measure.pushes(SHOWN)
    LESSON.says(
        f"with {sum(p.numel() for p in SHOWN.parameters())} weights",
        f"For {measure.found(SHOWN).sum()} of the 81 letters of all words its largest share",
        "In {} of {} such trials it is written".format(*second),
        f"gets its letter in {first[0]} and in {third[0]} of {first[1]} trials",
        f"the one here at first gets {measure.right(PEEKS, OPEN)} of 27 words right",
        f"its head 1 takes {100 * measure.peeked(PEEKS).max():.0f} % from there",
        where=measure.right(SHOWN, MASK) == 27 and first[1] == third[1],
    )
    left = [measure.without(SHOWN, part) for part in ("", "head 1", "head 2", "network")]
    known = SHOWN.whole(measure.texts()).attention[:, 1, 4:, 3:].sum(-1).mean()
    LESSON.says(
        "Of the 81 letters {} are right. Leave out head 1, and {} are; without head 2 {}, without "
        "the network {}.".format(*left),
        f"Head 2 reads mostly the bar and what is written already: {100 * known:.0f} %",
    )
    LESSON.says(
        f"each costs at least {math.log(3):.3f}", f"2 × {math.log(3):.3f} / 6 = {sorting.FLOOR:.3f}"
    )


def test_it_is_at_most_a_thousand_words_to_the_end_of_its_story() -> None:
    """Headings count; folds, the card and the addresses of links do not."""
    cells = list(LESSON.cells)
    story = " ".join(LESSON.cells[name] for name in cells[: cells.index("retell") + 1])
    for hidden in (r":::\{.*?:::", r"\]\([^)]*\)", r"<[^>]*>"):
        story = re.sub(hidden, "", story, flags=re.S)
    assert 900 < len([word for word in story.split() if re.search(r"\w", word)]) <= 1000


def test_the_second_exercise() -> None:
    LESSON.says(f"In {81 - measure.found(SHOWN).sum()} of the 81 cases the largest share of head 1")
    for page, word, b, words in (
        (LESSON, "baa", 0, "of `baa` is written, {:.3f} of head 1 lies on the b"),
        (LESSON, "aab", 2, "it reads the b, and still an a is written"),
        (TEACHING, "aab", 2, "head 1 reads the b, with a share of {:.3f}, and a is written"),
    ):
        text = sorting.complete(sorting.prompt(word)[:3])
        share = SHOWN.whole(text[:-1]).attention[0, 4]
        written = measure.written(SHOWN, MASK)[(sorting.all_sequences() == text).all(1), 1]
        where = int(share.argmax()) == b and written.tolist() == [1]
        page.says(words.format(share.max()), where=where)


def test_what_a_teacher_is_told() -> None:
    half, seeds = int(LEAKY.right.median()), len(LEAKY.right)
    TEACHING.says(
        f"Of {seeds} seeds without the mask none writes all; they write {LEAKY.right.min()} to "
        f"{LEAKY.right.max()}, and half of them {half} or fewer",
        f"With the mask {(HONEST.right == 27).sum()} of {seeds} seeds write all 27",
        f"The one in the pictures writes {measure.right(PEEKS, OPEN)}",
        where=LEAKY.right.max() < 27,
    )
    TEACHING.says(
        f"all {seeds} seeds end below 0.05 nats. The floor is {sorting.FLOOR:.3f}",
        "With the mask none is below",
        where=LEAKY.losses[-1].max() < 0.05 and HONEST.below == 0,
    )
    shares = SHOWN.whole(measure.texts()).attention[:, 0, 3:].argmax(-1)
    bars = (shares == 3).sum()
    TEACHING.says(
        f"There are {81 - measure.found(SHOWN).sum()} such cases of 81, in {bars} of them"
    )
    pushed = torch.tensor(measure.pushes(SHOWN)).sum(0).tolist()
    TEACHING.says("Mostly it is written ({} of {})".format(*pushed))
    TEACHING.says(f"a sixth of it in the mean: {math.log(3) / 6:.2f}")
