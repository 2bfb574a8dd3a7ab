"""What is asked of every lesson and the workbench, in whichever engine, as far as a page has it."""

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from pypdf import PdfReader

from book.page.code import answers
from book.site.dependencies import own_stems, pages_of

from .. import exercises
from ..browser.conftest import (
    AXE,
    BACKED,
    JUDGE,
    MARK,
    MOUNTED,
    ROOT,
    SHOWING,
    STEMS,
    TRAINING,
    UNMARK,
    findings,
    serve,
)
from ..browser.conftest import address as path_of
from ..browser.test_open import LINK, SHOWN, WITH_LINKS
from ..browser.test_storage import FOR_NOW
from .driven import Tab

GOES_ON = "training === 'done' || (training === 'running' && told[0] && told[0] !== was)"

BENCH = "workbench"
PAGES = [*STEMS, *own_stems(ROOT), BENCH]
STEPS = 300
PRINTED = "printed, no heading alone at the foot of a page"
CELL = ":is([data-cell=model], .attn-bench-place) .attn-cell"

BUTTON = """(within, name) => {
  const all = [...document.querySelector(within).querySelectorAll('button')];
  return all.find((e) => e.checkVisibility() && e.textContent.trim() === name);
}"""
# What a reader may take first: no field, nothing that is on already or trains for minutes.
FIRST = """() => {
  const off = '.attn-alone *, .attn-train *, [aria-selected=true], [aria-pressed=true], :checked';
  const all = document.querySelectorAll('.attn-widget :is(button, input[type=radio])');
  const found = [...all].find((e) => e.checkVisibility() && !e.disabled && !e.matches(off));
  return found.closest('label') ?? found;
}"""
GUESS = """() => {
  const found = document.querySelector('.attn-guesses :is(input, button:not(li *))');
  return found.type === 'radio' ? found.closest('label') : found;
}"""


# What fades in is not yet as dark as it will be.
STILL = """() => {
  const style = document.createElement('style');
  style.textContent = '* { transition: none !important; animation: none !important; }';
  document.head.append(style);
}"""
UNFOLD = """(within) => {
  for (const e of document.querySelector(within).querySelectorAll('details')) e.open = true;
}"""


@dataclass
class Site:
    """The addresses of one site: from a host, from one where nothing is kept, from a disk."""

    served: str
    unkept: str
    copied: Path


def settle(tab: Tab) -> None:
    """Wait until all is there that is shown at first."""
    tab.js("async () => { await document.fonts.ready; await window.MathJax?.startup?.promise; }")
    tab.wait(MOUNTED)


def at(tab: Tab, address: str) -> None:
    """A settled page, opened anew unless it is."""
    if tab.now != address:
        tab.now = ""
        tab.open(address)
        settle(tab)
        tab.now = address


def clean(tab: Tab) -> None:
    wrong = tab.js("() => wrong")
    assert wrong == [], wrong


def loads(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    assert len(tab.js("() => document.querySelector('h1').textContent")) > 3
    clean(tab)


def changes(tab: Tab, find: str, *given: Any) -> None:
    """A click on what is found changes what the widgets show."""
    tab.js(f"() => {{ window.before = `${{({SHOWN})()}}`; }}")
    tab.click(find, *given)
    tab.wait(f"() => window.before !== `${{({SHOWN})()}}`")


def acts(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    changes(tab, FIRST)
    clean(tab)


def guesses(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    tab.click(GUESS)
    if tab.js("() => document.activeElement.matches('input[type=text]')"):
        tab.type("1\n")
    tab.wait(
        "() => document.querySelector('.attn-guesses .attn-note').textContent.includes('Noted')"
    )
    clean(tab)


SETTINGS = """(least) => {
  const panel = document.querySelector('.attn-train');
  const root = panel.closest('.attn-widget');
  for (const menu of panel.querySelectorAll('select')) {
    const label = menu.labels[0].textContent;
    const values = [...menu.options].map(({ value }) => value);
    const enough = values.map(Number).filter((steps) => steps >= least);
    if (label === 'Steps') menu.value = Math.min(...enough);
    if (label === 'Speed') menu.value = values.at(-1);
    menu.dispatchEvent(new Event('change', { bubbles: true }));
  }
  return panel.querySelector('.attn-go');
}"""
TRAINED = """() => {
  const panel = document.querySelector('.attn-train');
  const { training, step, loss, score } = panel.closest('.attn-widget').dataset;
  const said = panel.querySelector('.attn-train-said').textContent;
  return { training, told: [step, loss, score, said] };
}"""


def trained(tab: Tab, site: Site, page: str) -> list[str]:
    """Its steps, its loss and what came out, in the words of the panel."""
    at(tab, site.served + path_of(page))
    tab.click(SETTINGS, STEPS)
    step = None
    while tab.js(TRAINED)["training"] != "done":  # as long as it goes on, however slowly
        tab.wait(f"(was) => (({{ training, told }}) => {GOES_ON})(({TRAINED})())", step)
        step = tab.js(TRAINED)["told"][0]
    clean(tab)
    told: list[str] = tab.js(TRAINED)["told"]
    assert int(told[0]) >= STEPS
    return told


def run(tab: Tab, within: str, code: str) -> tuple[str, str]:
    """What becomes of some code: how it ended, and what is said of it."""
    tab.paste(f"{within} textarea", code)
    tab.click(BUTTON, within, "Run")
    node = f"document.querySelector({within!r})"
    tab.wait(f"() => !['running', undefined].includes({node}.dataset.code)")
    ended, said = tab.js(
        f"() => [{node}.dataset.code, {node}.querySelector('.attn-cell-said').innerText]"
    )
    return ended, said


def its_code(tab: Tab) -> str:
    tab.wait("(cell) => document.querySelector(`${cell} textarea`)?.value", CELL)
    return str(tab.js("(cell) => document.querySelector(`${cell} textarea`).value", CELL))


def runs(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    book = its_code(tab)
    for _ in range(2):
        assert run(tab, CELL, book)[0] == "done"
    clean(tab)


def stops(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    book = its_code(tab)
    ended, said = run(tab, CELL, "while True:\n    pass")
    assert ended == "failed" and "had not ended after" in said
    assert run(tab, CELL, book)[0] == "done"
    clean(tab)


def judges(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    judged_at(tab, page)


def judged_at(tab: Tab, page: str) -> None:
    found = answers.of_lesson([ROOT / each for each in pages_of(ROOT, page)], page)[0]
    asked = next(each for each in found if not each.why_not)
    within = f"[data-exercise={asked.name}]"
    tab.wait("(within) => document.querySelector(within)", within)
    tab.js(UNFOLD, within)
    wrong, _ = exercises.wrong(page)[asked.name][0]
    for code, right in ((wrong, False), (asked.solution, True)):
        ended, said = run(tab, within, code)
        assert ended == "done" and said.startswith("Right: ") is right, said
    clean(tab)


def opens(tab: Tab, site: Site, page: str) -> None:
    at(tab, site.served + path_of(page))
    changes(tab, "(link) => document.querySelector(link)", LINK)
    clean(tab)


NARROW = """() => {
  const { contentDocument: page, contentWindow: its } = document.querySelector('iframe');
  const typed = 'input:not([type=radio], [type=checkbox], [type=range]), select, textarea';
  const fields = page.querySelectorAll(typed);
  const small = [...fields].filter((e) => parseFloat(its.getComputedStyle(e).fontSize) < 16);
  return [page.documentElement.scrollWidth, small.map((e) => e.outerHTML.slice(0, 200)), its.wrong];
}"""


def fits(tab: Tab, site: Site, page: str) -> None:
    """No scrolling to the side, and no field with letters so small that a phone zooms in.

    At 320 pixels too, which is what 400 % leave of 1,280.
    """
    tab.now = ""
    tab.open(f"{site.served}phone.html?{path_of(page)}")
    tab.wait(
        f"""() => {{
          const {{ contentDocument: document }} = window.document.querySelector('iframe');
          if (!document.querySelector('h1') || document.readyState !== 'complete') return false;
          return ({MOUNTED})();
        }}"""
    )
    width, small, wrong = tab.js(NARROW)
    assert width <= 390 and not wrong, f"{width} pixels wide; {wrong}"
    assert not small, "\n".join(small)
    tab.js("() => { document.querySelector('iframe').style.width = '320px'; }")
    tab.wait(f"() => ({NARROW})()[0] <= 320")


def works_from_a_disk(tab: Tab, site: Site, page: str) -> None:
    at(tab, (site.copied / path_of(page)).as_uri())
    if page in TRAINING:
        tab.click(SETTINGS, STEPS)
        tab.wait(f"() => ({TRAINED})().told[0] > 0")
    clean(tab)


def works_unkept(tab: Tab, site: Site, page: str) -> None:
    """What is said of it is true, and the page's own parts go on."""
    at(tab, site.unkept + path_of(page))
    modes = set()
    for _ in range(3):
        tab.click("() => document.querySelector('.theme-switch-button')")
        modes.add(tab.js("() => document.documentElement.dataset.mode"))
    assert modes == {"auto", "dark", "light"}
    notes = tab.js(
        "() => [...document.querySelectorAll('.attn-guesses .attn-note')].map((e) => e.textContent)"
    )
    assert all(FOR_NOW in note for note in notes)


KEPT = """async () => {
  const root = new URL(document.documentElement.dataset.content_root, location);
  const files = await (await fetch(new URL('offline.json', root))).json();
  const needed = Object.keys(files).filter((name) => !name || location.href.includes(`/${name}/`));
  const kept = await (await caches.open('attention-notes')).keys();
  const there = new Set(kept.map(({ url }) => url));
  const all = needed.flatMap((name) => files[name].map((file) => new URL(file, root).href));
  return all.length > 50 && [location.href, ...all].every((url) => there.has(url));
}"""


def goes_on(tab: Tab, site: Site, page: str) -> None:
    """Opened once, it is loaded again where there is no network, and does what it did."""
    with serve(site.copied) as served:
        at(tab, served + path_of(page))
        tab.wait(KEPT)
    tab.now = ""  # from here on nobody answers
    at(tab, served + path_of(page))
    if page in TRAINING:
        tab.click(SETTINGS, STEPS)
        tab.wait(f"() => ({TRAINED})().told[0] > 0")
    if page in STEMS:
        judged_at(tab, page)
    clean(tab)


def for_everybody(tab: Tab, site: Site, page: str) -> None:
    """By axe, with what is folded open; a name that is read out has the words that are seen."""
    at(tab, site.served + path_of(page))
    tab.js(UNFOLD, "body")
    tab.js(STILL)
    tab.js("(text) => { (0, eval)(text); }", Axe().axe_script)
    tab.js(MARK, "html")
    found = tab.js(f"(...given) => ({JUDGE})(given)", "html", AXE, "[data-judged]")
    tab.js(UNMARK)
    assert not findings(found), "\n".join(findings(found))


HEADS = """() => {
  const all = document.querySelectorAll('.bd-article :is(h2, h3, h4)');
  return [...all].map((e) => e.innerText);
}"""


def prints(tab: Tab, site: Site, page: str) -> None:
    """No heading stands alone at the foot of a page."""
    at(tab, site.served + path_of(page))
    assert tab.printed
    heads = tab.js(HEADS)
    plain = {re.sub(r"\W", "", each) for each in heads}
    texts = [each.extract_text() for each in PdfReader(io.BytesIO(tab.printed())).pages]
    assert len(texts) > 1
    alone = [
        text[-80:]
        for text in texts
        if any(re.sub(r"\W", "", text).endswith(head) for head in plain)
    ]
    assert alone == []


Asks = Callable[[Tab, Site, str], Any]
WITH_WORDS = [stem for stem in SHOWING if path_of(stem) in WITH_LINKS]
QUESTIONS: dict[str, tuple[Asks, Iterable[str]]] = {
    "loads without an error": (loads, PAGES),
    "the widget's first action": (acts, STEMS),
    "a guess is noted": (guesses, STEMS),
    f"{STEPS} steps of training or more, to the same digits": (trained, TRAINING),
    "code runs": (runs, [*BACKED, BENCH]),
    "an endless loop is stopped": (stops, [BACKED[0], BENCH]),  # which takes the longest
    "a wrong answer and a right one": (judges, STEMS),
    "words that open a state": (opens, WITH_WORDS),
    "axe finds nothing": (for_everybody, PAGES),
    PRINTED: (prints, PAGES),
    "390 pixels, as on a phone, and 320": (fits, PAGES),
    "from a disk": (works_from_a_disk, PAGES),
    "loaded again without a network": (goes_on, PAGES),
    "where nothing is kept": (works_unkept, PAGES),
}
