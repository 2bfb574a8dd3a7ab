"""A slide as HTML: of its deck's file, the lesson's questions and the notebook as it was executed.

Figures, tables and widgets are the notebook's. No slide has anything of a solution.
"""

import html
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from book.course import homework, questions
from book.paper.decks import Deck, Slide
from book.site.dependencies import BookError


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
