"""What the chapter's widget is given: recorded models, those trained live, and what to teach."""

import pytest
import torch

from attn_notes import notebook
from attn_notes.chapters.triple_product import evidence, explorer, measure, recipe


@pytest.mark.long
def test_the_widget_starts_with_the_record_and_is_given_the_first_seed() -> None:
    widget = explorer.explorer()
    names = [f"{k}, {n}" for n in ("one layer", "two layers") for k in recipe.KINDS]
    assert list(widget.runs) == names
    assert widget.runs["dot, one layer"]["config"]["periods"] == [12]
    assert widget.runs["dot, two layers"]["config"]["periods"] == [6, 7, 8, 9, 10, 11, 12]
    before = dict(widget.runs)
    two = measure.train_comparison(
        recipe.TWO_OF_EACH, recipe.RANDOM, **(recipe.TWO | {"seeds": 2, "steps": 1})
    )
    explorer.load(widget, "two layers", two)
    for name in names:
        changed = widget.runs[name] != before[name]
        assert changed == name.endswith("two layers")
        assert widget.runs[name]["seeds"] == 1


@pytest.mark.slow
def test_it_opens_on_a_head_that_reads_another_period() -> None:
    widget = explorer.explorer()
    assert (widget.mode, widget.run) == ("head", "dot, one layer")
    text = explorer.ELSEWHERE
    period = recipe.HALF - 1
    assert widget.text == text and text[period:] == text[:period] and len({*text[:period]}) == 11
    # It looks as far back as it has learnt, and so one place past the right one.
    model = evidence.trained("one layer", "dot")
    tokens = torch.tensor([["abcdefghijklmnop".index(c) for c in text]])
    logits, attention = model.observe(tokens)
    row = attention[0, 0, widget.head, widget.position]
    assert row.max() > 0.9 and int(logits[0, widget.position].argmax()) == int(
        tokens[0, int(row.argmax())]
    )
    assert widget.position - int(row.argmax()) == period
    assert text[int(row.argmax())] != text[widget.position + 1]


@pytest.mark.slow
def test_it_teaches_what_the_chapter_trains() -> None:
    lessons = explorer.explorer().lessons
    assert list(lessons) == [f"{kind} {layers}" for layers in (1, 2) for kind in recipe.KINDS]
    for settings, layers in ((recipe.ONE, 1), (recipe.TWO, 2)):
        for kind in recipe.KINDS:
            lesson = lessons[f"{kind} {layers}"]
            assert (lesson["rate"], lesson["steps"]) == (settings["lr"][kind], settings["steps"])
            assert [task["floor"] for task in lesson["tasks"]] == [
                recipe.FIXED.floor, recipe.RANDOM.floor
            ]  # fmt: skip


def test_progress_says_how_many_copies_are_right() -> None:
    said: list[str] = []

    class Line(notebook.Progress):
        def __call__(self, text: str) -> None:
            said.append(text)

    explorer.progress(Line())("dot", 25, {"accuracy": torch.tensor([0.2, 0.4])})
    assert said == ["dot, step 25: 30 % of the copies are right"]
