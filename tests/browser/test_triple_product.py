"""What the explorer computes, draws and trains, beside torch; its day is in transcripts."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from scipy import stats
from torch import Generator, Tensor

from attn_notes.models.triple_product import AttentionOnly, cos2_to_plane, projected_volume
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product import claims, evidence, explorer, recipe

from .asked import UNLIKELY, asking, close, near
from .cell_page import OPEN, Change
from .training_page import TRAIN, Challenge, trained
from .widget_page import Scene

SECOND = "triple_product_volume"
HAND = "show=arrows&mode=hand"
CHAPTER = f"book/lessons/triple_product/{SECOND}.html"  # which has all of it
RUNS = [*itertools.product(("one layer", "two layers"), recipe.KINDS)]
TASKS = (recipe.FIXED, recipe.RANDOM, Copying(5, 40, (7, 39)))  # longer than the alphabet
NETWORK = """
  const network = async (name) => {
    const run = models[0].get("runs")[name];
    await widget.machines.prepare([run]);
    return widget.make(run, widget.unpack(run, 0));
  };"""
"""A network ready to run, by the name of its run."""


ask = asking("triple_product", lambda: [explorer.explorer()])


def sent(task: Copying) -> dict[str, Any]:
    """A task as the page has it."""
    return {"vocabulary": task.vocabulary, "periods": [*task.periods], "length": task.length}


def sample(task: Copying) -> Tensor:
    return task.sample(1, Generator().manual_seed(7))


def spell(tokens: Tensor) -> str:
    return "".join(chr(ord("a") + token) for token in tokens.tolist())


# What it computes


def scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Of keys the dot product, volume and angle, as they stand in the softmax."""
    d = q.shape[-1]
    volume = -projected_volume(q, k, r) / d**1.5
    return torch.stack([q @ k.mT / d**0.5, volume, 8 * cos2_to_plane(q, k, r)], -1)


@pytest.mark.parametrize("d", [3, 16])
def test_scores_are_those_of_torch(d, ask):
    q, k, r = torch.randn(3, 60, 1, d, generator=Generator().manual_seed(d), dtype=torch.float64)
    k[:10] = 1.5 * q[:10] - 0.5 * r[:10]  # in the plane
    r[10:20], q[10:20] = torch.eye(d)[0] * 2, torch.eye(d)[0]  # no plane
    q[20:25], k[25:30], r[30:35] = 0, 0, 0
    k[35:40] *= 1e3
    found = ask(
        """(q, k, r) => q.map((_, i) => ['dot', 'volume', 'angle'].map(
            (kind) => widget.score(kind, q[i], k[i], r[i], 8)))""",
        *(x[:, 0].tolist() for x in (q, k, r)),
    )
    near(found, scores(q, k, r)[:, 0, 0], 1e-12)
    assert max(volume for _, volume, _ in found) == 0


def test_networks_are_those_of_torch_and_their_picture_has_their_scores(ask):
    """Also with a loud token; three coordinates of a key do in place of all."""
    for layers, kind in RUNS:
        model = evidence.trained(layers, kind).half().double().requires_grad_(False)
        (text,) = sample(recipe.TASKS[layers])
        name = f"{kind}, {layers}"
        for position, factor in ((0, 1.0), (5, 30.0), (2, 0.1)):
            logits, attention = ask(
                f"""async (name, text, loud) => {{ {NETWORK}
                  const {{ logits, layers }} = widget.forward(await network(name), text, loud);
                  const full = (row) => [...row, ...text.slice(row.length).map(() => 0)];
                  return [logits, layers.map((heads) => heads.map((h) => h.attention.map(full)))];
                }}""",
                *(name, text.tolist(), {"position": position, "factor": factor}),
            )
            loudness = torch.ones(1, len(text)).double()
            loudness[0, position] = factor
            right = model.observe(text[None], loudness)
            close(logits, right[0][0])
            close(attention, right[1][0])
        worst = ask(
            f"""async (name, text) => {{ {NETWORK}
              const model = await network(name);
              const {{ score, d }} = model.config;
              const scale = {{ dot: (d / 3) ** 0.5, volume: (d / 3) ** 1.5, angle: 1 }}[score];
              return Math.max(...widget.forward(model, text).layers.flat().flatMap((head) =>
                text.flatMap((_, i) => {{
                  const {{ q, r, keys }} = widget.place(head, i);
                  return keys.map((k, j) => {{
                    const there = head.scores[i][j];
                    const here = widget.score(score, q, k, r, head.beta) / scale;
                    return Math.abs(here - there) / (1 + Math.abs(there));
                  }});
                }})));
            }}""",
            *(name, text.tolist()),
        )
        assert worst < 1e-9, name


@pytest.mark.parametrize("task", TASKS)
def test_what_is_known_of_a_text_is_what_the_task_says(task, ask):
    (text,) = sample(task)
    known = """(text, task) => text.map((_, i) => text.slice(0, i + 1)).map((read) =>
        [widget.ideal(read, task), widget.source(read, task)])"""
    ideal, source = zip(*ask(known, text.tolist(), sent(task)), strict=True)
    close(ideal, task.ideal(text[None])[0].exp(), atol=1e-5)
    assert not any(source[: min(task.periods) - 1])
    due = range(max(task.periods) - 1, task.length - 1)
    assert [text[source[i]] for i in due] == [text[i + 1] for i in due]
    asked = """(task) => {
      const x = widget.heldOut(task, 40);
      return [x, widget.bestLoss(x, task), widget.example(task)];
    }"""
    drawn, best, example = ask(asked, sent(task))
    x, period = torch.tensor(drawn), max(task.periods)
    assert best == pytest.approx(best_loss(task, x), abs=1e-5)
    assert len(x.unique(dim=0)) == 40
    assert period < len(example) <= 40 and example[period:] == example[:-period]
    assert {*example} <= {*"abcdefghijklmnop"[: task.vocabulary]}


def best_loss(task: Copying, x: Tensor) -> float:
    return float(-task.ideal(x)[:, :-1].gather(-1, x[:, 1:, None]).mean())


def test_sequences_follow_the_tasks_law(ask):
    """Every sequence of a small task, as often as it should come."""
    task, n = Copying(vocabulary=2, length=5, periods=(1, 2, 3)), 6000
    x = torch.tensor(ask("(task, n) => widget.heldOut(task, n)", sent(task), n))
    expected = torch.zeros(2**5, dtype=torch.float64)
    places = 2 ** torch.arange(5)
    for period in task.periods:
        for start in itertools.product(range(2), repeat=period):
            sequence = torch.tensor([start[t % period] for t in range(5)])
            expected[int(sequence @ places)] += n / len(task.periods) / 2**period
    found, likely = torch.bincount(x @ places, minlength=2**5), expected > 0
    assert found[~likely].sum() == 0
    assert stats.chisquare(found[likely], expected[likely]).pvalue > UNLIKELY


def test_a_few_sequences_are_judged_as_many_are(ask):
    """The page's own judgement, of weights that come without the Worker's."""
    model = AttentionOnly(recipe.TWO_LAYERS["volume"], Generator().manual_seed(4))
    model.requires_grad_(False)
    weights = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    found, x = ask(
        """async (weights, task) => {
          const lesson = models[0].get("lessons")["volume 2"];
          await widget.machines.prepare([lesson]);
          return [widget.judgedHere(widget.make(lesson, weights), task), widget.heldOut(task, 6)];
        }""",
        *(weights, sent(recipe.RANDOM)),
    )
    expected = recipe.RANDOM.probe(model, torch.tensor(x))
    assert found["loss"] == pytest.approx(float(expected["loss"]), abs=1e-5)
    assert found["copied"] == pytest.approx(float(expected["accuracy"]), abs=1e-6)


NAMES = ("start again", "a loud stranger", "a loud friend", "whisper")


@pytest.mark.parametrize("width", [1280, 390])
def test_labels_stay_in_the_frame_and_apart(width, open_page):
    widget = open_page(CHAPTER, width=width).page.locator(".triple-product").first
    by_hand(widget)
    scene = widget.locator(".tp-scene:visible")
    for name in NAMES:
        if name == "whisper":  # by a word of the text, below a guess
            widget.page.locator('a[href="#open-whisper"]').dispatch_event("click")
        else:
            widget.get_by_role("button", name=name, exact=True).click()
        frame, *boxes = (
            (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
            for each in (scene, *scene.locator(".tp-name").all())
            if (box := each.bounding_box())
        )
        assert len(boxes) == 5  # q, r and three keys
        for left, top, right, bottom in boxes:  # 2 pixels are a halo around the letters
            assert left >= frame[0] - 2 and top >= frame[1] - 2
            assert right <= frame[2] + 2 and bottom <= frame[3] + 2
        for a, b in itertools.combinations(boxes, 2):
            wide, high = (min(a[n + 2], b[n + 2]) - max(a[n], b[n]) for n in (0, 1))
            assert wide <= 4 or high <= 8, name  # lines are higher than letters


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "layers", "steps", "period"),
    [
        ("dot product", "1", "200", "12"),
        ("volume", "1", "200", "12"),
        ("angle", "1", "200", "12"),
        ("dot product", "2", "400", "6 to 12"),
    ],
)
def test_it_learns_to_copy(kind, layers, steps, period, visit, ask, tmp_path):
    """To the chapter's criterion, by the page's word and by torch's on the same sequences."""
    task = recipe.FIXED if period == "12" else recipe.RANDOM
    configs = recipe.ONE_LAYER if layers == "1" else recipe.TWO_LAYERS
    model = AttentionOnly(configs[kind.removesuffix(" product")], Generator())
    options = (kind, layers, period)
    in_a_head(visit.page.locator(".triple-product").first)
    widget, end = trained(visit, model, tmp_path, *options, steps=steps, speed="fast")
    assert end["score"] == "1.000"
    x = torch.tensor(ask("(task) => widget.heldOut(task, 256)", sent(task)))
    found = task.probe(model, x)
    line = widget.locator(".attn-train-line").first.text_content() or ""
    share = f"{100 * float(found['accuracy']):.1f}".removesuffix(".0")
    assert found["accuracy"] >= claims.SOLVED and f"{share} % of the copies right" in line
    above = float(line.split("right, ")[1].split(" nats")[0])
    assert above == pytest.approx(float(found["loss"]) - best_loss(task, x), abs=1e-3) and above > 0


# As test_widgets.py tries it


def by_hand(widget: Locator) -> None:
    """With all numbers in sight, which are folded when it opens."""
    widget.get_by_role("radio", name="By hand").click()
    widget.locator(".tp-right details").evaluate("fold => { fold.open = true; }")
    expect(widget.get_by_label("q, x")).to_be_visible()


def in_a_head(widget: Locator) -> None:
    """With the vectors in sight, which are folded when it opens."""
    widget.get_by_role("radio", name="In a trained head").click()
    if not widget.locator(".tp-vectors[open]").count():
        widget.get_by_text("The vectors behind the bars").click()
    expect(widget.get_by_label("Key", exact=True)).to_be_visible()


def heads(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader of the lesson may come to see: a head alone."""
    yield "at first", False
    widget.get_by_label("Text", exact=True).fill("a b")
    yield "refused", True


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What one of the second page may, one after another."""
    by_hand(widget)
    widget.get_by_role("button", name="a loud friend").click()
    yield "by hand", False
    widget.get_by_label("q, x").fill("abc")
    yield "by hand, refused", True
    in_a_head(widget)
    yield "in a head", False
    widget.get_by_label("Text", exact=True).fill("a b")
    yield "in a head, refused", True


def use(widget: Locator) -> None:
    widget.get_by_text("another sequence").click()


SCENES = [
    Scene("triple_product", heads),
    Scene("triple_product, by hand", states, page=SECOND, handles=".tp-hit", asked=HAND),
]
TOGETHER = [[".tp-tokens", ".tp-answer", *TRAIN]]
COPIER = {"learning rate": "0.015", "steps": "200", "speed": "fast"}
CHALLENGES = [Challenge("all copy", ["1", "12"], 8, (0, 0), COPIER)]
CHANGES = [
    Change("`/ 3` in the place of `/ d**0.5`", "/ d**0.5", "/ 3", score=1),
    OPEN,
    Change("`score(*asked)`, without the turns", "*map(turn, asked)", "*asked"),
]
