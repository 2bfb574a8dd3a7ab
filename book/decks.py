"""Slides for a lecture on each lesson, which live without a network.

    make decks                     into _build/decks, and as PDF where there is a Chromium
    python book/build.py decks

A deck is `teaching/decks/STEM.yml`: slides in their order, each with a `title`, the step of the
plan on the teaching page that it belongs to (`plan`), and one of

question    what is asked, to be answered before anything is shown
poll        a concept question of the lesson, by its id; its key comes with the next key press
steps       an idea, a step at a time
board       what the teacher writes on the blackboard
code        some lines of a cell: `cell`, what the first of them begins with (`from`), how many
            (`lines`)
widget      a model, live, by its name in the address of the lesson's page; `choose` sets what is
            chosen there
figure      that of a cell, first covered by what `ask` asks
verdict     the table of a cell, its verdicts covered, a row at a time
meet        where one meets this
homework    the lesson's exercises, with what they take: `true`

The notes of the teaching page are the speaker's: of a step what stands in the plan, with the
minutes; `stumble` quotes the beginning of what students say, and adds what is answered there;
`expect` the same of what to expect. A slide may have `notes` of its own.

Beside each deck is a handout, of four pages at most.

reveal.js comes from npm when a deck is made, see packages.py; MathJax and what mounts a widget are
the site's. Figures, tables and widgets are those of the notebook as it was executed. No slide has
anything of a solution.
"""

import html
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import homework
import packages
import questions
import yaml
from bs4 import BeautifulSoup
from course_page import document
from dependencies import BookError
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

REVEAL = "reveal.js"
FILES = (  # of reveal.js
    "dist/reveal.js",
    "dist/reveal.css",
    "dist/reset.css",
    "plugin/notes/notes.js",
    "LICENSE",
)
TEACHING = Path("book/teaching")
DECKS = TEACHING / "decks"
SEED = 0
"""Draws what varies in a poll, where a deck is not a course's."""

KINDS = {
    "question": set(),
    "poll": set(),
    "steps": set(),
    "board": set(),
    "code": {"from", "lines"},
    "widget": {"choose"},
    "figure": {"ask"},
    "verdict": {"ask"},
    "meet": set(),
    "homework": set(),
}
"""Kinds of slides, and what else an entry of the kind says."""

OF_ALL = {"title", "plan", "notes", "stumble", "expect"}
ROW = re.compile(r"^\|\s*(\d+)\s*\|((?:\\\||[^|])+)\|((?:\\\||[^|])+)\|", re.MULTILINE)
TERM = re.compile(r"^(?P<term>\S.*)\n: (?P<told>.+(?:\n  .+)*)", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Step(NamedTuple):
    """A row of the plan on a teaching page."""

    minutes: int
    what: str


class Slide(NamedTuple):
    """A slide as its deck's file has it."""

    title: str
    plan: int
    kind: str
    content: Any
    more: Mapping[str, Any]
    """What else the entry says."""


class Deck(NamedTuple):
    """The slides of a lesson, with what their notes are made of."""

    stem: str
    title: str
    slides: tuple[Slide, ...]
    plan: tuple[Step, ...]
    told: Mapping[str, str]
    """What the teaching page says to what students say and to what is asked."""


# What a deck says


def read(root: Path, stem: str) -> Deck:
    """A lesson's deck.

    Raises:
        BookError: an entry is not as it should be; names it.
    """
    path = root / DECKS / f"{stem}.yml"
    page = (root / TEACHING / f"{stem}.md").read_text("utf-8")
    plan = tuple(
        Step(int(minutes), what.strip().replace(r"\|", "|"))
        for minutes, what, _ in ROW.findall(page)
    )
    told = {match["term"]: " ".join(match["told"].split()) for match in TERM.finditer(page)}
    slides = []
    for number, entry in enumerate(yaml.safe_load(path.read_text("utf-8")), 1):
        if problem := amiss(entry, len(plan)):
            raise BookError(f"{path.name}, slide {number}: {problem}.")
        (kind,) = KINDS.keys() & entry.keys()
        more = {name: value for name, value in entry.items() if name not in ("title", "plan", kind)}
        slides.append(Slide(entry["title"], entry["plan"], kind, entry[kind], more))
    title = homework.week(root, stem, 1).title
    return Deck(stem, title, tuple(slides), plan, told)


def amiss(entry: Mapping[str, Any], steps: int) -> str:
    """What is not right with an entry of a deck whose plan has so many steps; empty if all is.

    >>> amiss({"title": "One", "plan": 1, "board": "x"}, 7)
    ''
    >>> amiss({"title": "One", "plan": 8, "board": "x"}, 7)
    'its step is one of 1 to 7, not 8'
    >>> amiss({"title": "One", "plan": 1, "board": "x", "poll": "y"}, 7)
    'it is one of question, poll, steps, board, code, widget, figure, verdict, meet, homework'
    """
    kinds = KINDS.keys() & entry.keys()
    if len(kinds) != 1:
        return f"it is one of {', '.join(KINDS)}"
    if not {"title", "plan"} <= entry.keys():
        return "it needs a title and a step of the plan"
    if unknown := entry.keys() - OF_ALL - kinds - KINDS[next(iter(kinds))]:
        return f"it says {sorted(unknown)[0]}"
    if entry["plan"] not in range(1, steps + 1):
        return f"its step is one of 1 to {steps}, not {entry['plan']}"
    return ""


def seconds(deck: Deck) -> list[int]:
    """How long each slide may stand: the minutes of its step, shared."""
    shares = [sum(each.plan == slide.plan for each in deck.slides) for slide in deck.slides]
    return [
        60 * deck.plan[slide.plan - 1].minutes // share
        for slide, share in zip(deck.slides, shares, strict=True)
    ]


def notes(
    deck: Deck, number: int, asked: Mapping[str, questions.Question], caption: str = ""
) -> list[str]:
    """What the speaker reads beside a slide, in Markdown; its number counts from 0.

    Args:
        deck: whose slide it is.
        number: of the slide.
        asked: the lesson's questions, by their names.
        caption: of the slide's figure.

    Raises:
        BookError: the teaching page has nothing of what a slide quotes.
    """
    slide, found = deck.slides[number], []
    if slide.plan not in [each.plan for each in deck.slides[:number]]:
        until = list(itertools.accumulate(step.minutes for step in deck.plan))
        step = deck.plan[slide.plan - 1]
        begins, ends = until[slide.plan - 1] - step.minutes, until[slide.plan - 1]
        found.append(f"**Minutes {begins} to {ends}.** {step.what}")
    if slide.kind == "poll":
        one = asked[f"{deck.stem}-{slide.content}"]
        found.append(f"**{one.key}** {one.why}")
        found += [f"*{option.text}* {option.told}" for option in one.options if not option.right]
    if "notes" in slide.more:
        found.append(slide.more["notes"])
    for name in ("stumble", "expect"):
        if name in slide.more:
            terms = [t for t in deck.told if t.lstrip("“\"'").startswith(slide.more[name])]
            if len(terms) != 1:
                raise BookError(f"{deck.stem}.yml, slide {number + 1}: no single {name} begins so.")
            found.append(f"*{terms[0]}* {deck.told[terms[0]]}")
    found += [caption] * bool(caption)
    return [LINK.sub(r"\1", note) for note in found]


# A deck as a page


def markdown() -> MarkdownIt:
    """What turns a slide's Markdown into HTML; formulas are left to MathJax."""
    made = MarkdownIt("commonmark", {"typographer": True}).enable(["table", "smartquotes"])
    dollarmath_plugin(
        made,
        allow_labels=False,
        renderer=lambda text, options: (
            rf"\[{html.escape(text)}\]" if options["display_mode"] else rf"\({html.escape(text)}\)"
        ),
    )
    return made


RENDER = markdown()


def inline(text: str) -> str:
    """A line of Markdown as HTML."""
    return RENDER.renderInline(text)


def body(
    deck: Deck, slide: Slide, notebook: NotebookNode, asked: Mapping[str, questions.Question]
) -> str:
    """What stands on a slide below its title.

    Raises:
        BookError: the lesson has nothing of what it shows.
    """
    content, more = slide.content, slide.more
    match slide.kind:
        case "question":
            return f'<div class="question">{RENDER.render(content)}</div>'
        case "poll":
            return poll(asked[f"{deck.stem}-{content}"])
        case "steps":
            steps = [f'<li class="fragment">{inline(step)}</li>' for step in content]
            return f"<ol>{''.join(steps)}</ol>"
        case "board":
            return f'<div class="board">{RENDER.render(content)}</div>'
        case "code":
            code = lines(notebook, content, more["from"], more["lines"])
            return highlight(code, PythonLexer(), HtmlFormatter(cssclass="code"))
        case "widget":
            chosen = urlencode({"show": content, **more.get("choose", {})})
            address = f"widgets/{deck.stem}.html?{chosen}"
            name = html.escape(slide.title)
            return f'<iframe class="widget" src="{html.escape(address)}" title="{name}"></iframe>'
        case "figure":
            return covered(picture(output(notebook, content)), more["ask"])
        case "verdict":
            ask = f"<p>{inline(more['ask'])}</p>" if "ask" in more else ""
            return ask + verdict(output(notebook, content))
        case "meet":
            return f'<div class="meet">{RENDER.render(content)}</div>'
        case "homework":
            return exercises(notebook)
    raise AssertionError(slide.kind)


def poll(one: questions.Question) -> str:
    """A question to vote on; the key comes with the next key press."""
    ask = f'<p class="ask">{html.escape(one.ask)}</p>'
    if not one.options:
        return f'{ask}<p class="key fragment">{html.escape(one.key)}</p>'
    options = []
    for option in one.options:
        text = html.escape(option.text)
        if option.right:
            options.append(f'<li class="right">{text}<span class="fragment"> ✓</span></li>')
        else:
            options.append(f"<li>{text}</li>")
    return f'{ask}<ol class="options">{"".join(options)}</ol>'


def lines(notebook: NotebookNode, cell: str, first: str, count: int) -> str:
    """Some lines of a cell, the first of which begins so, without their common indentation.

    Raises:
        BookError: there is no such cell, or not one such line.
    """
    source = found(notebook, cell).source.splitlines()
    starts = [i for i, line in enumerate(source) if line.strip().startswith(first)]
    if len(starts) != 1:
        raise BookError(f"No single line of the cell {cell} begins with {first!r}.")
    taken = source[starts[0] : starts[0] + count]
    indent = min(len(line) - len(line.lstrip()) for line in taken if line.strip())
    return "\n".join(line[indent:] for line in taken)


def found(notebook: NotebookNode, cell: str) -> NotebookNode:
    """A cell by its id.

    Raises:
        BookError: there is none.
    """
    for each in notebook.cells:
        if each.id == cell:
            return each
    raise BookError(f"The lesson has no cell {cell}.")


def output(notebook: NotebookNode, cell: str) -> BeautifulSoup:
    """What a cell has shown, as HTML.

    Raises:
        BookError: it has shown nothing of the kind.
    """
    for each in found(notebook, cell).get("outputs", []):
        if text := each.get("data", {}).get("text/html"):
            return BeautifulSoup("".join(text), "html.parser")
    raise BookError(f"The cell {cell} shows neither a figure nor a table.")


def picture(shown: BeautifulSoup) -> str:
    """A figure with its title: the drawing, without the picture for other places.

    Its caption is for who reads it close by; from the last row of a hall the speaker has to say it.
    """
    figure = shown.select_one("figure")
    if figure is None:
        raise BookError("What was to be a figure is none.")
    for other in figure.select("img, figcaption, :scope > style"):
        other.decompose()
    for live in figure.select(".attn-live"):
        live.unwrap()
    figure.attrs = {"class": "attn-figure"}
    return str(figure)


def said_below(shown: BeautifulSoup) -> str:
    """The caption of a figure."""
    below = shown.select_one("figcaption")
    return below.get_text().strip() if below else ""


def covered(shown: str, ask: str) -> str:
    """Something under a cover that says what is asked of it, until the next key press."""
    cover = f'<div class="cover fragment fade-out">{RENDER.render(ask)}</div>'
    return f'<div class="covered">{shown}{cover}</div>'


def verdict(shown: BeautifulSoup) -> str:
    """A table of claims whose verdicts come a row at a time."""
    table = shown.select_one("table")
    if table is None:
        raise BookError("What was to be a table is none.")
    table.attrs = {"class": "claims"}
    for number, row in enumerate(table.select("tbody tr")):
        for cell in row.select("td"):
            inside = shown.new_tag("span", attrs={"class": "fragment"})
            inside["data-fragment-index"] = str(number)
            inside.extend(list(cell.contents))
            cell.append(inside)
    return str(table)


def exercises(notebook: NotebookNode) -> str:
    """A lesson's exercises, each with what it takes; the questions stand in the lesson."""
    rows = [
        f"<tr><td>{inline(title)}</td><td>{inline(told['outcome'])}</td>"
        f"<td>{told['points']}</td><td>{told['minutes']}</td></tr>"
        for title, _, told in own_exercises(notebook)
    ]
    head = "<tr><th>exercise</th><th>to be able to</th><th>points</th><th>minutes</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def own_exercises(notebook: NotebookNode) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Title and question of each exercise of a lesson, with what its metadata tell."""
    for cell in notebook.cells:
        if told := cell.metadata.get("exercise"):
            title, question, _ = homework.asked(cell.source)
            yield title, question, told


def sections(
    deck: Deck, notebook: NotebookNode, asked: Mapping[str, questions.Question], made_of: str
) -> Iterator[str]:
    """The slides as reveal.js reads them."""
    for number, (slide, time) in enumerate(zip(deck.slides, seconds(deck), strict=True)):
        caption = ""
        if slide.kind == "figure":
            caption = said_below(output(notebook, slide.content))
        said = "".join(RENDER.render(note) for note in notes(deck, number, asked, caption))
        foot = f'<p class="made">{html.escape(made_of)}. MIT licence.</p>' if not number else ""
        yield (
            f'<section class="kind-{slide.kind}" data-timing="{time}">'
            f"<h2>{inline(slide.title)}</h2>{body(deck, slide, notebook, asked)}{foot}"
            f'<aside class="notes">{said}</aside></section>'
        )


PAGE = """\
<link rel="stylesheet" href="parts/dist/reset.css">
<link rel="stylesheet" href="parts/dist/reveal.css">
<link rel="stylesheet" href="parts/deck.css">
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="parts/dist/reveal.js"></script>
<script src="parts/plugin/notes/notes.js"></script>
<script src="parts/deck.js"></script>
<script src="parts/mathjax/startup.js" defer></script>
"""
WIDGETS = """\
<style>
body {{ margin: 0; font: 16px/1.5 system-ui, sans-serif; }}
.attn-alone .attn-button {{ display: none; }}
</style>
<main class="bd-article">
{states}{places}
</main>
<script>
// Keys that a deck needs, and a clicker sends, go on to it; Escape gives the keyboard back.
const asks = {{ PageDown: "next", PageUp: "prev" }};
addEventListener("keydown", (event) => {{
  if (event.key !== "Escape" && !asks[event.key]) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.key === "Escape") parent.focus();
  else parent.postMessage(JSON.stringify({{ method: asks[event.key] }}), "*");
}}, true);
</script>
<script src="../parts/widget-host.js"></script>
"""


def widgets(page: str, stem: str, title: str) -> str:
    """A lesson's own widgets on a page by themselves, from the lesson's page on the site."""
    states = re.findall(
        r'<script type="application/vnd\.jupyter\.widget-state\+json">.*?</script>', page, re.S
    )
    places = re.findall(rf'<div class="live-widget {stem} {stem}" .*?</noscript></div>', page, re.S)
    if not places:
        raise BookError(f"The page of {stem} has no widget of its own.")
    own = [re.search(r'"model_id": "(\w+)"', place)[1] for place in places]  # type: ignore[index]
    kept = []
    for state in states:
        opening, text = re.match(r"(<script[^>]*>)(.*)</script>", state, re.S).groups()  # type: ignore[union-attr]
        saved = json.loads(text)
        saved["state"] = {name: one for name, one in saved["state"].items() if name in own}
        inside = json.dumps(saved).replace("</", r"<\/")
        kept.append(f"{opening}{inside}</script>")
    return document(title, WIDGETS.format(states="".join(kept), places="\n".join(places)))


# All of them


def write(
    root: Path,
    site: Path,
    lessons: Mapping[str, NotebookNode],
    folder: Path,
    made_of: str,
    seed: int,
) -> None:
    """Write the decks of some lessons, and all that they need, into a folder.

    Args:
        root: of the project.
        site: a rendered site, which has the widgets' pages and MathJax.
        lessons: the executed notebooks, by their stems.
        folder: to write into.
        made_of: the version that stands on the first slide.
        seed: draws what varies in the polls.

    Raises:
        BookError: a deck asks for what there is not, or reveal.js cannot be had.
    """
    parts = folder / "parts"
    take_parts(root, site, parts)
    (folder / "widgets").mkdir()
    for stem, notebook in lessons.items():
        deck = read(root, stem)
        path = root / TEACHING / "questions" / f"{stem}.yml"
        asked = {one.name: one for one in questions.read(path, seed)}
        slides = "\n".join(sections(deck, notebook, asked, made_of))
        text = document(deck.title, PAGE.format(slides=slides))
        (folder / f"{stem}.html").write_text(text, "utf-8")
        sheet = handout(deck, notebook, asked, made_of)
        (folder / f"{stem}-handout.html").write_text(sheet, "utf-8")
        page = (site / "book" / f"{stem}.html").read_text("utf-8")
        (folder / "widgets" / f"{stem}.html").write_text(widgets(page, stem, deck.title), "utf-8")


def take_parts(root: Path, site: Path, parts: Path) -> None:
    """Copy what every deck needs beside them.

    Raises:
        BookError: reveal.js cannot be had.
    """
    try:
        reveal = packages.folder(root, REVEAL)
    except (OSError, subprocess.SubprocessError) as error:
        raise BookError(f"No slides without reveal.js: {packages.why(error)}") from error
    for name in FILES:
        (parts / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(reveal / name, parts / name)
    shutil.copytree(site / "_static" / "mathjax", parts / "mathjax")
    shutil.copyfile(site / "_static" / "widget-host.js", parts / "widget-host.js")
    style = HtmlFormatter(style="default", cssclass="code").get_style_defs(".code")
    for name in ("deck.css", "handout.css"):
        (parts / name).write_text((root / DECKS / name).read_text("utf-8") + style, "utf-8")
    shutil.copyfile(root / DECKS / "deck.js", parts / "deck.js")


# A handout


HANDOUT = """\
<link rel="stylesheet" href="parts/handout.css">
<main>
<h1>{title}</h1>
{blocks}
<footer>{made_of}. MIT licence. The lesson, with what can be tried in it: {at}</footer>
</main>
<script src="parts/deck.js"></script>
<script src="parts/mathjax/startup.js" defer></script>
"""


def handout(
    deck: Deck, notebook: NotebookNode, asked: Mapping[str, questions.Question], made_of: str
) -> str:
    """A lesson on a few sheets, for who sits in the hall: figures with their captions, no keys."""
    made = html.escape(made_of)
    blocks = "\n".join(filter(None, (block(deck, one, notebook, asked) for one in deck.slides)))
    at = f"book/{deck.stem}.html"
    rest = HANDOUT.format(title=html.escape(deck.title), blocks=blocks, made_of=made, at=at)
    return document(f"{deck.title}: handout", rest)


def block(
    deck: Deck, slide: Slide, notebook: NotebookNode, asked: Mapping[str, questions.Question]
) -> str:
    """What of a slide is worth a place on paper; empty if nothing is."""
    match slide.kind:
        case "widget":
            return ""
        case "poll":
            one = asked[f"{deck.stem}-{slide.content}"]
            options = "".join(f"<li>{html.escape(option.text)}</li>" for option in one.options)
            inside = f"<p>{html.escape(one.ask)}</p><ol class='options'>{options}</ol>"
        case "figure":
            shown = output(notebook, slide.content)
            below = shown.select_one("figcaption")
            inside = picture(shown) + (
                f"<p class='caption'>{below.get_text()}</p>" if below else ""
            )
        case "homework":
            inside = ""
            for title, question, told in own_exercises(notebook):
                takes = f"{told['points']} points, {told['minutes']} minutes"
                inside += f"<h3>{inline(title)} ({takes})</h3>"
                inside += RENDER.render(LINK.sub(r"\1", question))
        case _:
            inside = body(deck, slide, notebook, asked)
    title = f"<h2>{inline(slide.title)}</h2>" * (slide.title != deck.title)
    return f'<section class="kind-{slide.kind}">{title}{inside}</section>'
