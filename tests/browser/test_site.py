"""The built site, as a reader's browser meets it."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect

from attn_notes.tasks import sorting
from book.site.dependencies import lesson_of, own_stems, toc_entries

from ..packed import whole
from .conftest import CHAPTERS, ROOT, CheckPage, Visit, address, by_day, opened
from .training_page import PATIENCE, told

Theme = Literal["light", "dark"]

# Width in pixels, theme, and whether it is the colours alone that an earlier look has not shown.
LOOKS: list[tuple[int, Theme, bool]] = [
    (1280, "light", False),
    (1280, "dark", True),
    (390, "dark", False),
    (390, "light", True),
]

OWN = [address(stem) for stem in own_stems(ROOT)]

LIMIT = 700_000  # bytes, gzipped, of everything that a first visit to a chapter asks for
FILES = 24  # of them
ENTRIES = [re.sub(r"\.\w+$", "", entry) for entry in toc_entries(ROOT)]
PAGES = sorted([*(f"{entry}.html" for entry in ENTRIES), "index.html", "search.html"])
"""What a reader opens: not the frame of the workbench, which is never seen (test_workbench.py)."""


def turn(page: Page, width: int, theme: Theme) -> None:
    """Change a page's window and the reader's wish of a theme, and see that both are followed."""
    changed = page.evaluate("innerWidth") != width
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    root = page.locator("html")
    expect(root).to_have_attribute("data-mode", "auto")
    expect(root).to_have_attribute("data-theme", theme)
    if changed:  # the theme's scripts look at a new width 300 ms after it has come to rest
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 350)))")


def faults(page: Page, axe: CheckPage, *, every: bool = False, phone: bool = True) -> list[str]:
    """What is wrong with a page at two widths and in two themes.

    Of the four looks two are gone through whole; what differs in the other two is the colours, as
    it is in those of a `phone` where another page has the same menus.
    """
    found = []
    for width, theme, contrast in LOOKS:
        turn(page, width, theme)
        colours = contrast or (width < 500 and not phone)
        findings = axe(page, contrast=colours, every=every)
        content = page.evaluate("document.documentElement.scrollWidth")
        if content > width:
            findings.append(f"the page is {content} px wide")
        found += [f"{width} px, {theme}: {finding}" for finding in findings]
    return found


# A page of each folder; what is around the text is the same on all of a folder's, on a phone too.
ONE_OF_EACH = list({Path(path).parent: path for path in [*PAGES, "book/index.html"]}.values())


@pytest.mark.parametrize("path", by_day(PAGES, {*ONE_OF_EACH, *CHAPTERS, *OWN}))
def test_page_is_clean_in_a_subfolder_of_a_strict_host(path, strict_server, open_page, axe):
    visit = open_page(path, base=strict_server)
    visit.assert_clean()
    found = faults(visit.page, axe, phone=path in ONE_OF_EACH)
    assert not found, "\n".join(found)
    visit.assert_clean()


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_every_text_stands_out(path, open_page, axe):
    """Not three of each kind alone: see `axe`."""
    found = faults(open_page(path).page, axe, every=True)
    assert not found, "\n".join(found)


# Faults by the class that has them: an element, its style, and the looks that find it. A text that
# looked the same before is not asked again.
FAINT = "<p class='{0}'>faint</p>"
PLANTED = {
    "nameless": ("<input class='{0}'>", "", {"1280 px, light: label", "390 px, dark: label"}),
    "dark": (FAINT, "html[data-theme=dark] .{0} {{ color: #555; }}", {"1280 px, dark: color"}),
    "light": (  # beside single letters, which axe does not judge
        f"<p class='{{0}}'>x</p>{FAINT}<p class='{{0}}'>(</p>",
        "html[data-theme=light] .{0} {{ color: #ccc; }}",
        {"1280 px, light: color"},
    ),
    "small": (
        FAINT,
        "@media (width < 500px) {{ html[data-theme=light] .{0} {{ color: #ccc; }} }}",
        {"390 px, light: color"},
    ),
    "small-dark": (
        FAINT,
        "@media (width < 500px) {{ html[data-theme=dark] .{0} {{ color: #555; }} }}",
        {"390 px, dark: color"},
    ),
    "behind": (
        "<p style='background: #fff'><em class='{0}'>no</em></p>"
        "<p style='background: #999'><em class='{0}'>grey on grey</em></p>",
        "html .{0} {{ color: #666; }} html[data-theme=dark] .{0} {{ color: #000; }}",
        {"1280 px, light: color"},
    ),
    "wide": (
        "<div class='{0}'></div>",
        ".{0} {{ width: 600px; height: 9px; }}",
        {"390 px, dark: the page is", "390 px, light: the page is"},
    ),
}


def test_a_fault_is_found_in_the_look_that_has_it(open_page, axe):
    page = open_page("book/reference/bibliography.html").page
    page.add_style_tag(content="".join(style.format(n) for n, (_, style, _) in PLANTED.items()))
    for name, (element, _, _) in PLANTED.items():
        page.locator("article p").first.evaluate(
            "(p, html) => p.insertAdjacentHTML('afterend', html)", element.format(name)
        )
    left = faults(page, axe)
    for name, (_, _, looks) in PLANTED.items():
        for look in looks:
            mine = [x for x in left if x.startswith(look) and (f'"{name}"' in x or "px wide" in x)]
            assert mine, f"{name}: {look}"
            left = [x for x in left if x not in mine]
    assert left == []


@pytest.mark.parametrize("path", by_day(PAGES, {*ONE_OF_EACH, *CHAPTERS}))
def test_page_works_from_disk(path, site, open_page):
    open_page(path, base=site.as_uri() + "/").assert_clean()


@pytest.mark.parametrize("disk", [False, True], ids=["served", "from disk"])
def test_search_finds_every_chapter_by_its_title(disk, site, server, open_page):
    base = site.as_uri() + "/" if disk else server
    visit = open_page("search.html", base=base)
    for chapter in CHAPTERS:
        (heading,) = re.findall(r"<h1>(.*?)<a ", (site / chapter).read_text("utf-8"))
        title = re.sub(r"<span.*?</span>", "", heading)  # without its number
        visit.page.goto(f"{base}search.html?q={quote(unescape(title))}")
        visit.page.locator(f'#search-results a[href*="{chapter}"]').first.wait_for()
        visit.page.wait_for_load_state("networkidle")  # it fetches every page that it found
    visit.assert_clean()


def test_next_leads_from_lesson_to_lesson_and_back(site):
    """What backs a lesson leads back to it; elsewhere the pages of a part lead to each other."""

    def related(page: str, way: str) -> str | None:
        link = re.search(f'<link rel="{way}"[^>]* href="(.*?)"', (site / page).read_text("utf-8"))
        return link and os.path.normpath(Path(page).parent / link[1])

    pages = [f"{entry}.html" for entry in ENTRIES]
    chains: dict[str, list[str]] = {}
    for page in pages:
        lesson, name = lesson_of(page), Path(page).stem
        if lesson and name != lesson:
            assert (related(page, "prev"), related(page, "next")) == (None, None)
            foot = (site / page).read_text("utf-8").partition('"prev-next-area"')[2]
            assert re.findall('href="(.*?)"', foot)[0] == f"{lesson}.html"
        else:
            room = "teaching" if name == "teaching" else "" if lesson else Path(page).parent.name
            chains.setdefault(room.removeprefix("book"), []).append(page)
    assert len(chains) == 3
    for chain in chains.values():
        assert [related(page, "next") for page in chain] == [*chain[1:], None]
        assert [related(page, "prev") for page in chain] == [None, *chain[:-1]]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_folded_part_of_the_menu_opens_from_the_keyboard(width, open_page):
    page = open_page(CHAPTERS[0], width=width).page
    if width == 390:
        page.get_by_role("button", name="Toggle primary sidebar").click()
    fold = page.locator("nav.bd-links details", has_text="Reference")
    words = fold.locator("a").first
    expect(words).not_to_be_visible()
    fold.locator("summary").press("Enter")
    words.press("Enter")
    expect(page.locator("article h1")).to_contain_text("Words and symbols")
    expect(fold).to_have_attribute("open", "")


def test_theme_switch_turns_the_page_dark_and_its_icon_shows(open_page):
    page = open_page("book/index.html").page
    page.get_by_role("button", name="Color mode").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    icons = page.locator(".theme-switch:visible")
    assert icons.count() == 1
    assert "fa-moon" in (icons.get_attribute("class") or "")
    assert icons.evaluate("e => getComputedStyle(e).maskImage").startswith("url(")


FIRST = {"sentences": ".landing-says", "button": ".landing .attn-go", "map": ".lesson-map > li"}


@pytest.mark.parametrize(
    ("width", "height", "seen"), [(1280, 800, {*FIRST}), (390, 844, {*FIRST} - {"map"})]
)
def test_the_first_screen_says_what_this_is_and_has_something_to_press(
    width, height, seen, open_page
):
    page = open_page("book/index.html", width=width).page
    boxes = {name: page.locator(which).first.bounding_box() for name, which in FIRST.items()}
    assert {name for name, at in boxes.items() if at and at["y"] + at["height"] <= height} == seen
    assert page.locator(".landing button:visible").count() == 1


def test_a_press_lets_the_loss_fall_through_the_floor(open_page):
    """Then comes the question, with the way on; what has come does not go while another trains."""
    visit = open_page("book/index.html")
    widget = visit.page.locator(".landing .attn-widget")
    on = visit.page.locator(".landing-tries > p")
    expect(on).to_be_hidden()
    widget.get_by_role("button", name="Train it, and watch").click()
    expect(widget).to_have_attribute("data-training", "done", timeout=PATIENCE)
    expect(widget.get_by_role("status")).to_contain_text(
        f"better than the best possible, {sorting.FLOOR:.3f}"
    )
    assert float(told(widget)["loss"]) < sorting.FLOOR
    expect(on.get_by_role("link")).to_have_attribute("href", "lessons/attention/attention.html")
    widget.get_by_role("button", name="Once more").click()
    expect(widget).to_have_attribute("data-training", "running")
    expect(on).to_be_visible()
    visit.assert_clean()


@pytest.mark.by_day(3)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["book/index.html", *CHAPTERS])
def test_widgets_are_mounted_and_the_page_does_not_jump(path, width, open_page):
    page = open_page(path, width=width, fresh=True).page
    views = page.locator(".live-widget .live-widget-view")
    assert {*views.evaluate_all("all => all.map(e => e.dataset.state)")} == {"ready"}
    shift: float = page.evaluate(
        """() => new Promise((resolve) => {
            const sum = (list) => list.reduce((total, entry) => total + entry.value, 0);
            const observer = new PerformanceObserver((all) => resolve(sum(all.getEntries())));
            observer.observe({ type: "layout-shift", buffered: true });
            setTimeout(() => resolve(sum(observer.takeRecords())), 500);
        })"""
    )
    assert shift < 0.1  # Web Vitals' bound for a page that stands still


@pytest.fixture(scope="module", params=["book/index.html", *CHAPTERS])
def first_visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A page with a widget as it is met for the first time, with nothing in the cache."""
    with opened(browser, request) as open_page:
        yield open_page(request.param, fresh=True)


@pytest.mark.by_day(2)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", CHAPTERS)
def test_no_void_is_left_under_a_widget(path, width, open_page):
    """Its place is as high as it is, and was kept about as high before it was there."""
    page = open_page(path + "?bare", width=width).page
    place, widget, kept = page.locator(".live-widget").first.evaluate(
        """(place) => {
          const view = place.querySelector('.live-widget-view');
          const heights = [place.offsetHeight, view.querySelector('.attn-widget').offsetHeight];
          delete view.dataset.state;
          view.style.display = 'none';
          return [...heights, place.offsetHeight];
        }"""
    )
    assert place == pytest.approx(widget, abs=2)
    assert kept == pytest.approx(widget, abs=3 * 16)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", CHAPTERS)
def test_the_button_over_what_is_veiled_covers_nothing_that_is_not(path, width, open_page):
    page = open_page(path, width=width).page
    gaps = page.evaluate(
        """() => [...document.querySelectorAll('.attn-veil')].map((veil) =>
          veil.querySelector('button').getBoundingClientRect().top
          - veil.previousElementSibling.getBoundingClientRect().bottom)"""
    )
    assert all(gap >= 0 for gap in gaps), gaps


def test_weight_of_a_chapter(first_visit):
    page = urlsplit(first_visit.page.url).path
    weights: dict[str, int] = {}
    for response in first_visit.responses:
        name = urlsplit(response.url).path
        if not response.url.startswith("blob:"):  # a part of the page, counted with it
            weights[name] = len(gzip.compress(response.body(), mtime=0))
    total = sum(weights.values())
    assert page in weights
    asked = "\n".join(f"{w:>8} {n}" for n, w in sorted(weights.items()))
    assert total <= LIMIT and len(weights) <= FILES, asked


def test_a_solution_opens_from_the_keyboard(first_visit):
    page = first_visit.page
    solutions = page.locator("details", has=page.locator("summary", has_text="Solution"))
    if page.url.endswith("/index.html"):
        assert solutions.count() == 0
        return
    answer = solutions.first.locator("> :not(summary)").first
    assert not answer.is_visible()
    solutions.first.locator("summary").press("Enter")
    assert answer.is_visible()


LOADS = (
    *("script src", "img src", "img srcset", "source src", "source srcset", "iframe src"),
    *("embed src", "object data", "video src", "video poster", "audio src", "input src"),
    *("image href", "use href"),
)
# A link of another kind is followed by a reader, or by nobody.
LOADING_LINK = re.compile("stylesheet|icon|pre(load|fetch|connect)|dns-prefetch|manifest")


class _Html:
    """What a page loads, links to, shows and names."""

    def __init__(self, path: Path) -> None:
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser", multi_valued_attributes=None)
        tags = page.find_all(True)

        def given(attribute: str, of: str = "") -> list[str]:
            found = (tag for tag in tags if attribute in tag.attrs and of in ("", tag.name))
            return [str(tag[attribute]) for tag in found]

        self.loads = [url for each in LOADS for url in given(*each.split()[::-1])]
        links = (tag for tag in tags if tag.name == "link" and tag.get("href"))
        self.loads += [str(x["href"]) for x in links if LOADING_LINK.search(str(x.get("rel")))]
        self.links = given("href", "a")
        self.images = [tag for tag in tags if tag.name == "img"]
        self.names = {*given("id"), *given("name")}
        self.code = [*given("style"), *(x.get_text() for x in page(["script", "style"]))]


read = cache(_Html)
"""Once a page for all tests."""

ADDRESS = r"""(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}"""
LOADED_BY_CODE = re.compile(
    # a module, a worker or data from another host; or a file of a kind that pages load
    rf"""(?:\bfrom\s*|\bimport\s*\(?\s*|importScripts\(|fetch\(|\bsrc\s*=\s*)\\?["'`]{ADDRESS}[^"'`]*
       | url\(\s*\\?["']?{ADDRESS}[^)]*
       | \\?["'`]{ADDRESS}/[^"'`\s]*\.(?:m?js|css|woff2?|ttf|otf|wasm|json|png|jpe?g|webp|gif)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def test_no_file_loads_anything_from_another_host(site):
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            html = read(path)
            found += [f"{path.name}: {url}" for url in html.loads if re.match(ADDRESS, url)]
            code = "\n".join(html.code)
        elif path.suffix in (".js", ".css", ".svg"):
            code = path.read_text("utf-8")
        else:
            continue
        found += [f"{path.name}: {match[0]}" for match in LOADED_BY_CODE.finditer(code)]
    assert not found, "\n".join(found)


# What we write ourselves names no other host at all, save to say what an element is.
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
OTHER_HOST = re.compile(
    r"""(?:https?|wss?)://[^\s"'`)<>]*|//[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b[^\s"'`)<>]*""",
    re.IGNORECASE,
)
STATE = re.compile(
    r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>', re.S
)


def other_hosts(code: str) -> list[str]:
    """Every address of a host in a script, a stylesheet or a drawing of ours."""
    return [address for address in OTHER_HOST.findall(code) if address not in NAMESPACES]


TYPE = re.compile(r'>Type<span class="colon">:</span></dt>\s*<dd[^>]*>(.*?)</dd>', re.S)
A_TYPE = r"[\w.]+(\[.*\])?( \| [\w.]+(\[.*\])?)*"


def test_reference_says_types_where_types_are_said(site):
    """And of no field of a tuple only that it is one."""
    pages = [path.read_text("utf-8") for path in (site / "book" / "reference").glob("*.html")]
    found = [said for page in pages for said in TYPE.findall(page)]
    said = [unescape(re.sub("<[^>]+>", "", each)).strip() for each in found]
    assert len(said) > 20
    assert [each for each in said if not re.fullmatch(A_TYPE, each)] == []
    assert not any("Alias for field number" in page for page in pages)


def test_our_own_files_name_no_other_host(site):
    folders = (
        ROOT / "book" / "page",
        *(ROOT / "book" / "lessons").glob("*/"),
        ROOT / "book" / "_static",
    )
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    ours = {path.name: path.read_text("utf-8") for path in files if path.suffix in (".css", ".js")}
    for path in PAGES:
        for saved in STATE.findall((site / path).read_text("utf-8")):
            for model in whole(json.loads(saved), (site / path).parent).values():
                for part in {"_esm", "_css"} & model["state"].keys():
                    ours[f"{path}: {part}"] = model["state"][part]
    parts = {f"{chapter}: {part}" for chapter in CHAPTERS for part in ("_esm", "_css")}
    assert parts | {"_host.js", "book.css"} <= ours.keys()
    found = [f"{name}: {host}" for name, code in ours.items() for host in other_hosts(code)]
    assert not found, "\n".join(found)


LOADING = """\
import React from "https://esm.sh/react"
const lodash = await import('//cdn.example.org/lodash.js')
{"_esm": "import x from \\"https://esm.sh/x\\""}
@import url(https://fonts.example.com/css2?family=Inter);
script.src = "https://cdn.example.net/npm/three@1"
const FONT = "https://cdn.example.net/font.woff2";"""
NAMING = """\
const BASE = "https://cdn.example.org/"; import(BASE + "x.js")
script.setAttribute("src", "https://cdn/x")
new Worker('//cdn.example.org/worker.js')
new EventSource(`https://${host}/events`)
new WebSocket("wss://example.org/socket")
xhr.open("GET", "http://example.org/data")
a { background: url(//cdn.example.org/a) }
fetch("http://www.w3.org/2000/svg/more")"""
NEITHER = """\
document.createElementNS("http://www.w3.org/2000/svg", name)
<svg xmlns='http://www.w3.org/2000/svg'><p xmlns='http://www.w3.org/1999/xhtml'/></svg>
const half = total / 2; // e.g. this one
import("./part.js")"""


def test_another_host_is_seen_in_code_of_others_and_in_ours():
    for line in LOADING.splitlines():
        assert LOADED_BY_CODE.search(line), line
    for line in f"{LOADING}\n{NAMING}".splitlines():
        assert other_hosts(line), line
    for line in NEITHER.splitlines():
        assert not other_hosts(line), line


@pytest.mark.parametrize("path", PAGES)
def test_every_image_says_what_it_shows(path, site):
    for image in read(site / path).images:
        source = unquote(urlsplit(str(image["src"])).path)
        if source.endswith("_static/logo.svg"):
            assert image["alt"] == "", "the logo stands beside the title, which says it"
        else:
            alt = str(image["alt"]).strip()
            assert alt not in ("", source, Path(source).name, Path(source).stem), image


def test_every_file_that_a_style_sheet_names_is_there(site):
    """An engine may ask for what no letter of a page needs."""
    sheets = {path: path.read_text("utf-8") for path in site.rglob("*.css")}
    for path in site.rglob("*.html"):
        sheets[path] = "".join(re.findall(r"<style.*?</style>", path.read_text("utf-8"), re.S))
    named = [
        (path, unquote(urlsplit(url).path))
        for path, sheet in sheets.items()
        for url in re.findall(r"""url\(\s*["']?([^"')\s]+)""", sheet)
        if not url.startswith(("data:", "#", "%23"))
    ]
    assert [f"{path.name}: {url}" for path, url in named if not (path.parent / url).is_file()] == []


def test_links_between_pages_resolve(site):
    pages = {path.resolve(): read(path) for path in site.rglob("*.html")}
    broken = []
    for path, html in pages.items():
        for link in html.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            place = unquote(url.fragment)
            if place.startswith("open-") and target == path:
                assert "live-widget" in path.read_text("utf-8")  # a state of it: test_open.py
                continue
            if not target.is_file() or (place and place not in pages[target].names):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_wider_than_its_place_shows_that_it_goes_on(theme, open_page):
    """A shadow at either end, in both themes, of everything that is scrolled on a phone."""
    visit = open_page("book/lessons/dialectical/dialectical_evidence.html", width=390, theme=theme)
    shadows: list[int] = visit.page.evaluate(
        """() => [...document.querySelectorAll('.output.text_html, div.highlight pre')]
          .filter((node) => node.scrollWidth > node.clientWidth + 1)
          .map((node) => getComputedStyle(node).backgroundImage.split('linear-gradient').length - 1)
        """
    )
    assert len(shadows) > 3
    assert set(shadows) == {4}
