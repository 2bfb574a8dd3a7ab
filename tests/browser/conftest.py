"""A server for the built site, and a page that remembers what it asked for."""

import io
import json
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    CDPSession,
    ConsoleMessage,
    Frame,
    Page,
    Request,
    Response,
    Route,
    ViewportSize,
)

from book.page import bundle
from book.site.dependencies import evidence_stems, lesson_stems, own_stems, toc_entries

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("ATTN_NOTES_SITE", ROOT / "_build" / "html"))
STEMS = lesson_stems(ROOT)
BACKED = evidence_stems(ROOT)
"""Those about a source, each with a widget of its kind and a page of evidence."""


def address(page: str) -> str:
    """Of the first page of this name in the contents."""
    entries = (entry for entry in toc_entries(ROOT) if entry.rpartition("/")[2] == page)
    return f"{next(entries)}.html"


CHAPTERS = [*map(address, STEMS)]
LESSONS = ROOT / "book" / "lessons"
SHOWING = [*BACKED, *(stem for stem in own_stems(ROOT) if (LESSONS / stem / "widget.py").is_file())]
"""Those, and pages of the book's own that have a widget: `test_STEM.py` says what it may show."""
TRAINING = [stem for stem in STEMS if (LESSONS / stem / f"_{stem}_train.js").is_file()]
"""Those whose page trains."""


def by_day(cases: Iterable[str], of_day: Collection[str]) -> list[Any]:
    """The cases of a test, of which these are asked by day and the others at night."""
    return [pytest.param(x, marks=() if x in of_day else pytest.mark.long) for x in cases]


MIME = "application/vnd.jupyter.widget-"
WINDOW = ViewportSize(width=1280, height=900)
# What a careful host would send. `blob:` is where the widgets' modules are imported from.
STRICT_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'"
)
BARE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>A widget</title>
<script>
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => {{
    document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light';
  }};
  dark.onchange = follow;
  follow();
</script>{styles}</head>
<body><main class="bd-content"
 style="display: block; width: min(960px, 100vw - 2rem); margin: auto">
<h1>A widget</h1>{states}<div class="cell_output">{widget}</div></main>{host}</body></html>
"""


def bare(page: str, picture: str) -> str:
    """A built page without its lesson: style sheets, its first own widget, what it was saved with.

    Or that which shows this picture, if there is one.

    A chapter takes seconds to open, and a question to its widget alone need not wait for it.
    """
    own = r'<div class="live-widget (?P<stem>\w+) (?P=stem)" .*?</noscript></div>'
    places = [place[0] for place in re.finditer(own, page, re.S)]
    assert places, "no lesson's own widget stands on this page"
    saved = r'(<script type="application/vnd\.jupyter\.widget-state\+json">)(.*?)(</script>)'
    kept = re.findall(saved, page, re.S)
    models = {id: model for _, state, _ in kept for id, model in json.loads(state)["state"].items()}
    shown = [id for id, model in models.items() if model["state"].get("picture") == picture]
    wanted = [place for place in places if any(id in place for id in shown)]
    return BARE.format(
        styles="".join(re.findall(r'<link[^>]* rel="(?:stylesheet|icon)"[^>]*>', page)),
        states="".join(map("".join, kept)),
        widget=(wanted or places)[0],
        host="".join(re.findall(r'<script[^>]* src="[^"]*widget-host\.js[^"]*"></script>', page)),
    )


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder under a prefix, and nothing elsewhere; says nothing.

    An address that asks for `bare` gives the page with nothing on it but its first widget, and
    `bare=training` with the one that trains, where that is another.
    """

    prefix = "/"
    policy: str | None = None

    def send_head(self) -> Any:
        # What a browser may ask a host for while it reads the root page, which only leads on and
        # is the one that names no icon.
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
            return None
        asked = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "bare" not in asked:
            return super().send_head()
        page = Path(self.translate_path(self.path)).read_text("utf-8")
        content = bare(page, *asked["bare"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)

    def translate_path(self, path: str) -> str:
        inside = urlsplit(path).path.startswith(self.prefix)
        return super().translate_path(path.removeprefix(self.prefix) if inside else "/no such file")

    def end_headers(self) -> None:
        if self.policy:
            self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serve(
    folder: Path, prefix: str = "/", policy: str | None = None, kind: type[Handler] = Handler
) -> Iterator[str]:
    """Serve a folder on this machine; gives the address, which ends in the prefix."""
    handler = type("OfThis", (kind,), {"prefix": prefix, "policy": policy})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{prefix}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    for chapter in CHAPTERS:
        if not (SITE / chapter).is_file():
            why = f"{SITE / chapter} is not built: run `make book`, or list it in _toc.yml"
            pytest.fail(why, pytrace=False)
    return SITE


@contextmanager
def empty_page(
    browser: Browser, folder: Path, policy: str | None = None, **options: Any
) -> Iterator[Page]:
    """A page with nothing in it, served from a folder."""
    (folder / "index.html").write_text("<!DOCTYPE html><title>empty</title>", "utf-8")
    with serve(folder, policy=policy) as address, browser.new_context(**options) as context:
        page = context.new_page()
        page.goto(address)
        yield page


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    """The address of the site, served from the root of a host."""
    with serve(site) as address:
        yield address


@pytest.fixture(scope="session")
def strict_server(site: Path) -> Iterator[str]:
    """The address of the site under a subfolder of a host that allows only what is its own."""
    with serve(site, "/some/subfolder/", STRICT_POLICY) as address:
        yield address


MOUNTED = """() => [...document.querySelectorAll('script[type$="widget-view+json"]')]
  .every((script) => script.nextElementSibling?.dataset.state)
  && !document.querySelector("[data-hosted='']")"""

DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
"""Ends when a frame has been drawn."""


@dataclass
class Visit:
    """A page that was opened, and what went on while it was."""

    page: Page
    external: list[str] = field(default_factory=list)  # requests to other hosts, none of them met
    console: list[str] = field(default_factory=list)  # errors and warnings
    errors: list[str] = field(default_factory=list)  # uncaught in the page's scripts
    failed: list[str] = field(default_factory=list)  # requests that got no file
    responses: list[Response] = field(default_factory=list)

    def assert_clean(self) -> None:
        """Fail if the page asked another host for anything, missed a file or met an error."""
        assert not self.external, f"requests to other hosts: {self.external}"
        assert not self.failed, f"requests that failed: {self.failed}"
        assert not self.errors, f"uncaught errors: {self.errors}"
        assert not self.console, f"console: {self.console}"

    def settle(self) -> None:
        """Wait until no page leads on, fonts and math are set, every widget and editor mounted."""
        self.page.wait_for_function("!document.querySelector('meta[http-equiv=refresh]')")
        self.page.evaluate(
            "async () => { await document.fonts.ready; await window.MathJax?.startup?.promise; }"
        )
        self.page.wait_for_function(MOUNTED)


OpenPage = Callable[..., Visit]
CheckPage = Callable[..., list[str]]
"""What the fixtures `open_page` and `axe` are."""


@pytest.fixture(scope="session")
def profile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CDPSession]:
    """What the tests' pages share: a cache, and the process that draws them.

    One page, an empty one, stays open for as long, since a process ends with its last page.
    """
    folder = tmp_path_factory.mktemp("empty")
    with empty_page(browser, folder, viewport=WINDOW, reduced_motion="reduce") as page:
        yield page.context.new_cdp_session(page)


@contextmanager
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens pages, as the fixture `open_page` says; on leaving, all of them are closed."""
    profile: CDPSession = request.getfixturevalue("profile")
    shared = browser.contexts[0]
    with ExitStack() as stack:

        def open_page(
            path: str,
            *,
            width: int = WINDOW["width"],
            theme: str = "light",
            base: str | None = None,
            fresh: bool = False,
        ) -> Visit:
            base = request.getfixturevalue("server") if base is None else base
            context = shared
            if fresh:
                context = browser.new_context(reduced_motion="reduce")
                stack.callback(context.close)
            else:  # what another page has stored is no business of this one
                stored = {"origin": base, "storageTypes": "local_storage"}
                profile.send("Storage.clearDataForOrigin", stored)
            page = context.new_page()
            stack.callback(page.close)
            page.set_viewport_size(ViewportSize(width=width, height=WINDOW["height"]))
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            visit = recorded(page, base)
            page.goto(base + path)
            visit.settle()
            return visit

        yield open_page


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Open pages of the site; no other host can be reached.

    `open_page("book/index.html", width=390, theme="dark")` returns a `Visit` of the settled page.
    `base` is another server's address, or a folder's `as_uri()` with a slash, to open it from disk.
    A page has no storage of another's, but may find its files in the browser's cache; a `fresh` one
    finds nothing, as on a reader's first visit.
    """
    with opened(browser, request) as open_page:
        yield open_page


def write_page(folder: Path, models: Any, body: str, script: str = "script", **beside: Any) -> None:
    """A page with saved models, `{a}` of the body a view of the model `a`, and its host."""
    host = (bundle.HERE / "_host.js").read_text("utf-8")
    (folder / "host.js").write_text(host, "utf-8")
    state = json.dumps({"state": models, **beside}).replace("</", r"<\/")
    view = f'<div><script type="{MIME}view+json">{{"model_id": "\\1"}}</script> </div>'
    (folder / "page.html").write_text(
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f'<script type="{MIME}state+json">{state}</script>'
        f'<{script} src="host.js"></script><body>{re.sub(r"{(.*?)}", view, body)}',
        "utf-8",
    )


@contextmanager
def still_read(open_page: OpenPage, folder: Path, models: Any, body: str) -> Iterator[Visit]:
    """A page of models, of which what stands below `slow.js` comes at the end of this context."""
    write_page(folder, {}, "")
    with serve(folder) as address:
        visit = open_page("page.html", base=address)
        held: list[Route] = []
        visit.page.route("**/slow.js", lambda route: held.append(route))
        write_page(folder, models, body)
        with visit.page.expect_request("**/slow.js"):
            visit.page.reload(wait_until="commit")
        yield visit
        held[0].fulfill(body="")


@pytest.fixture
def visit(open_page: Callable[..., Visit], request: pytest.FixtureRequest) -> Iterator[Visit]:
    """The widget of the chapter that a test file names as its CHAPTER, on a page by itself.

    Afterwards nothing may have gone wrong.
    """
    visit = open_page(request.module.CHAPTER + "?bare=training")
    yield visit
    visit.assert_clean()


def recorded(page: Page, base: str) -> Visit:
    """A page that has asked for nothing yet; all but what stands at that address is another's."""
    visit = Visit(page)
    ours = urlsplit(base)
    leaving = False  # another document is asked for, and this one still stands
    given_up: list[Request] = []  # of those that failed

    def leads_away(request: Request) -> bool:
        return request.is_navigation_request() and request.frame == visit.page.main_frame

    def on_request(request: Request) -> None:
        nonlocal leaving
        leaving = leaving or leads_away(request)
        url = urlsplit(request.url)
        local = url.scheme in ("blob", "data")
        if not local and (url.scheme, url.netloc) != (ours.scheme, ours.netloc):
            visit.external.append(request.url)

    def on_failed(request: Request) -> None:
        nonlocal leaving
        # A document that is left gets no more of what it asked for: the tab's icon, say, for which
        # a browser asks only when all the rest is there.
        aborted = request.failure == "net::ERR_ABORTED"
        if leads_away(request):
            leaving = False
        elif aborted and (leaving or request.frame.is_detached()):
            return
        if aborted:
            given_up.append(request)
        visit.failed.append(request.url)

    def on_detached(frame: Frame) -> None:
        # Nor does a frame that is taken away, with its Workers: code may be stopped while modules
        # of it are still being read.
        for request in [each for each in given_up if each.frame == frame]:
            given_up.remove(request)
            visit.failed.remove(request.url)

    def on_navigated(frame: Frame) -> None:
        nonlocal leaving
        leaving = leaving and frame != visit.page.main_frame

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            visit.console.append(f"{message.type}: {message.text} ({message.location['url']})")

    def on_response(response: Response) -> None:
        visit.responses.append(response)
        if response.status >= 400:
            visit.failed.append(f"{response.status} {response.url}")

    visit.page.on("request", on_request)
    visit.page.on("framenavigated", on_navigated)
    visit.page.on("framedetached", on_detached)
    visit.page.on("console", on_console)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    visit.page.on("response", on_response)
    visit.page.on("requestfailed", on_failed)
    return visit


# Whether text stands out from what is behind it takes axe most of its time, and where style and
# backgrounds are the same the answer is the same. Marks three elements of each kind of text that
# was not there when this page was asked before: the first, the middle and the last.
MARK = """(within) => {
  const name = (e) => `${e.tagName}.${e.getAttribute('class')}`;
  const clear = 'rgba(0, 0, 0, 0),none,1,none,normal,static';
  const behind = new Map([[null, '']]);
  const background = (e) => {
    if (!behind.has(e)) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position } =
        getComputedStyle(e);
      const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position];
      const seen = `${own}` === clear ? '' : ` > ${name(e)} ${own}`;
      behind.set(e, background(e.parentElement) + seen);
    }
    return behind.get(e);
  };
  const isOff = (e) => Boolean(e.closest(':disabled, [aria-disabled="true"]')
    ?? e.closest('label')?.control?.disabled);
  const kinds = new Map();
  for (const e of document.querySelectorAll(`:is(${within}) *`)) {
    const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE)
      .map((n) => n.data).join('');
    if (!(text.trim() || e.matches('input, select, textarea')) || !e.checkVisibility()) continue;
    const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    // axe leaves out what is but signs, and does not judge a single character
    const judged = [/[\\p{L}\\p{N}]/u.test(text), text.trim().length > 1];
    const kind = [name(e), color, fill, fontSize, fontWeight, textShadow, isOff(e), judged,
      background(e)].join('|');
    kinds.set(kind, [...(kinds.get(kind) ?? []), e]);
  }
  window.judged ??= new Set();
  for (const [kind, all] of kinds) {
    if (window.judged.has(kind)) continue;
    window.judged.add(kind);
    for (const e of [all[0], all[all.length >> 1], all.at(-1)]) e.dataset.judged = '';
  }
  return document.querySelector('[data-judged]') !== null;
}"""
UNMARK = """() => {
  for (const e of document.querySelectorAll('[data-judged]')) delete e.dataset.judged;
}"""


@pytest.fixture(scope="session")
def axe() -> CheckPage:
    """What axe-core finds wrong with a page, or within a selector on it, one line for each element.

    `axe(page)` leaves no rule out. Of elements whose text looks the same, three are asked whether
    it stands out; of what this page has shown before, none again. `every=True` asks them all, and
    `contrast=True` asks for nothing else, where only the colours have changed.
    """
    script = Axe().axe_script

    def run(
        page: Page, within: str = "html", *, contrast: bool = False, every: bool = False
    ) -> list[str]:
        # Else axe fetches the page's stylesheets once more, some of them from where they are not,
        # and writes down whatever was right as well, which takes four times as long.
        options = dict(AXE)
        if contrast:
            options |= {"runOnly": ["color-contrast"], "rules": {}}
        if not page.evaluate("'axe' in window"):
            page.evaluate(script)
        marked = page.evaluate(MARK, within)
        if contrast and not (marked or every):
            return []
        found = page.evaluate(JUDGE, [within, options, "*" if every else "[data-judged]"])
        page.evaluate(UNMARK)
        return findings(found)

    return run


AXE: dict[str, Any] = {
    "preload": False,
    "resultTypes": ["violations"],
    # Who speaks to a page asks for the words that are seen.
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}
JUDGE = """([within, options, selector]) => {
  axe.configure({ rules: [{ id: 'color-contrast', selector }] });
  return axe.run(within, options);
}"""


def findings(found: Any) -> list[str]:
    """What axe says, one line for each element."""
    return [
        f"{violation['id']} ({violation['impact']}): {violation['help']}: "
        f"{' '.join(map(str, node['target']))}: {node['html'][:160]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
