"""The host that mounts anywidgets on a static page, on pages made for each case, read from disk."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from book.page import bundle

from .conftest import DRAWN, OpenPage, Visit, still_read, write_page

Mount = Callable[..., Visit]

COUNTER = """
export default {
  initialize({ model }) {
    window.initialized = (window.initialized ?? 0) + 1;
    return () => { window.left = [...(window.left ?? []), "model"]; };
  },
  render({ model, el }) {
    const button = document.createElement("button");
    const paint = () => { button.textContent = model.get("n"); };
    button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
    model.on("change:n", paint);
    paint();
    el.append(button);
    return () => { window.left = [...(window.left ?? []), "view"]; };
  },
};
"""


def model(esm: str, buffers: list[Any] | None = None, **state: Any) -> dict[str, Any]:
    """A saved widget model, as ipywidgets writes it."""
    return {
        "model_module": "anywidget",
        "state": {"_esm": esm, **state},
        "buffers": [
            {"path": path, "data": base64.b64encode(data).decode(), "encoding": "base64"}
            for path, data in buffers or []
        ],
    }


def render(body: str) -> str:
    """A widget module whose `render` has this body."""
    return f"export default {{ async render({{ model, el }}) {{ {body} }} }};"


@pytest.fixture
def mount(tmp_path: Path, open_page: OpenPage) -> Mount:
    """Open a page from disk with these models, and views of those that are named."""

    def mount(models: dict[str, Any], views: str, script: str = "script", **beside: Any) -> Visit:
        body = "".join(f"{{{view}}}" for view in views.split())
        write_page(tmp_path, models, body, script, **beside)
        return open_page("page.html", base=tmp_path.as_uri() + "/")

    return mount


def texts(page: Page) -> list[str]:
    return page.locator(".live-widget-view").all_inner_texts()


@pytest.mark.parametrize("script", ["script", "script defer", "script async"])
def test_views_of_one_model_share_it(mount, script):
    models = {"a": model(COUNTER, n=2), "b": model(COUNTER, n=7)}
    visit = mount(models, "a b a", script)
    visit.page.locator("button").first.click()
    assert texts(visit.page) == ["3", "7", "3"]
    assert visit.page.evaluate("window.initialized") == 2
    visit.assert_clean()


def test_a_widget_does_not_wait_for_the_rest_of_its_page(tmp_path, open_page):
    models = {"a": model(render("el.textContent = 'on';"))}
    body = '{a}<p>Text.</p><script src="slow.js"></script><p>The end.</p>'
    with still_read(open_page, tmp_path, models, body) as visit:
        expect(visit.page.locator(".live-widget-view")).to_have_text("on")
    expect(visit.page.get_by_text("The end.")).to_be_visible()
    visit.assert_clean()


def test_buffers_arrive_as_data_views_wherever_they_belong(mount):
    esm = render("""
        const { gated } = model.get("runs");
        el.textContent = [model.get("bias"), gated.weights, gated.layers[1].data]
            .map((v) => `${v.constructor.name} ${v.getFloat32(0, true)}`).join();
    """)
    one, two, three = b"\0\0\x80\x3f", b"\0\0\0\x40", b"\0\0\x40\x40"
    buffers: list[Any] = [
        (["bias"], one),
        (["runs", "gated", "weights"], two),
        (["runs", "gated", "layers", 1, "data"], three),
    ]
    visit = mount({"a": model(esm, buffers, runs={"gated": {"layers": [{}, {}]}})}, "a")
    assert texts(visit.page) == ["DataView 1,DataView 2,DataView 3"]


BESIDE = render("""
    el.textContent = model.get("runs").one[1] + model.get("bias").getFloat32(0, true);
    el.classList.add("coloured");
""")
ZERO = base64.b64encode(b"\0\0\x80\x3f").decode()


def beside(folder: Path, *names: str) -> dict[str, Any]:
    """Models whose long texts, the module among them, lie in a file beside their page."""
    texts = [BESIDE, ".coloured { color: #010203 }", ZERO, "a text "]
    (folder / "long.js").write_text(f"document.currentScript.texts = {json.dumps(texts)};", "utf-8")
    ways = [
        ["state", "_esm"],
        ["state", "_css"],
        ["buffers", 0, "data"],
        ["state", "runs", "one", 1],
    ]
    models = {name: model("", [(["bias"], b"")], runs={"one": [0, None]}) for name in names}
    for one in models.values():
        one["beside"] = {"file": "long.js", "at": [*enumerate(ways)]}
    return models


def test_what_is_long_comes_from_a_file_beside_the_page(tmp_path, mount):
    """Read from a disk as well; once for all models."""
    visit = mount(beside(tmp_path, "a", "b"), "a b a")
    assert texts(visit.page) == ["a text 1"] * 3
    colours = visit.page.locator(".coloured").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).color)"
    )
    assert colours == ["rgb(1, 2, 3)"] * 3
    assert visit.page.locator("script[src='long.js']").count() == 1
    visit.assert_clean()


def test_a_file_that_is_not_there_is_said(tmp_path, mount):
    models = beside(tmp_path, "a")
    models["a"]["beside"]["file"] = "lost.js"
    visit = mount(models, "a")
    assert texts(visit.page) == ["This widget could not be shown. The browser's console says why."]
    assert any("lost.js could not be loaded" in message for message in visit.console)


FAR = '{a}<p style="height: 6000px">Text.</p>{b}<script src="slow.js"></script>'


@pytest.mark.parametrize("come", ["scrollTo(0, 5000)", "location.hash = '#open-it'", None])
def test_a_widget_far_down_waits(come, tmp_path, open_page):
    """For a reader to be near, an address that asks for it, or a page that is there as a whole."""
    views = '.live-widget-view[data-state="ready"]'
    with still_read(open_page, tmp_path, beside(tmp_path, "a", "b"), FAR) as visit:
        expect(visit.page.locator(views)).to_have_count(1)
        visit.page.evaluate(DRAWN)
        expect(visit.page.locator(views)).to_have_count(1)
        if come:
            visit.page.evaluate(come)
            expect(visit.page.locator(views)).to_have_count(2)
    expect(visit.page.locator(views)).to_have_count(2)
    visit.assert_clean()


def test_listeners_hear_changes_until_they_are_taken_off(mount):
    esm = render("""
        const heard = [];
        const listener = (_, value) => heard.push(value);
        model.on("change:n change:m", listener);
        model.on("change", () => heard.push("any"));
        model.set("n", 3);
        model.set("n", 3);
        model.set("m", 5);
        model.off("change:n", listener);
        model.set("n", 11);
        model.off("change:m");
        model.set("m", 13);
        model.off();
        model.set("n", 17);
        el.textContent = heard.join(" ");
    """)
    visit = mount({"a": model(esm, n=2, m=2)}, "a")
    assert texts(visit.page) == ["3 any 5 any any any"]


def test_a_module_may_export_a_function_and_bring_a_style(mount):
    esm = "export default async () => ({ render({ el }) { el.textContent = 'made'; } });"
    visit = mount({"a": model(esm, _css=".live-widget-view { color: rgb(1, 2, 3); }")}, "a a")
    assert texts(visit.page) == ["made", "made"]
    color = "getComputedStyle(document.querySelector('.live-widget-view')).color"
    assert visit.page.evaluate(color) == "rgb(1, 2, 3)"
    assert visit.page.locator("style").count() == 1


def test_cleanup_runs_when_the_page_goes_away(mount):
    page = mount({"a": model(COUNTER, n=2)}, "a a").page
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert page.evaluate("window.left") is None
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: false }))")
    assert page.evaluate("window.left.sort()") == ["model", "view", "view"]


BROKEN = {
    "throws": (model(render("throw new Error('out of order');")), "out of order"),
    "does not parse": (model("export default {"), "SyntaxError"),
    "classic": ({"model_module": "@jupyter-widgets/controls", "state": {}}, "needs a kernel"),
    "lost": (None, "no state of the widget model a"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_widget_says_so_and_spares_the_others(name, mount):
    broken, reason = BROKEN[name]
    models = {"a": broken, "b": model(COUNTER, n=2)}
    visit = mount({name: each for name, each in models.items() if each}, "a b")
    sentence = "This widget could not be shown. The browser's console says why."
    assert texts(visit.page) == [sentence, "2"]
    (message,) = visit.console
    assert message.startswith("error: ")
    assert reason in message
    with pytest.raises(AssertionError, match="console"):
        visit.assert_clean()


OPENING = bundle.javascript("opening", (Path(__file__).parents[1] / "widgets", *bundle.FOLDERS))
WORDS = """<main>{a}<p><a id="early" href="#open-a">one</a></p><script src="slow.js"></script>
<p><a id="late" href="#open-a">another</a></p></main>"""


def test_words_that_are_read_after_their_widget_is_there_are_a_button(tmp_path, open_page):
    """As on a long page over a slow line: the widget lives while the rest is still to come."""
    opening = model(f"{OPENING}export default {{ render }};", states=["a"], late=0, opened="")
    with still_read(open_page, tmp_path, {"a": opening}, WORDS) as visit:
        expect(visit.page.locator("#early")).to_have_role("button")
    expect(visit.page.locator("#late")).to_have_role("button")
    expect(visit.page.locator("#late")).to_have_attribute("aria-pressed", "false")
