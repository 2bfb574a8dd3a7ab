"""The host that mounts anywidgets on a static page, on pages made for each case, read from disk."""

import base64
import json
import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import HANGS, OpenPage, Visit

Mount = OpenPage

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
    """Open a page from disk with these models and a view of each id in `views`."""
    host = files("attn_notes.widgets").joinpath("_host.js").read_text("utf-8")
    (tmp_path / "host.js").write_text(host, "utf-8")

    def mount(
        models: dict[str, Any], views: list[str], script: str = "script", **beside: Any
    ) -> Visit:
        mime = "application/vnd.jupyter.widget-"
        state = json.dumps({"state": models, **beside}).replace("</", r"<\/")
        places = "".join(
            f'<div id="view{i}"><script type="{mime}view+json">'
            f'{{"model_id": "{escape(view)}"}}</script></div>'
            for i, view in enumerate(views)
        )
        (tmp_path / "page.html").write_text(
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>A page</title>'
            f'<script type="{mime}state+json">{state}</script>'
            f'<{script} src="host.js"></script><body>{places}',
            "utf-8",
        )
        return open_page("page.html", base=tmp_path.as_uri() + "/")

    return mount


def texts(page: Page) -> list[str]:
    return page.locator(".live-widget-view").all_inner_texts()


@pytest.mark.parametrize("script", ["script", "script defer", "script async"])
def test_views_of_one_model_share_it(mount: Mount, script: str) -> None:
    models = {"a": model(COUNTER, n=2), "b": model(COUNTER, n=7)}
    visit = mount(models, ["a", "b", "a"], script)
    visit.page.locator("#view0 button").click()
    assert texts(visit.page) == ["3", "7", "3"]
    assert visit.page.evaluate("window.initialized") == 2
    visit.assert_clean()


def test_a_widget_does_not_wait_for_the_rest_of_its_page(open_page: OpenPage) -> None:
    """Below it stands a script that does not come before the widget has asked for something."""
    mime = "application/vnd.jupyter.widget-"
    state = json.dumps(
        {"state": {"a": model(render('await fetch("asked"); el.textContent = "on";'))}}
    )
    page = (
        '<!DOCTYPE html><html lang="en"><title>A page</title><script src="host.js"></script><body>'
        f'<script type="{mime}state+json">{state}</script>'
        f'<script type="{mime}view+json">{{"model_id": "a"}}</script><p>Text.</p>'
        '<script src="slow.js"></script><p>The end.</p>'
    )
    asked = threading.Event()
    waited = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = files("attn_notes.widgets").joinpath("_host.js").read_text("utf-8")
            if self.path == "/asked":
                asked.set()
            elif self.path == "/slow.js":
                waited.append(asked.wait(HANGS / 1000))
            kind = "text/html" if self.path == "/" else "text/javascript"
            content = {"/": page, "/host.js": host}.get(self.path, "// nothing").encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visit = open_page("", base=f"http://127.0.0.1:{server.server_port}/")
        assert texts(visit.page) == ["on"]
        server.shutdown()
    assert waited == [True]
    visit.assert_clean()


def test_buffers_arrive_as_data_views_wherever_they_belong(mount: Mount) -> None:
    esm = render("""
        const { gated } = model.get("runs");
        el.textContent = [model.get("bias"), gated.weights, gated.layers[1].data]
            .map((v) => `${v.constructor.name} ${v.getFloat32(0, true)}`).join();
    """)
    one, two, three = b"\0\0\x80\x3f", b"\0\0\0\x40", b"\0\0\x40\x40"
    visit = mount(
        {
            "a": model(
                esm,
                [
                    (["bias"], one),
                    (["runs", "gated", "weights"], two),
                    (["runs", "gated", "layers", 1, "data"], three),
                ],
                runs={"gated": {"layers": [{}, {}]}},
            )
        },
        ["a"],
    )
    assert texts(visit.page) == ["DataView 1,DataView 2,DataView 3"]


def test_what_several_models_have_in_common_stands_once(mount: Mount) -> None:
    esm = render("""
        const first = model.get("_esm").split("\\n")[0]; // which goes to a Worker, whole
        el.textContent = model.get("runs").one[1] + model.get("bias").getFloat32(0, true) + first;
        el.classList.add("coloured");
    """)
    models = {name: model(esm, [(["bias"], b"")], runs={"one": [0, None]}) for name in "ab"}
    for one in models.values():
        one["state"] |= {"_esm": ["//!\n", None], "_css": None}
    data = base64.b64encode(b"\0\0\x80\x3f").decode()
    texts_at = {
        esm: [[name, "state", "_esm", 1] for name in "ab"],
        ".coloured { color: #010203 }": [[name, "state", "_css"] for name in "ab"],
        data: [[name, "buffers", 0, "data"] for name in "ab"],
        "a text ": [["a", "state", "runs", "one", 1], ["b", "state", "runs", "one", 1]],
    }
    shared = [{"text": text, "at": at} for text, at in texts_at.items()]
    visit = mount(models, ["a", "b"], shared=shared)
    assert texts(visit.page) == ["a text 1//!"] * 2
    colours = visit.page.locator(".coloured").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).color)"
    )
    assert colours == ["rgb(1, 2, 3)"] * 2
    visit.assert_clean()


def test_listeners_hear_changes_until_they_are_taken_off(mount: Mount) -> None:
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
    visit = mount({"a": model(esm, n=2, m=2)}, ["a"])
    assert texts(visit.page) == ["3 any 5 any any any"]


def test_a_module_may_export_a_function_and_bring_a_style(mount: Mount) -> None:
    esm = "export default async () => ({ render({ el }) { el.textContent = 'made'; } });"
    visit = mount({"a": model(esm, _css=".live-widget-view { color: rgb(1, 2, 3); }")}, ["a", "a"])
    assert texts(visit.page) == ["made", "made"]
    color = "getComputedStyle(document.querySelector('.live-widget-view')).color"
    assert visit.page.evaluate(color) == "rgb(1, 2, 3)"
    assert visit.page.locator("style").count() == 1


def test_cleanup_runs_when_the_page_goes_away(mount: Mount) -> None:
    page = mount({"a": model(COUNTER, n=2)}, ["a", "a"]).page
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert page.evaluate("window.left") is None
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: false }))")
    assert page.evaluate("window.left.sort()") == ["model", "view", "view"]


BROKEN = {
    "throws": (model(render("throw new Error('out of order');")), "out of order"),
    "does not parse": (model("export default {"), "SyntaxError"),
    "classic": (
        {"model_module": "@jupyter-widgets/controls", "state": {}},
        "@jupyter-widgets/controls needs a kernel",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_widget_says_so_and_spares_the_others(name: str, mount: Mount) -> None:
    broken, reason = BROKEN[name]
    visit = mount({"a": broken, "b": model(COUNTER, n=2)}, ["a", "b"])
    sentence = "This widget could not be shown. The browser's console says why."
    assert texts(visit.page) == [sentence, "2"]
    (message,) = visit.console
    assert message.startswith("error: ")
    assert reason in message
    with pytest.raises(AssertionError, match="console"):
        visit.assert_clean()


def test_a_view_without_a_state_says_so(mount: Mount) -> None:
    visit = mount({}, ["lost"])
    assert "no state of the widget model lost" in visit.console[0]
