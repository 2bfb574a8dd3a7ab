"""What the lesson and its teaching page say of the recorded sorters."""

import math
from collections import Counter

import torch

from attn_notes.tasks import sorting
from book.lessons.attention import evidence, measure, recipe
from tests.pages.said import COUNT, Reading, Says

MASK, OPEN = recipe.MASKS["mask"], recipe.MASKS["no mask"]
SHOWN, PEEKS = evidence.model("mask"), evidence.model("no mask")
HONEST, LEAKY = evidence.recorded().values()
WORDS = [sorting.decode(ids) for ids in measure.texts()[:, :3].tolist()]


# fmt: off
def said(page: Reading) -> None:
    lesson, teaching = page("attention"), page("teaching")
    the_models_of_the_pictures(lesson)
    cab_in_the_middle_of_its_work(lesson)
    a_query_turned_to_another_letter_writes_it(lesson)
    why_some_letters_are_written_whatever_head_1_reads(lesson)
    the_second_exercise(lesson, teaching)
    what_a_teacher_is_told(teaching)


def the_models_of_the_pictures(lesson: Says) -> None:
    first, second, third = measure.pushes(SHOWN)
    lesson(f"lies in {sum(p.numel() for p in SHOWN.parameters())} numbers, its weights",
           f"There are {second[1]} ways to mislead it there, and in {second[0]} the model follows",
           f"gets its letter in {first[0]} and in {third[0]} of {first[1]} trials",
           where=measure.right(SHOWN, MASK) == 27 and first[1] == third[1])
    lesson("and gets simple words wrong", "it reads its answers in training",
           where=measure.right(PEEKS, OPEN) < 20 and measure.peeked(PEEKS).max() > 0.5)
    lesson("its loss falls below the floor",
           where=LEAKY.losses[-1, recipe.RECORDED.index(recipe.SHOWN)] < sorting.FLOOR - 0.3)
    as_due = measure.written(PEEKS, OPEN) == sorting.all_sequences()[:, -3:]
    in_order = sum(WORDS[row] == "".join(sorted(WORDS[row])) for row in as_due.all(1).nonzero())
    lesson(f"Of the {as_due.all(1).sum()} words that the model of these pictures gets right, "
           f"{COUNT[in_order]} were already in order",
           "Only the last letter, whose answer never stands in the line, it had to learn",
           where=as_due[:, 2].all())
    acc = measure.texts()[WORDS.index("acc")]
    would = [int(each(acc)[4].argmax()) for each in (measure.without(SHOWN, "network"), SHOWN)]
    lesson("acc</a> no b stands there: the look spreads, and the network decides",
           where=SHOWN.whole(acc).attention[0, 4].max() < 0.5 and would == [1, 3])
    tangled = SHOWN.whole(measure.texts()[WORDS.index("bba")]).attention[0, 3:].amax(-1).min()
    lesson("Head 1 mostly looks for the next letter", where=measure.found(SHOWN).sum() > 60)
    lesson("`bba` is a tangle", where=tangled < 0.75)
    lesson(f"a chance of a half, it costs {math.log(2):.3f}, and of a third, {math.log(3):.3f}",
           f"A third for each letter costs {math.log(3):.3f}, and nothing costs less on average",
           f"2 × {math.log(3):.3f} / 6 = {sorting.FLOOR:.3f}")


def cab_in_the_middle_of_its_work(lesson: Says) -> None:
    cab, aab = (measure.texts()[WORDS.index(word)] for word in ("cab", "aab"))
    scores = SHOWN.whole(cab).score[0, 4].tolist()
    lesson("In `cab` the score of `b` lies 7 points above that of `c`", "about a thousand times",
           where=abs(scores[2] - scores[0] - 7) < 0.1
           and abs(math.exp(scores[2] - scores[0]) - 1000) < 100)
    most = SHOWN.whole(cab).attention[0, 3:].argmax(-1).tolist()
    lesson("In `cab` it looks most at the letter that it must write", where=most == [1, 2, 0])
    alone, first = (
        measure.without(measure.without(SHOWN, part), "network") for part in ("heads", "head 2")
    )
    would = [sorting.decode([int(each(cab)[4].argmax())]) for each in (alone, first)]
    lesson("from the row of `a` alone, one more `a`. With what head 1 adds, the `b`",
           where=would == ["a", "b"])
    made, here = SHOWN.whole(aab), SHOWN.whole(cab)
    lesson("head 1 reads the `b` as well, but an `a` must follow",
           where=made.attention[0, 4, 2] > 0.99 and torch.equal(made.row[4], here.row[4]))
    out = SHOWN.block.attention.o.weight
    middle = made.row + made.mixture[0] @ out[:, :3].T + here.mixture[1] @ out[:, 3:].T
    end = middle + SHOWN.block.feed_forward(SHOWN.block.ln2(middle))
    given = sorting.decode([int((SHOWN.norm(end) @ SHOWN.token.weight.T)[4].argmax())])
    lesson(
        "the network can tell by head 2, which gives the word’s two a’s a third of its look. The "
        "one a of `cab` gets a sixth",
        "given what head 2 brought in `cab`, it writes the b",
        where=given == "b"
        and abs(made.attention[1, 4, :2].sum() - 1 / 3) < 0.02
        and abs(here.attention[1, 4, 1] - 1 / 6) < 0.02,
    )
    silent = [measure.right(measure.without(SHOWN, f"head {h}"), MASK) for h in (2, 1)]
    lesson(f"but without it only {silent[0]} words come out right",
           f"If head 1 adds nothing, the model writes {silent[1]} of the 27 words right")


def a_query_turned_to_another_letter_writes_it(lesson: Says) -> None:
    turned, cab = torch.zeros(2, 6, 3), measure.texts()[WORDS.index("cab")]
    turned[0, 4, 2] = 4 - SHOWN.whole(cab).query[0, 4, 2]
    made = SHOWN.whole(cab, turned=turned)
    here = sorting.decode(cab[made.attention[0, 4].argmax()][None].tolist()) == "a"
    lesson("drag the query’s third number to 4. Now it looks at the `a`, and writes an `a`",
           where=here and sorting.decode([int(made.logits[4].argmax())]) == "a")


def why_some_letters_are_written_whatever_head_1_reads(lesson: Says) -> None:
    free, texts = measure.written(SHOWN, MASK)[:, 1], measure.texts()
    pushed = [measure.written(SHOWN, MASK, (1, 0, place))[:, 1] for place in range(3)]
    failed = {
        word
        for place in range(3)
        for row, word in enumerate(WORDS)
        if texts[row, place] not in (free[row], pushed[place][row])
    }
    shares = SHOWN.whole(texts).attention[:, 1, 4, :3]
    read = dict(zip(WORDS, (shares * (texts[:, :3] == 1)).sum(-1).tolist(), strict=True))
    twice = min(read[word] for word in WORDS if word.count("a") == 2)
    at_bar = dict(zip(WORDS, measure.written(SHOWN, MASK, (1, 1, 3))[:, 1].tolist(), strict=True))
    kinds = Counter(len(set(word)) for word in WORDS)
    lesson(
        f"There are {kinds[2] + 2 * kinds[3]} cases, because {kinds[2]} words have one letter "
        f"that would not be written then, and {kinds[3]} have two. Three fail, in `aab`, `aba` and "
        "`baa`. Head 1 reads the b, and still an a is written: head 2 takes more from the two a’s "
        "there than where a word has fewer. Made to read the bar, it lets the b pass",
        where=failed == {"aab", "aba", "baa"}
        and twice > max(read[word] for word in WORDS if word.count("a") < 2)
        and {at_bar[word] for word in failed} == {2},
    )
    lesson(f"an a for every word, and {sum('a' in word for word in WORDS)} of the 27 do begin with",
           where=(measure.written(measure.without(SHOWN, "heads"), MASK)[:, 0] == 1).all())


def the_second_exercise(lesson: Says, teaching: Says) -> None:
    lesson(
        f"Of all 81, three for each of the 27 words, there are {81 - measure.found(SHOWN).sum()}")
    for page, word, b, words in (
        (lesson, "baa", 0, "of `baa` is written, {:.3f} of head 1 lies on the `b`"),
        (lesson, "aab", 2, "Head 1 reads the b, and still an a is written"),
        (teaching, "aab", 2, "head 1 reads the b, with a share of {:.3f}, and a is written"),
    ):
        text = sorting.complete(sorting.prompt(word)[:3])
        share = SHOWN.whole(text[:-1]).attention[0, 4]
        written = measure.written(SHOWN, MASK)[(sorting.all_sequences() == text).all(1), 1]
        page(words.format(share.max()), where=int(share.argmax()) == b and written.tolist() == [1])


def what_a_teacher_is_told(teaching: Says) -> None:
    half, seeds = int(LEAKY.right.median()), len(LEAKY.right)
    teaching(
        f"Of {seeds} seeds without the mask none writes all; they write {LEAKY.right.min()} to "
        f"{LEAKY.right.max()}, and half of them {half} or fewer",
        f"With the mask {(HONEST.right == 27).sum()} of {seeds} seeds write all 27",
        f"The one in the pictures writes {measure.right(PEEKS, OPEN)}",
        where=LEAKY.right.max() < 27,
    )
    teaching(f"all {seeds} seeds end below 0.05 nats. The floor is {sorting.FLOOR:.3f}",
             "With the mask none is below",
             where=LEAKY.losses[-1].max() < 0.05 and HONEST.below == 0)
    bars = (SHOWN.whole(measure.texts()).attention[:, 0, 3:].argmax(-1) == 3).sum()
    followed, pushed = map(sum, zip(*measure.pushes(SHOWN), strict=True))
    teaching(f"There are {81 - measure.found(SHOWN).sum()} such cases of 81, in {bars} of them",
             f"Mostly it is written ({followed} of {pushed})",
             f"a sixth of it in the mean: {math.log(3) / 6:.2f}")
