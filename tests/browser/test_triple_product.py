"""The triple-product explorer on its page, against torch and as a reader uses it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor

from attn_notes.chapters.triple_product import recipe
from attn_notes.models.triple_product import (
    AttentionOnly,
    Config,
    cos2_to_plane,
    projected_volume,
)
from attn_notes.tasks.copying import Copying
from attn_notes.widgets.triple_product import SHOWN

from ..packed import parameters
from .conftest import Visit
from .widget_page import (
    FAKE_MODEL,
    Field,
    Scene,
    centre,
    saved_runs,
    zero_weights,
)

CHAPTER = "book/triple_product.html"
OpenPage = Callable[..., Visit]
COORDINATE = "A coordinate is a number from −5 to 5, such as 1.25."
EXAMPLE = "abcdefghijklabcdef"  # of period 12, which every model of the chapter knows
HTML = '<img src=x onerror="alert(1)">'
HALO = 2  # around the letters of a label, and part of its box
SIZES = ("score", "vocabulary", "width", "heads", "layers", "residual")


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The explorer as the page saved it, but by hand, and in sight of the mouse."""
    module_page.evaluate(FAKE_MODEL, {"mode": "hand"})
    widget = module_page.locator("#scratch")
    widget.locator(".tp-scene:visible").scroll_into_view_if_needed()
    return widget


@pytest.fixture
def head(widget: Locator) -> Locator:
    """The same in a trained head."""
    in_a_head(widget)
    return widget


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    return saved_runs(module_page)


def in_a_head(widget: Locator) -> None:
    """With the vectors in sight, which are folded when it opens."""
    widget.get_by_role("radio", name="In a trained head").click()
    expect(widget.get_by_label("Text", exact=True)).to_be_visible()
    if not widget.locator(".tp-vectors[open]").count():
        widget.get_by_text("The vectors behind the bars").click()
    expect(widget.get_by_label("Key", exact=True)).to_be_visible()


def by_hand(widget: Locator) -> None:
    widget.get_by_role("radio", name="By hand").click()
    expect(widget.get_by_label("q, x")).to_be_visible()


def rebuild(run: dict[str, Any], seed: int) -> AttentionOnly:
    """A torch model with the weights that the page holds, in double precision."""
    sizes = {name: run["config"][name] for name in SIZES}
    model = AttentionOnly(Config(head_dim=run["config"]["d"], **sizes), Generator())
    model.load_state_dict(parameters(run, seed))
    return model.double().requires_grad_(False)


def task_of(run: dict[str, Any]) -> Copying:
    config = run["config"]
    return Copying(config["vocabulary"], config["length"], tuple(config["periods"]))


def spell(tokens: Tensor) -> str:
    return "".join(chr(ord("a") + token) for token in tokens.tolist())


def read(text: str) -> Tensor:
    return torch.tensor([[ord(letter) - ord("a") for letter in text]])


def number(text: str | None) -> float:
    return float((text or "").replace("−", "-").removeprefix("× "))


def fact(widget: Locator, name: str) -> float:
    term = widget.locator(".tp-mode:not([hidden]) dt").filter(has_text=name)
    return number(term.locator("xpath=following-sibling::dd[1]").text_content())


def columns(widget: Locator) -> Tensor:
    """The table by hand: one row for each key, the three softmaxes beside each other."""
    values = widget.locator(".tp-table .tp-value").all_text_contents()
    return torch.tensor([float(value) for value in values]).view(5, 3)


def vectors(widget: Locator) -> dict[str, list[float]]:
    """The coordinates as every tip says them."""
    labels = widget.locator(".tp-handle[role]").evaluate_all("all => all.map((e) => e.ariaLabel)")
    found = {}
    for label in labels:
        name, _, rest = label.partition(": ")
        found[name] = [number(x) for x in rest.removesuffix(", selected").split(", ")]
    return found


def by_torch(widget: Locator) -> Tensor:
    """What the table should show for the coordinates on the page."""
    found = {name: torch.tensor([x], dtype=torch.float64) for name, x in vectors(widget).items()}
    q, r = found.pop("q"), found.pop("r")
    k = torch.cat(list(found.values()))
    scores = [q @ k.T / 3**0.5, -projected_volume(q, k, r) / 3**1.5, 8 * cos2_to_plane(q, k, r)]
    return torch.cat(scores).softmax(-1).T.float()


# Against torch ---------------------------------------------------------------------------------


def test_the_chapter_shows_every_score_with_one_layer_and_with_two(
    head: Locator, runs: dict[str, Any]
) -> None:
    names = head.get_by_label("Model", exact=True).locator("option").all_text_contents()
    assert sorted(names) == sorted(runs)
    configs = [runs[name]["config"] for name in names]
    listed = list(dict.fromkeys((config["layers"], config["score"]) for config in configs))
    assert listed == [(layers, score) for layers in (1, 2) for score in SHOWN]


@pytest.mark.parametrize("d", [3, 16])
def test_scores_are_those_of_torch(module_page: Page, d: int) -> None:
    generator = Generator().manual_seed(d)
    q, k, r = torch.randn(3, 60, d, generator=generator, dtype=torch.float64)
    k[:10] = 1.5 * q[:10] - 0.5 * r[:10]  # in the plane
    r[10:20] = 0
    r[10:20, 0], q[10:20] = 2, torch.eye(d, dtype=torch.float64)[0]  # no plane
    q[20:25], k[25:30], r[30:35] = 0, 0, 0
    k[35:40] *= 1e3
    found = module_page.evaluate(
        """([q, k, r]) => q.map((_, i) => ['dot', 'volume', 'angle'].map(
            (kind) => widget.score(kind, q[i], k[i], r[i], 8)))""",
        [x.tolist() for x in (q, k, r)],
    )
    q, k, r = (x[:, None] for x in (q, k, r))
    scores = [q @ k.mT / d**0.5, -projected_volume(q, k, r) / d**1.5, 8 * cos2_to_plane(q, k, r)]
    expected = torch.cat(scores, -1)[:, 0]
    actual = torch.tensor(found, dtype=torch.float64)
    torch.testing.assert_close(actual, expected, atol=1e-9, rtol=1e-9)
    assert (actual[:, 1] <= 0).all()
    torch.testing.assert_close(
        actual[:10, 1:], torch.tensor([[0.0, 8.0]] * 10).double(), atol=1e-9, rtol=0
    )
    assert actual[10:25, 1].eq(0).all()


def test_networks_are_those_of_torch(module_page: Page, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        task = task_of(run)
        text = task.sample(1, Generator().manual_seed(7))[0]
        for seed in (0, run["seeds"] - 1):
            model = rebuild(run, seed)
            for position, factor in ((0, 1), (5, 30), (2, 0.1)):
                found = module_page.evaluate(
                    """async ([name, seed, text, loud]) => {
                      const run = saved.runs[name];
                      await widget.machines.prepare([run]);
                      const model = widget.make(run, widget.unpack(run, seed));
                      const { logits, layers } = widget.forward(model, text, loud);
                      const full = (row) => [...row, ...text.slice(row.length).map(() => 0)];
                      return { logits, attention: layers.map((heads) =>
                        heads.map((head) => head.attention.map(full))) };
                    }""",
                    [name, seed, text.tolist(), {"position": position, "factor": factor}],
                )

                loudness = torch.ones(1, task.length).double()
                loudness[0, position] = factor
                logits, attention = model.observe(text[None], loudness)
                for key, expected in (("logits", logits[0]), ("attention", attention[0])):
                    actual = torch.tensor(found[key], dtype=torch.float64)
                    torch.testing.assert_close(actual, expected, atol=1e-9, rtol=1e-9)


def test_the_picture_keeps_what_scores_depend_on(module_page: Page, runs: dict[str, Any]) -> None:
    """Three coordinates in place of all d: every score can be had from them."""
    for name, run in runs.items():
        text = task_of(run).sample(1, Generator().manual_seed(3))[0].tolist()
        worst = module_page.evaluate(
            """async ([name, text]) => {
              const run = saved.runs[name];
              const { score, d } = run.config;
              await widget.machines.prepare([run]);
              const model = widget.make(run, widget.unpack(run, 0));
              let worst = 0;
              for (const head of widget.forward(model, text).layers.flat()) {
                text.forEach((_, i) => {
                  const { q, r, keys } = widget.place(head, i);
                  keys.forEach((k, j) => {
                    const scale = { dot: (d / 3) ** 0.5, volume: (d / 3) ** 1.5, angle: 1 }[score];
                    const here = widget.score(score, q, k, r, head.beta) / scale;
                    const there = head.scores[i][j];
                    worst = Math.max(worst, Math.abs(here - there) / (1 + Math.abs(there)));
                  });
                });
              }
              return worst;
            }""",
            [name, text],
        )
        assert worst < 1e-9, name


def test_the_best_predictor_is_the_tasks(module_page: Page, runs: dict[str, Any]) -> None:
    for run in {str(run["config"]["periods"]): run for run in runs.values()}.values():
        task = task_of(run)
        text = task.sample(1, Generator().manual_seed(5))
        found = module_page.evaluate(
            "([text, config]) => text.map((_, i) => widget.ideal(text.slice(0, i + 1), config))",
            [text[0].tolist(), run["config"]],
        )
        torch.testing.assert_close(
            torch.tensor(found), task.ideal(text)[0].exp(), atol=1e-5, rtol=0
        )


def test_a_suggested_text_is_of_the_task(module_page: Page) -> None:
    for task in (
        Copying(16, 24, (12,)),
        Copying(16, 24, tuple(range(6, 13))),
        Copying(5, 40, (7, 39)),  # longer than the alphabet, and than half of what can be shown
    ):
        config = {"vocabulary": task.vocabulary, "periods": list(task.periods)}
        text = module_page.evaluate("(config) => widget.example(config)", config)
        period = max(task.periods)
        assert period < len(text) <= 40
        assert text[period:] == text[:-period]
        assert set(text) <= set("abcdefghijklmnop"[: task.vocabulary])


def test_the_source_of_a_copy_holds_the_token_due(module_page: Page, runs: dict[str, Any]) -> None:
    find = "([text, config]) => text.map((_, i) => widget.source(text.slice(0, i + 1), config))"
    for run in runs.values():
        task = task_of(run)
        text = task.sample(1, Generator().manual_seed(13))[0].tolist()
        found = module_page.evaluate(find, [text, run["config"]])
        assert found[: min(task.periods) - 1] == [None] * (min(task.periods) - 1)
        due = range(max(task.periods) - 1, task.length - 1)
        assert [text[found[i]] for i in due] == [text[i + 1] for i in due]
    stranger = [0] * 20 + [1] * 20
    assert module_page.evaluate(find, [stranger, run["config"]])[-1] is None


def test_drawn_sequences_are_of_the_task(module_page: Page, runs: dict[str, Any]) -> None:
    for run in runs.values():
        task = task_of(run)
        for text in module_page.evaluate(
            "(config) => Array.from({ length: 40 }, () => widget.sequence(config))", run["config"]
        ):
            assert len(text) == task.length
            assert set(text) <= set(range(task.vocabulary))
            assert any(text[p:] == text[:-p] for p in task.periods)


# By hand ---------------------------------------------------------------------------------------


def test_the_table_is_what_torch_says_in_every_scene(widget: Locator) -> None:
    for name in ("start again", "a loud stranger", "a whisper", "−q", "q along r", "start again"):
        widget.get_by_role("button", name=name, exact=True).click()
        # a tip says two digits, which a key ten times as long makes 0.05 of a score
        torch.testing.assert_close(columns(widget), by_torch(widget), atol=0.06, rtol=0)


def test_scenes_show_what_they_say(widget: Locator) -> None:
    note = widget.locator(".tp-note")

    def scene(name: str) -> Tensor:
        widget.get_by_role("button", name=name, exact=True).click()
        expect(note).to_contain_text("k₁" if name in ("a loud friend", "start again") else "")
        return columns(widget)

    dot, volume, angle = range(3)
    start, start_vectors = scene("start again"), vectors(widget)
    assert start.argmax(0).tolist()[volume] == 0
    stranger = scene("a loud stranger")
    assert vectors(widget)["k₁"] == start_vectors["k₁"]
    assert stranger[1, dot] > 0.5 and stranger[1, volume] == 0
    friend = scene("a loud friend")
    assert friend[0, dot] > 0.9 and friend[0, volume] < 0.01 and friend[0, angle] > 0.5
    whisper = scene("a whisper")
    assert whisper[:, volume].argmax() == 1 and whisper[1, angle] < 0.05
    for axis, x in zip("xyz", (1.4, 1.0, 0.4), strict=True):  # left where it was, k₁ would win
        widget.get_by_role("button", name="k₁", exact=True).click()
        widget.get_by_label(f"k₁, {axis}").fill(str(x))
    assert vectors(widget)["k₁"] == start_vectors["k₁"]
    assert columns(widget)[:, volume].argmax() == 0
    tie = scene("−q")
    assert tie[:, volume].eq(0.2).all() and tie[:, dot].argmin() == 1
    flat = scene("q along r")
    assert flat[:, volume].eq(0.2).all()
    assert fact(widget, "volume score") == 0
    expect(widget.locator(".tp-disc")).to_have_count(0)
    torch.testing.assert_close(scene("start again"), start)
    expect(widget.locator(".tp-disc")).to_have_count(1)


def test_a_note_goes_with_its_scene(module_page: Page, widget: Locator) -> None:
    note, keyboard = widget.locator(".tp-note"), module_page.keyboard
    edits: list[Callable[[], None]] = [
        lambda: drag(module_page, centre(tip(widget, "k₃")), -40, 30),
        lambda: tip(widget, "q").press("ArrowUp"),
        lambda: widget.get_by_label(re.compile("^Length of ")).press("End"),
        lambda: widget.get_by_label("r, y").fill("1"),
    ]
    for edit in edits:
        widget.get_by_role("button", name="start again").click()
        expect(note).to_contain_text("k₁ lies close to the plane")
        widget.get_by_role("button", name="k₄", exact=True).click()  # moves nothing
        expect(note).to_contain_text("k₁ lies close to the plane")
        edit()
        expect(note).to_have_text("")
    widget.get_by_role("button", name="a whisper").click()
    expect(note).to_contain_text("k₁ was lifted too")
    tip(widget, "k₁").focus()
    keyboard.press("PageUp")
    expect(note).to_have_text("")
    keyboard.press("PageDown")
    expect(note).to_contain_text("k₁ was lifted too")


def test_the_angle_says_what_it_is_measured_to(widget: Locator) -> None:
    note = widget.locator(".tp-note")

    def fill(vector: str, *coordinates: float) -> None:
        for axis, x in zip("xyz", coordinates, strict=True):
            widget.get_by_label(f"{vector}, {axis}").fill(str(x))

    def cosine_to(name: str) -> float:
        found = {id: torch.tensor(x).double() for id, x in vectors(widget).items()}
        return float(torch.cosine_similarity(found["k₂"], found[name], dim=0) ** 2)

    widget.get_by_role("button", name="start again").click()
    assert fact(widget, "angle score, 8 cos²") == pytest.approx(
        8 * fact(widget, "cos² of the angle to the plane"), abs=0.05
    )
    fill("q", 0, 0, 0)
    expect(note).to_contain_text("There is no q")
    assert fact(widget, "cos² of the angle to r") == pytest.approx(cosine_to("r"), abs=0.006)
    expect(widget.locator(".tp-scene:visible .tp-axis").first).to_be_visible()
    torch.testing.assert_close(columns(widget), by_torch(widget), atol=0.02, rtol=0)
    fill("r", 0, 0, 0)
    expect(note).to_contain_text("There is no q and no r")
    assert fact(widget, "cos² of the angle to nothing") == 0
    assert columns(widget).eq(0.2).all()
    fill("q", 2, -1, 0.5)
    expect(note).to_contain_text("span no plane")
    assert fact(widget, "cos² of the angle to q") == pytest.approx(cosine_to("q"), abs=0.006)


def tip(widget: Locator, name: str) -> Locator:
    return widget.get_by_role("button", name=re.compile(f"^{name}: "))


def drag(page: Page, start: tuple[float, float], dx: float, dy: float) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + dx / 2, start[1] + dy / 2)
    page.mouse.move(start[0] + dx, start[1] + dy)
    page.mouse.up()


def test_a_tip_is_dragged_and_everything_follows(module_page: Page, widget: Locator) -> None:
    before, scores = vectors(widget), columns(widget)
    x, y = centre(tip(widget, "k₃"))
    drag(module_page, (x, y), -40, 30)
    after = vectors(widget)
    assert [name for name in before if after[name] != before[name]] == ["k₃"]
    expect(widget.get_by_text("The selected key, k₃", exact=True)).to_be_visible()
    assert not torch.equal(columns(widget), scores)
    torch.testing.assert_close(columns(widget), by_torch(widget), atol=0.02, rtol=0)
    found = centre(tip(widget, "k₃"))
    assert found == pytest.approx((x - 40, y + 30), abs=1.5)  # the tip stays under the pointer


def test_a_tip_dragged_far_away_stays_within_its_limits(module_page: Page, widget: Locator) -> None:
    drag(module_page, centre(tip(widget, "q")), -3000, -3000)
    assert max(map(abs, vectors(widget)["q"])) == 5
    drag(module_page, centre(tip(widget, "q")), 40, 40)
    assert max(map(abs, vectors(widget)["q"])) <= 5


def test_the_background_turns_the_space_and_changes_no_number(
    module_page: Page, widget: Locator
) -> None:
    scene = widget.locator(".tp-scene:visible")

    def corner() -> tuple[float, float]:
        box = scene.bounding_box()
        assert box
        return box["x"], box["y"]

    def places() -> list[float]:
        """In the scene, wherever the page has been scrolled to."""
        tips = [centre(tip(widget, name)) for name in ("q", "r", "k₁", "k₂")]
        return [x - edge for each in tips for x, edge in zip(each, corner(), strict=True)]

    left, top = corner()
    numbers, before = (vectors(widget), columns(widget).tolist()), places()
    drag(module_page, (left + 15, top + 15), 90, 20)
    assert places() != pytest.approx(before)
    assert (vectors(widget), columns(widget).tolist()) == numbers
    turned = places()
    scene.focus()
    module_page.keyboard.press("ArrowRight")
    assert places() != pytest.approx(turned)
    module_page.keyboard.press("ArrowLeft")
    assert places() == pytest.approx(turned)
    widget.get_by_role("button", name="start again").click()
    assert places() == pytest.approx(before)


def painted(widget: Locator) -> list[str]:
    """The keys, by their numbers, and the disc of the plane, from the first drawn to the last."""
    found: list[str] = widget.locator(".tp-scene:visible").evaluate(
        """(scene) => [...scene.querySelectorAll('.tp-disc, .tp-arrow:not(.tp-plane-arrow)')]
          .map((e) => e.dataset.arrow ?? 'disc')"""
    )
    return found


def test_the_space_is_right_handed_and_what_is_near_is_drawn_last(module_page: Page) -> None:
    """Seen from above, with the plane of q along x and r along y as the ground."""
    keys = [[0.5, 0.5, 1.5], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.5, 1.5, 1], [-1, -1, -1]]
    vectors = {"q": [2.0, 0.0, 0.0], "r": [0.0, 2.0, 0.0], "keys": keys, "lengths": [1.0] * 5}
    module_page.evaluate(FAKE_MODEL, {"mode": "hand", "vectors": vectors, "selected": 0})
    widget = module_page.locator("#scratch")
    scene = widget.locator(".tp-scene:visible")
    scene.scroll_into_view_if_needed()
    (q_x, q_y), (r_x, r_y) = (centre(tip(widget, name)) for name in "qr")
    above, below = (centre(tip(widget, name))[1] for name in ("k₃", "k₅"))
    assert above < below
    # The sides that q and r point to are near, so lower on the screen; and x, y turn to the left.
    origin = scene.evaluate(
        """(scene) => {
          const shaft = scene.querySelector('.tp-plane-arrow .tp-shaft');
          const at = new DOMPoint(shaft.x1.baseVal.value, shaft.y1.baseVal.value);
          const { x, y } = at.matrixTransform(shaft.getScreenCTM());
          return [x, y];
        }"""
    )
    assert q_y > origin[1] and r_y > origin[1]
    assert q_x < origin[0] < r_x
    # First what is below the ground, then the ground, then what is above; the far before the near.
    assert painted(widget) == ["4", "1", "disc", "2", "0", "3"]
    # Of the box, the edges are unseen that meet in its farthest corner, which is the origin.
    unseen = scene.locator(".tp-unseen").evaluate_all(
        """(all) => all.map((e) => ['1', '2'].map((end) => {
          const at = new DOMPoint(+e.getAttribute(`x${end}`), +e.getAttribute(`y${end}`));
          const { x, y } = at.matrixTransform(e.getScreenCTM());
          return [x, y];
        }))"""
    )
    assert len(unseen) == 3
    assert all(any(end == pytest.approx(origin, abs=0.1) for end in edge) for edge in unseen)
    # The near side follows the hand.
    box = scene.bounding_box()
    assert box
    drag(module_page, (box["x"] + 15, box["y"] + 15), 20, 0)
    (q_right, _), (r_right, _) = (centre(tip(widget, name)) for name in "qr")
    assert q_right > q_x and r_right > r_x
    before = [centre(tip(widget, name))[1] for name in "qr"]
    drag(module_page, (box["x"] + 15, box["y"] + 15), 0, 20)
    assert all(centre(tip(widget, name))[1] > y for name, y in zip("qr", before, strict=True))


def test_tips_move_by_the_keyboard_alone(module_page: Page, widget: Locator) -> None:
    keyboard = module_page.keyboard
    widget.get_by_role("radio", name="By hand").focus()
    keyboard.press("Tab")
    expect(widget.locator(".tp-scene:visible")).to_be_focused()
    for name in ("q", "r", "k₁", "k₂", "k₃"):
        keyboard.press("Tab")
        expect(tip(widget, name)).to_be_focused()
    x, y, z = vectors(widget)["k₃"]
    keyboard.press("Enter")
    expect(tip(widget, "k₃")).to_have_accessible_name(re.compile(", selected$"))
    for key in (
        "ArrowRight",
        "ArrowUp",
        "ArrowUp",
        "PageDown",
        "Shift+PageDown",
        "Shift+ArrowLeft",
    ):
        keyboard.press(key)
    assert vectors(widget)["k₃"] == pytest.approx([x + 0.1 - 0.5, y + 0.2, z - 0.6])
    expect(tip(widget, "k₃")).to_be_focused()
    score = f"{fact(widget, 'volume score'):.2f}".replace("-", "−")
    expect(widget.locator(".tp-mode:not([hidden]) > [aria-live]")).to_have_text(
        f"k₃: volume score {score}."
    )


def test_the_length_of_a_key(module_page: Page, widget: Locator) -> None:
    slider = widget.get_by_label("Length of k₂")
    before = {name: fact(widget, name) for name in ("volume score", "dot product", "cos² of")}
    slider.focus()
    module_page.keyboard.press("End")
    assert fact(widget, "volume score") == pytest.approx(100 * before["volume score"], abs=0.5)
    assert fact(widget, "dot product") == pytest.approx(10 * before["dot product"], abs=0.05)
    assert fact(widget, "cos² of") == before["cos² of"]
    expect(slider).to_have_attribute("aria-valuetext", "× 10.0")
    expect(widget.locator(".tp-beyond")).to_have_count(1)  # cut at the frame
    widget.get_by_role("button", name="k₁", exact=True).click()
    expect(widget.get_by_label("Length of k₁")).to_have_attribute("aria-valuetext", "× 1.00")
    widget.get_by_role("button", name="k₂", exact=True).click()
    widget.get_by_label("Length of k₂").focus()
    module_page.keyboard.press("Home")
    assert fact(widget, "dot product") == pytest.approx(0.1 * before["dot product"], abs=0.01)


def test_coordinates_as_numbers(widget: Locator) -> None:
    for name, typed, value in (
        ("q, x", "-1.5", -1.5),
        ("q, z", "−.25", -0.25),
        ("k₂, y", " 2e0 ", 2),
    ):
        widget.get_by_label(name).fill(typed)
        vector, _, axis = name.partition(", ")
        assert vectors(widget)[vector]["xyz".index(axis)] == value
    torch.testing.assert_close(columns(widget), by_torch(widget), atol=0.02, rtol=0)


BAD = ["", " ", "abc", "1e999", "-1e999", "5.01", "-6", "NaN", "Infinity", "1 2", "0x1", HTML]


# In a trained head -----------------------------------------------------------------------------


def shown(widget: Locator) -> dict[str, Any]:
    found: dict[str, Any] = widget.evaluate(
        """(root) => {
          const tokens = [...root.querySelectorAll('.tp-token')];
          return {
            text: tokens.map((e) => e.querySelector('.tp-letter').textContent).join(''),
            position: tokens.findIndex((e) => e.ariaChecked === 'true'),
            key: tokens.findIndex((e) => e.classList.contains('tp-the-key')),
            attention: tokens.map((e) =>
              Number(e.querySelector('.tp-bar-fill').style.transform.match(/\\((.+)\\)/)[1])),
            answer: root.querySelector('.tp-answer').textContent,
            verdict: root.querySelector('.tp-verdict').textContent,
          };
        }"""
    )
    return found


def expected_answer(text: str, logits: Tensor) -> str:
    p, token = logits.softmax(-1).max(-1)
    last = f"{text[-1]}{len(text)}"
    return f"After {last} the model expects {chr(ord('a') + token)} with probability {p:.2f}."


def test_what_is_shown_is_what_torch_says(head: Locator, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        seed = run["seeds"] - 1
        head.get_by_label("Seed", exact=True).select_option(str(seed))
        task, model = task_of(run), rebuild(run, seed)
        text = task.sample(1, Generator().manual_seed(11))
        head.get_by_label("Text", exact=True).fill(spell(text[0]))
        logits, attention = model.observe(text)
        ideal = task.ideal(text)[0].exp()
        layer, which = run["config"]["layers"] - 1, run["config"]["heads"] - 1
        head.get_by_label("Layer", exact=True).select_option(index=layer)
        head.get_by_label("Head", exact=True).select_option(index=which)
        for i in (task.length - 2, max(task.periods) - 1, 1, 0):
            head.locator(".tp-letter").nth(i).click()
            page = shown(head)
            assert (page["text"], page["position"]) == (spell(text[0]), i)
            row = attention[0, layer, which, i]
            torch.testing.assert_close(
                torch.tensor(page["attention"]).double(), row, atol=1e-4, rtol=0
            )
            assert page["key"] == row.argmax()
            assert fact(head, "attention") == pytest.approx(row.max().item(), abs=0.006)
            assert page["answer"] == expected_answer(spell(text[0, : i + 1]), logits[0, i])
            due, guess = int(ideal[i].argmax()), int(logits[0, i].argmax())
            if ideal[i, due] < 0.99:
                assert page["verdict"].startswith("It cannot be known yet")
            elif due == guess:
                assert page["verdict"] == "✓ That is right."
            else:
                assert page["verdict"] == f"✗ The text goes on with {chr(ord('a') + due)}."


def test_it_opens_on_the_bars_alone(open_page: OpenPage) -> None:
    """Which letter it looks at, and what it says; no vector before there is a word of them."""
    widget = open_page(CHAPTER).page.locator(".triple-product").first
    expect(widget.locator(".tp-bar").first).to_be_visible()
    expect(widget.locator(".tp-answer:visible")).to_have_text(re.compile("^After k18 the model"))
    expect(widget.locator(".tp-verdict:visible")).to_contain_text("repeats after 11")
    expect(widget.locator(".tp-scene:visible")).to_have_count(0)
    widget.get_by_text("The vectors behind the bars").click()
    expect(widget.locator(".tp-scene:visible")).to_have_count(1)


def test_a_loud_token(module_page: Page, head: Locator, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        head.get_by_label("Layer", exact=True).select_option(index=0)
        head.get_by_label("Head", exact=True).select_option(index=0)
        head.get_by_role("button", name="another sequence").click()
        head.get_by_label("Key", exact=True).select_option(index=3)
        before = shown(head)
        slider = head.get_by_label(re.compile("^Loudness of "))
        slider.focus()
        module_page.keyboard.press("End")
        expect(slider).to_have_attribute("aria-valuetext", "× 100.0")
        model = rebuild(run, 0)

        tokens = read(before["text"])
        loudness = torch.ones(tokens.shape).double()
        loudness[0, 3] = 100
        logits, attention = model.observe(tokens, loudness)
        i, page = before["position"], shown(head)
        row = attention[0, 0, 0, i]
        torch.testing.assert_close(torch.tensor(page["attention"]).double(), row, atol=1e-4, rtol=0)
        assert page["answer"] == expected_answer(before["text"][: i + 1], logits[0, i])
        head.get_by_label("Key", exact=True).select_option(index=4)  # another token is not loud
        expect(head.get_by_label(re.compile("^Loudness of "))).to_have_attribute(
            "aria-valuetext", "× 1.00"
        )
        assert shown(head)["attention"] == before["attention"]


def test_keys_are_chosen_by_bar_and_by_tip(head: Locator) -> None:
    position = shown(head)["position"]
    head.locator(".tp-bar").nth(2).click()
    assert (shown(head)["key"], shown(head)["position"]) == (2, position)
    expect(head.locator(".tp-scene:visible .tp-arrow.tp-selected")).to_have_attribute(
        "data-arrow", "2"
    )
    head.locator(".tp-scene:visible [data-id='5'] .tp-hit").dispatch_event(
        "pointerdown", {"pointerId": 1, "button": 0}
    )
    assert shown(head)["key"] == 5
    expect(head.locator(".tp-scene:visible .tp-arrow")).to_have_count(
        position + 1 + head.locator(".tp-scene:visible .tp-plane-arrow.tp-arrow").count()
    )


def test_positions_by_the_keyboard(module_page: Page, head: Locator) -> None:
    head.get_by_label("Text", exact=True).fill("abcabca")
    head.get_by_role("radiogroup", name="Query position").get_by_role("radio").nth(5).focus()
    for key, position in (
        ("ArrowLeft", 4),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("End", 6),
        ("ArrowUp", 5),
    ):
        module_page.keyboard.press(key)
        assert shown(head)["position"] == position
        expect(head.locator(".tp-token").nth(position)).to_be_focused()
    attention = shown(head)["attention"]
    assert attention[6] == 0 and sum(attention) == pytest.approx(1, abs=1e-3)


def test_another_sequence(head: Locator, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        before = shown(head)["text"]
        head.get_by_role("button", name="another sequence").click()
        text = shown(head)["text"]
        assert text != before
        assert len(text) == run["config"]["length"]
        expect(head.get_by_label("Text", exact=True)).to_have_value(text)


def test_another_model_keeps_the_text_and_opens_on_its_copying_head(
    head: Locator, runs: dict[str, Any]
) -> None:
    """A text of period 7: the models of one layer know only 12."""
    text = "gabdfec" * 3
    head.get_by_label("Text", exact=True).fill(text)
    i = shown(head)["position"]
    for name, run in runs.items():
        head.get_by_label("Layer", exact=True).select_option(index=0)
        head.get_by_label("Head", exact=True).select_option(index=0)
        head.get_by_label("Model", exact=True).select_option(name)
        assert (shown(head)["text"], shown(head)["position"]) == (text, i)
        chosen = [
            int(head.get_by_label(label, exact=True).input_value()) for label in ("Layer", "Head")
        ]
        if 7 in run["config"]["periods"]:
            attention = rebuild(run, 0).observe(read(text))[1][0, :, :, i, i + 1 - 7]
            layer, which = divmod(int(attention.argmax()), run["config"]["heads"])
            assert chosen == [layer, which], name
            expect(head.locator(".tp-verdict")).not_to_contain_text("fits this text")
        else:
            assert chosen == [0, 0], name
            expect(head.locator(".tp-verdict")).to_contain_text(
                "This text repeats after 7, and the model has seen sequences that repeat after 12 "
                "only."
            )
            guess = head.locator(".tp-answer strong").text_content()
            due = text[i + 1]
            said = "It copies all the same." if guess == due else f"The text goes on with {due}."
            expect(head.locator(".tp-verdict")).to_contain_text(said)


def test_a_text_that_does_not_repeat_has_no_right_answer(
    head: Locator, runs: dict[str, Any]
) -> None:
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        head.get_by_label("Text", exact=True).fill("a" * 20 + "b" * 20)
        last = head.locator(".tp-letter").last
        last.click()  # nothing follows it
        periods = {(12,): "12", tuple(range(6, 13)): "6 to 12"}[tuple(run["config"]["periods"])]
        expect(head.locator(".tp-verdict")).to_have_text(
            f"None of the model's periods ({periods}) fits this text; one fits {EXAMPLE}."
        )
        head.get_by_label("Text", exact=True).fill(EXAMPLE)
        expect(head.locator(".tp-verdict")).to_have_text(re.compile("^[✓✗]"))


def test_a_text_shorter_than_the_period_it_was_trained_on(
    head: Locator, runs: dict[str, Any]
) -> None:
    """Three letters again and again: nothing in it rules a period of 12 out, and yet it repeats."""
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        head.get_by_label("Text", exact=True).fill("abcabcab")
        periods = {(12,): "12", tuple(range(6, 13)): "6 to 12"}[tuple(run["config"]["periods"])]
        verdict = head.locator(".tp-verdict")
        expect(verdict).to_contain_text(
            "This text repeats after 3, and the model has seen sequences that repeat after "
            f"{periods} only."
        )
        guess = head.locator(".tp-answer strong").text_content()
        expect(verdict).to_contain_text("✓ It copies" if guess == "b" else "goes on with b.")
    head.get_by_label("Text", exact=True).fill(EXAMPLE)


def test_the_winner_is_named(head: Locator, runs: dict[str, Any]) -> None:
    for name, run in runs.items():
        head.get_by_label("Model", exact=True).select_option(name)
        winner = {
            "dot": "its length along q",
            "volume": "the winner is the lowest key, not the flattest",
            "angle": "the winner is the flattest key, not the lowest",
        }[run["config"]["score"]]
        expect(head.locator(".tp-left .attn-help").filter(has_text=winner)).to_be_visible()


NO_TEXTS = ["", "a b", "abz", "abc1", "a" * 41, "é", "🙂", "абв", HTML, "<script>alert(1)</script>"]


# Both: screen reader, phone, dark, other views -------------------------------------------------


def test_modes_by_the_keyboard(module_page: Page, widget: Locator) -> None:
    widget.get_by_role("radio", name="By hand").focus()
    module_page.keyboard.press("ArrowRight")
    expect(widget.get_by_role("radio", name="In a trained head")).to_be_focused()
    expect(widget.get_by_label("Text", exact=True)).to_be_visible()
    expect(widget.locator(".tp-table")).to_be_hidden()
    module_page.keyboard.press("ArrowLeft")
    expect(widget.locator(".tp-table")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_labels_stay_in_the_frame_and_apart(width: int, open_page: OpenPage) -> None:
    visit = open_page(CHAPTER, width=width)
    widget = visit.page.locator(".triple-product").first
    by_hand(widget)
    scene = widget.locator(".tp-scene:visible")
    for name in ("start again", "a loud stranger", "a loud friend", "a whisper", "−q", "q along r"):
        widget.get_by_role("button", name=name, exact=True).click()
        frame = scene.bounding_box()
        boxes = [label.bounding_box() for label in scene.locator(".tp-name").all()]
        assert frame and len(boxes) == 7
        for i, a in enumerate(boxes):
            assert a
            assert a["x"] >= frame["x"] - HALO and a["y"] >= frame["y"] - HALO
            assert a["x"] + a["width"] <= frame["x"] + frame["width"] + HALO
            assert a["y"] + a["height"] <= frame["y"] + frame["height"] + HALO
            for b in boxes[:i]:
                assert b
                wide = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
                high = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
                assert wide <= 2 * HALO or high <= 4 * HALO, name  # lines are higher than letters


def test_it_wakes_up_when_a_model_arrives(module_page: Page) -> None:
    module_page.evaluate(FAKE_MODEL, {"runs": {}, "run": "", "text": "", "mode": "head"})
    scratch = module_page.locator("#scratch")
    expect(scratch.get_by_text("No model yet")).to_be_visible()
    expect(scratch.get_by_label("Text", exact=True)).to_be_hidden()
    module_page.evaluate(
        "fake.set('run', Object.keys(saved.runs)[0]); fake.set('runs', saved.runs)"
    )
    expect(scratch.get_by_text("No model yet")).to_be_hidden()
    expect(scratch.get_by_label("Text", exact=True)).not_to_have_value("")
    zero_weights(module_page)
    # no key stands out, so attention is even, and so is the prediction
    page = shown(scratch)
    read_so_far = page["position"] + 1
    assert page["attention"][:read_so_far] == pytest.approx(
        [1 / read_so_far] * read_so_far, abs=1e-4
    )


# As test_widgets.py tries it -------------------------------------------------------------------


def test_a_coordinate_that_is_refused_goes_when_one_leaves_it(widget: Locator) -> None:
    field, before = widget.get_by_label("r, y"), vectors(widget)["r"][1]
    field.fill("abc")
    field.blur()
    expect(field).to_have_value(f"{before:.2f}")
    expect(field).to_have_accessible_description("")


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    by_hand(widget)
    widget.get_by_role("button", name="a loud friend").click()
    yield "by hand", False
    widget.get_by_label("q, x").fill("abc")
    yield "by hand, refused", True
    in_a_head(widget)
    yield "in a head", False
    widget.get_by_label("Text", exact=True).fill("a b")
    yield "in a head, refused", True


def where(show: Callable[[Locator], None]) -> Callable[[Visit], Locator]:
    """The page's own explorer, in a mode."""

    def opened(visit: Visit) -> Locator:
        widget = visit.page.locator(".triple-product").first
        show(widget)
        return widget

    return opened


TEXT = (
    f"Type 1 to 40 letters from a to {chr(ord('a') + recipe.FIXED.vocabulary - 1)}, without "
    f"spaces, such as {EXAMPLE}; what is shown belongs to the text before."
)
SCENES = [
    Scene(
        "triple_product",
        states,
        (
            Field(
                where(in_a_head),
                "Text",
                "ABCabc",
                dict.fromkeys(NO_TEXTS, TEXT),
                shown,
                ".tp-ask + .tp-message",
            ),
            Field(
                where(by_hand),
                "r, y",
                "1",
                dict.fromkeys(BAD, COORDINATE),
                lambda widget: (vectors(widget), columns(widget).tolist()),
                message="",
            ),
        ),
        asleep={"run": "", "mode": "head"},
        awake={"mode": "head"},
    )
]
