"""What the lesson and its teaching page say of the recorded sorters."""

import math

from attn_notes.chapters.attention import evidence, measure, recipe
from attn_notes.tasks import sorting

from ...says import Page

LESSON, TEACHING = Page("attention"), Page("teaching/attention")
MASK, OPEN = recipe.MASKS["mask"], recipe.MASKS["no mask"]
SHOWN, PEEKS = evidence.model("mask"), evidence.model("no mask")
HONEST, LEAKY = evidence.recorded().values()


def test_the_models_of_the_pictures() -> None:
    first, second, third = measure.pushes(SHOWN)
    peeked = measure.peeked(PEEKS)[0]
    LESSON.says(
        f"with {sum(p.numel() for p in SHOWN.parameters())} weights",
        f"In {measure.found(SHOWN).sum()} of 81 cases, three letters of 27 words",
        f"In {first}, {second} and {third} of 81 such trials",
        f"this head takes {100 * peeked:.0f} % from there",
        f"this one gets {27 - measure.right(PEEKS, OPEN)} of the 27 words wrong",
        where=measure.right(SHOWN, MASK) == 27,
    )
    LESSON.says(f"2 × {math.log(3):.3f} / 6 = {sorting.FLOOR:.3f}")


def test_the_second_exercise() -> None:
    LESSON.says(f"In {81 - measure.found(SHOWN).sum()} of the 81 cases the largest share of head 1")
    for page, word, b, words in (
        (LESSON, "baa", 0, "of `baa` is written, {:.3f} of head 1 lies on the b"),
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
    TEACHING.says(f"a sixth of it in the mean: {math.log(3) / 6:.2f}")
