"""A widget on an empty page, a script of what a person does there, and what changes with each line.

The page mounts widgets as a saved page does, from their state, so it needs a browser and no book. A
script has a line for each thing done; `VERBS` has them all. `# …` above some lines says why. Its
transcript has these lines too, and below each what it changes, so that is where it stands.
"""

import hashlib
import json
import mimetypes
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import Widget
from ipywidgets.embed import embed_data
from playwright.sync_api import Browser, Error, Locator, Page, Route

from book.page import bundle

from ..pages.held import NUMBER, aligned, masked, number

OWN = Path(__file__).with_name("page.js").read_text("utf-8")
ADDRESS = "http://127.0.0.1/widget"  # nothing is asked of it: the page is given
BESIDE = "http://127.0.0.1/beside/"
HANGS = 120
"""Seconds until a page is given up that does not come to rest, on a busy machine too."""
MOST, FIRST = 16, 3
"""Lines of a change that all stand in the text; of a longer one these many of each kind."""
TEXT, SENTENCE = '"', re.compile(r'"[^"]* [^"]* [^"]*"')
FIRST_OF_ALL = "at first"
DONE = re.compile(r"(  )?> (.*)")
"""A line that is done, as a transcript has it: further in below a comment."""
LONG = 240
"""Letters of one line that stand in the text, and what sums up all."""

EMPTY = """<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8">
<title>A widget</title>
<style>* {{ transition: none !important; animation: none !important; }}</style>
<script>{own}</script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<body><main id="place" class="bd-article" style="width: 720px">{shown}</main>
<script>{host}</script></body></html>"""
VIEW = """<script type="application/vnd.jupyter.widget-view+json">{"model_id": "%s"}</script>"""
# The widget's module with its model in reach, for what Python would set: `models[0].set(…)`.
REACHED = """
const url = URL.createObjectURL(new Blob([%(esm)s], { type: "text/javascript" }));
const { default: made } = await import(url);
URL.revokeObjectURL(url);
const widget = typeof made === "function" ? await made() : made;
function initialize(given) {
  (window.models ??= [])[%(i)d] = given.model;
  window.listened?.(given.model, %(i)d);
  return widget.initialize?.(given);
}
export default { ...widget, initialize };
"""


class Whole(str):
    """A page of its own, in the place of the empty one."""


def page_of(*shown: Any, own: str = OWN) -> str:
    """An empty page that shows widgets, and figures and other HTML, in their order."""
    if shown and isinstance(shown[0], Whole):
        page = shown[0].replace("<head>", f"<head><script>{own}</script>", 1)
        return page.replace("<main>", '<main id="place">', 1)
    widgets = [each for each in shown if isinstance(each, Widget)]
    saved: dict[str, Any] = {"state": {}}
    if widgets:
        saved = embed_data(views=widgets, drop_defaults=False)["manager_state"]
    for i, widget in enumerate(widgets):
        state = saved["state"][widget.model_id]["state"]
        state["_esm"] = REACHED % {"esm": json.dumps(state["_esm"]), "i": i}
    others = (each if isinstance(each, (Widget, str)) else each.html() for each in shown)
    parts = [view(each) if isinstance(each, Widget) else each for each in others]
    return EMPTY.format(
        own=own,
        state=json.dumps(saved).replace("</", "<\\/"),
        shown="\n".join(parts),
        host=(bundle.HERE / "_host.js").read_text("utf-8").replace("</script", "<\\/script"),
    )


def view(widget: Widget) -> str:
    there = VIEW % widget.model_id
    place = getattr(widget, "place", None)
    return f'<div class="{place}">{there}</div>' if isinstance(place, str) else there


def on_site(widget: Widget, *states: str) -> list[Any]:
    """A widget as on the site, where it can be shown alone, below words that open its states."""
    words = " ".join(f'<a href="#open-{state}">{state}</a>' for state in states)
    return [f'<p>{words}</p><div class="live-widget">', widget, "</div>"]


Trouble = partial(pytest.fail.Exception, pytrace=False)
"""Something that no page may do, or that a script asks for in vain: a test fails with its words."""


def transcript(
    browser: Browser, shown: Sequence[Any], script: str, whole: Collection[str] = ()
) -> Iterator[str]:
    """What stands on the page at first, and what each line of the script changes.

    What begins like one of `whole`, as `g.space`, is one line with all its parts.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(20_000)  # for what is done on a page at rest
    context.set_default_navigation_timeout(1000 * HANGS)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.clock.install()
    body = page_of(*shown)
    page.route(f"{ADDRESS}**", lambda route: route.fulfill(body=body, content_type="text/html"))
    for each in shown:
        context.route(f"{BESIDE}*", partial(beside, files=getattr(each, "files", {})))
    try:
        page.goto(ADDRESS)
        before: list[list[Any]] = []
        further = ""
        for line in [FIRST_OF_ALL, *map(str.strip, script.strip().splitlines())]:
            if not line or line.startswith("#"):
                further = "  " if line else ""
                yield from [line] if line else []
                continue
            if line != FIRST_OF_ALL:
                do(page, line)
            now = folded(settled(page, line, wrong), tuple(whole))
            yield f"{further}> {line}"
            told = list(changes(before, now)) or ["nothing changes"]
            yield from (f"{further}  {each}" for each in told)
            before = now
        if left := page.evaluate("remaining()"):
            raise Trouble(f"once it has gone it still listens to {', '.join(left)}")
    finally:
        context.close()


def beside(route: Route, files: Mapping[str, str | bytes]) -> None:
    """What stands beside the page, for what fetches it."""
    name = route.request.url.removeprefix(BESIDE)
    if name in files:
        route.fulfill(body=files[name], content_type=mimetypes.guess_type(name)[0] or "text/plain")
    else:
        route.fallback()


def settled(page: Page, line: str, wrong: Sequence[str]) -> list[list[Any]]:
    """What is seen when nothing moves any more: a frame is drawn, timers ran, all is trained."""
    last, until = None, time.monotonic() + HANGS
    while time.monotonic() < until:
        if wrong:
            raise Trouble(f"{line}: {'; '.join(dict.fromkeys(wrong))}")
        if page.evaluate("busy()"):
            page.wait_for_timeout(50)
            continue
        page.evaluate("framed()")
        page.clock.run_for(1000)
        now = page.evaluate("JSON.stringify(seen())")  # a text is here in no time
        if now == last:
            if amiss := page.evaluate("amiss()"):
                raise Trouble(f"{line}: {'; '.join(amiss)}")
            return json.loads(now)
        last = now
    raise Trouble(f"{line}: the page does not come to rest")


def script_of(text: Sequence[str]) -> str:
    """What a transcript says is done, and why: its lines without what they change."""
    found: list[str] = []
    below = False  # a comment
    for line in text:
        done = DONE.fullmatch(line)
        if line.startswith("# "):
            found.append(line)
            below = True
        elif done and done[2] != FIRST_OF_ALL:
            if below and not done[1]:  # as below an empty line of a script
                found.append("")
                below = False
            found.append(done[2])
    return "\n".join(found)


# What a script can say


ROLES: Any = "button", "link", "tab", "radio", "checkbox", "slider", "option", "gridcell", "img"


def target(root: Locator, words: str) -> Locator:
    """What is called so by its name, label or words, or a selector: `.cell 3` for the fourth.

    It is brought into view.
    """
    if words[0] in ".#[":
        selector, _, nth = words.rpartition(" ") if words[-1].isdigit() else (words, "", "0")
        found = [root.locator(selector).nth(int(nth))]
    else:
        by_role = [root.get_by_role(role, name=words, exact=True) for role in ROLES]
        by_words = [find(words, exact=True) for find in (root.get_by_label, root.get_by_text)]
        found = [each.first for each in (*by_role, *by_words)]
    for each in found:
        if each.count():
            each.evaluate("reach")
            return each
    buttons = root.get_by_role("button").all()
    names = ", ".join((b.get_attribute("aria-label") or b.inner_text())[:40] for b in buttons[:20])
    raise LookupError(f"nothing is called {words!r}; the buttons are: {names}")


def drag(page: Page, root: Locator, words: str, by: str) -> None:
    box = target(root, words).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    dx, dy = map(float, by.split())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


TRAVERSED = """(way) => new Promise((done) => {
  const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
  addEventListener("popstate", drawn, { once: true }); // which comes when it comes
  history[way]();
})"""

VERBS: dict[str, Callable[..., Any]] = {
    r'type "(.*)" into (.+)': lambda page, root, text, name: target(root, name).fill(text),
    r'choose "(.*)" of (.+)': lambda page, root, what, name: target(root, name).select_option(what),
    r"press (.+)": lambda page, root, name: target(root, name).click(),
    r"focus (.+)": lambda page, root, name: target(root, name).focus(),
    r"point at (.+)": lambda page, root, name: target(root, name).hover(),
    r"point away": lambda page, root: page.mouse.move(0, 0),
    r"keys (.+)": lambda page, root, keys: [page.keyboard.press(key) for key in keys.split()],
    r"drag (.+) by (-?\d+ -?\d+)": drag,
    r"width (\d+)": lambda page, root, px: root.evaluate(f"it => it.style.width = '{px}px'"),
    r"reload": lambda page, root: page.reload(),
    r"go to (\S+)": lambda page, root, address: page.goto(ADDRESS + address),
    r"history (back|forward)": lambda page, root, way: page.evaluate(TRAVERSED, way),
    r"js (.+)": lambda page, root, code: page.evaluate(f"async () => {{ {code} }}"),
}


def do(page: Page, line: str) -> None:
    for words, act in VERBS.items():
        if said := re.fullmatch(words, line, re.S):
            try:
                act(page, page.locator("#place"), *said.groups())
            except LookupError as error:
                raise Trouble(f"{line}: {error.args[0]}") from None
            except Error as error:
                why = re.findall("- (element .+|<.+ intercepts .+)", error.message)
                raise Trouble(f"{line}: {why[-1] if why else error.message}") from None
            return
    raise Trouble(f"{line}: no such line; there are: {'; '.join(VERBS)}")


# What changes


def folded(lines: list[list[Any]], whole: tuple[str, ...]) -> list[list[Any]]:
    """The same, and what begins like one of these has all its parts in its own line."""
    kept: list[list[Any]] = []
    for line in lines:
        if kept and line[0] > kept[-1][0] and kept[-1][1].startswith(whole):
            kept[-1][-1] += " ".join(["", *line[1:]])
        else:
            kept.append([*line, "parts="] if line[1].startswith(whole) else line)
    return kept


def changes(was: list[list[Any]], now: list[list[Any]]) -> Iterator[str]:
    """What is new (+), gone (−), or has changed (~): of this only the parts that are others."""
    found = []
    for i, j in aligned(was, now, key=lambda line: line[1]):
        if i[0] == i[1]:
            depth, *new = now[j[0]]
            found.append(f"{'  ' * depth if not was else ''}+ {said(new)}")
        elif j[0] == j[1]:
            found.append(f"− {said(was[i[0]][1:])}")
        elif (old := was[i[0]][1:]) != (new := now[j[0]][1:]):
            kinds = [*map(kind, new)]
            lost = [f"no {part}" for part in old[1:] if kind(part) not in kinds]
            told = [part for part in new[1:] if part not in old or kind(part) == TEXT]
            found.append(f"~ {said([new[0], *told, *lost])}")
    yield from found if len(found) <= MOST else some(found)


def kind(part: str) -> str:
    """What a part of a line tells: its text, or the state or attribute of that name."""
    return TEXT if part.startswith(TEXT) else part.partition("=")[0]


def said(parts: list[str]) -> str:
    line = " ".join(parts)
    return line if len(line) <= LONG else f"{line[:LONG]}… {summed(line)}"


def some(lines: list[str]) -> Iterator[str]:
    """Of many lines the sentences, the first of each other kind, and what sums up the rest."""
    others: dict[str, list[str]] = {}
    for line in lines:
        if SENTENCE.search(line):
            yield line
            continue
        alike = others.setdefault(" ".join(line.split()[:2]), [])
        alike.append(line)
        if len(alike) <= FIRST:
            yield line
    for sign, alike in others.items():
        if more := alike[FIRST:]:
            yield f"{sign}, {len(more)} more: {summed(' '.join(more))}"


def summed(text: str) -> str:
    """What differs where a text does: of its numbers two means, which survive rounding."""
    found = (number(x) for x in NUMBER.findall(text) if not x.startswith("#"))
    numbers = [x for x in found if abs(x) < 1e9]  # a sum within it may read 7e1234
    words = hashlib.sha256(masked(text).encode()).hexdigest()[:6]
    places = range(1, len(numbers) + 1)
    mean = sum(numbers) / max(len(numbers), 1)
    by_place = sum(x * i for x, i in zip(numbers, places, strict=True)) / max(sum(places), 1)
    return f"{len(numbers)} numbers, mean {mean:#.3g}, by place {by_place:#.3g}; words {words}"
