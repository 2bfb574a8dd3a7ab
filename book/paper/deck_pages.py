"""Decks as pages with live models, a handout beside each, and what they need beside them.

reveal.js comes from npm when a deck is made, see packages.py; MathJax and what mounts a widget are
the site's.
"""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from book.course import questions
from book.course.course_page import document
from book.paper.decks import DECKS, LESSONS, LINK, Deck, Slide, notes, read, seconds
from book.paper.slides import RENDER, body, inline, output, own_exercises, picture, said_below
from book.site import packages
from book.site.dependencies import BookError, lesson_page

REVEAL = "reveal.js"
FILES = (  # of reveal.js
    "dist/reveal.js",
    "dist/reveal.css",
    "dist/reset.css",
    "plugin/notes/notes.js",
    "LICENSE",
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
<script src="parts/mathjax/mathjax.js" defer></script>
"""
WIDGETS = """\
<link rel="stylesheet" href="../parts/widget.css">
<main id="slide" class="bd-article">
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
        path = root / LESSONS / stem / "questions.yml"
        asked = {one.name: one for one in questions.read(path, seed)}
        found = "\n".join(sections(deck, notebook, asked, made_of))
        text = document(deck.title, PAGE.format(slides=found))
        (folder / f"{stem}.html").write_text(text, "utf-8")
        sheet = handout(deck, notebook, asked, made_of)
        (folder / f"{stem}-handout.html").write_text(sheet, "utf-8")
        page = (site / lesson_page(stem).with_suffix(".html")).read_text("utf-8")
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
    shutil.copytree(site / "_static" / "widgets", parts / "widgets")
    shutil.copyfile(site / "_static" / "widget-host.js", parts / "widget-host.js")
    style = HtmlFormatter(style="default", cssclass="code").get_style_defs(".code")
    for name in ("deck.css", "handout.css"):
        (parts / name).write_text((root / DECKS / name).read_text("utf-8") + style, "utf-8")
    for name in ("deck.js", "widget.css"):
        shutil.copyfile(root / DECKS / name, parts / name)


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
        for beside in (one["beside"] for one in saved["state"].values() if "beside" in one):
            beside["file"] = f"../parts/widgets/{PurePath(beside['file']).name}"
        inside = json.dumps(saved).replace("</", r"<\/")
        kept.append(f"{opening}{inside}</script>")
    return document(title, WIDGETS.format(states="".join(kept), places="\n".join(places)))


HANDOUT = """\
<link rel="stylesheet" href="parts/handout.css">
<main>
<h1>{title}</h1>
<p class="made">{made_of}. MIT licence. The lesson, with what can be tried in it: {at}</p>
{blocks}
</main>
<script src="parts/deck.js"></script>
<script src="parts/mathjax/mathjax.js" defer></script>
"""


def handout(
    deck: Deck, notebook: NotebookNode, asked: Mapping[str, questions.Question], made_of: str
) -> str:
    """A lesson on a few sheets, for who sits in the hall: figures with their captions, no keys."""
    made = html.escape(made_of)
    blocks = "\n".join(filter(None, (block(deck, one, notebook, asked) for one in deck.slides)))
    at = lesson_page(deck.stem).with_suffix(".html").as_posix()
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
            below = said_below(shown)
            inside = picture(shown) + (f"<p class='caption'>{below}</p>" if below else "")
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
