"""Pages for those who give a course, from the book's own, which read without the book.

`notes.html` of a week and `teaching/` of a course's private folder are made from the Markdown in
`book/teaching/`; links that led through the book lead into the course.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode
from pybtex.database import parse_file

from book.course.course_page import page
from book.course.homework import Week

SITE = "../../students/site/book"
"""From a folder in the private one."""

TEMPLATE = "audit"
"""What a project begins with: no page, but a notebook for students."""

AGENTS = "AGENTS.md"
"""A request to programs that assist, as it is, for whoever puts it beside the notebooks."""

NOT_HERE = ("index", "AGENTS")
"""Pages of that folder that a course has in another form."""

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
CITED = re.compile(r"\{cite:t\}`(\w+)`")
INCLUDED = re.compile(r"```\{literalinclude\} (\S+)\n(?::.*\n)*```")


def write(teaching: Path, private: Path, weeks: Sequence[Week]) -> None:
    """All pages for teachers, into the private folder of a course.

    Args:
        teaching: the book's folder.
        private: the course's; has a folder for each week.
        weeks: of the course.
    """
    titles = {week.stem: week.title for week in weeks}
    names = {week.stem: week.name for week in weeks}
    notes = [teaching.parent / "lessons" / stem / "teaching.md" for stem in names]
    for path in sorted([*teaching.glob("*.md"), *filter(Path.is_file, notes)]):
        if path in notes:
            there = private / names[path.parent.name] / "notes.html"
        elif path.stem in (*NOT_HERE, TEMPLATE):
            continue
        else:
            there = private / "teaching" / f"{path.stem}.html"
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(rendered(path, titles, names, weeks), "utf-8")
    if (teaching / AGENTS).is_file():
        shutil.copy(teaching / AGENTS, private / "teaching")


def rendered(
    path: Path, titles: Mapping[str, str], names: Mapping[str, str], weeks: Sequence[Week]
) -> str:
    """A page for teachers as HTML that needs nothing beside the course's folder.

    Args:
        path: of the page.
        titles: of the lessons, by their stems.
        names: what a week's folder is called, by the stem of its lesson.
        weeks: of the course.
    """
    text = of_weeks(path.read_text("utf-8"), weeks)
    text = INCLUDED.sub(lambda found: fenced(path.with_name(found[1]).read_text("utf-8")), text)
    book = next(above for above in path.parents if (above / "references.bib").is_file())
    here = path.relative_to(book)
    text = CITED.sub(cited(book / "references.bib"), text)
    text = LINK.sub(lambda found: relinked(found[1], found[2], here, titles, names), text)
    top = re.match(r"# (?:Teaching: )?(.+)", text)
    made = MarkdownIt("js-default").use(deflist_plugin).render(text)
    return page(top[1] if top else path.stem, made)


def of_weeks(text: str, weeks: Sequence[Week]) -> str:
    r"""A syllabus as a course of these weeks has it: what speaks of a week follows its lesson.

    Its first table says which lesson is which week's in the book. Rows, announcements and lines
    that begin with a week's number are those of the course's weeks, in their order, and no others.

    >>> row = "| {} | [](../lessons/{}/{}.ipynb) |\n"
    >>> text = row.format(1, "cats", "cats") + row.format(2, "dogs", "dogs") + "\nWeek 1 purrs.\n"
    >>> print(of_weeks(text, [Week(1, "dogs", "", "", ())]).strip())
    | 1 | [](../lessons/dogs/dogs.ipynb) |
    """
    there = re.findall(r"^\| (\d+) \| \[\]\(\.\./lessons/(\w+)/", text, re.MULTILINE)
    if not there or [stem for _, stem in there] == [week.stem for week in weeks]:
        return text
    numbers = {week.stem: week.number for week in weeks}
    now = {old: numbers.get(stem) for old, stem in there}
    text = re.sub(r"^Six weeks, one", f"{len(weeks)} weeks, one", text, flags=re.MULTILINE)
    text = re.sub(r"^All six weeks .*\n", "", text, flags=re.MULTILINE)
    found: list[str] = []
    for block in re.split(r"(\n\n)", text):
        lines, rows = [], []
        for line in block.splitlines():
            row = re.match(r"\| (\d+) (?=\|)", line)
            said = re.match(r"((?:Before |After )?[Ww]eek )(\d+)\b", line)
            new = now.get((row and row[1]) or (said and said[2]) or "")
            if row and new:
                rows.append((new, f"| {new} {line[row.end() :]}"))
            elif said and new:
                lines.append(f"{said[1]}{new}{line[said.end() :]}")
            elif said and block.splitlines()[1:2] and block.splitlines()[1].startswith(":"):
                break  # an announcement of a week that is not
            elif not row and not said:
                lines.append(line)
        lines += [line for _, line in sorted(rows, key=lambda each: each[0])]
        found.append("\n".join(lines) if block.strip() else block)
    return re.sub(r"\n{3,}", "\n\n", "".join(found))


def fenced(text: str) -> str:
    """A text as it is written."""
    return f"```text\n{text}```"


def cited(bibliography: Path) -> Callable[[re.Match[str]], str]:
    """What puts a link to a work in the place of a citation."""
    entries = parse_file(str(bibliography)).entries

    def link(found: re.Match[str]) -> str:
        entry = entries[found[1]]
        first, *others = (" ".join(each.last_names) for each in entry.persons["author"])
        name = f"{first} and others" if others else first
        return f"[{name} ({entry.fields['year']})]({entry.fields['url']})"

    return link


def relinked(
    shown: str, target: str, here: Path, titles: Mapping[str, str], names: Mapping[str, str]
) -> str:
    """A link of the book's pages for teachers, from a folder of the private one.

    >>> here, weeks = Path("teaching/syllabus.md"), {"cats": "week-1-cats"}
    >>> relinked("", "../lessons/cats/cats.ipynb", here, {"cats": "Of cats"}, weeks)
    '[Of cats](../../students/site/book/lessons/cats/cats.html)'
    >>> relinked("notes", "../lessons/cats/teaching.md", here, {}, weeks)
    '[notes](../week-1-cats/notes.html)'
    >>> relinked("costs", "costs.md#one", here, {}, weeks)
    '[costs](../teaching/costs.html#one)'
    """
    if re.match(r"[a-z]+:|#", target):
        return f"[{shown}]({target})"
    place, mark, anchor = target.partition("#")
    path = PurePosixPath(os.path.normpath((here.parent / place).as_posix()))
    shown = shown or titles.get(path.stem, path.stem)
    if path.name == "teaching.md":
        if path.parent.name not in names:
            return shown
        there = f"../{names[path.parent.name]}/notes.html"
    elif path.parts[0] != "teaching":
        there = f"{SITE}/{path.with_suffix('.html')}"
    elif path.stem == "index":
        return shown
    else:
        there = f"../teaching/{path.stem}.html"
    return f"[{shown}]({there}{mark}{anchor})"


def template(path: Path) -> NotebookNode:
    """The notebook that a project begins with, written as MyST Markdown."""
    found = read_myst_markdown_notebook(path.read_text("utf-8"), path=path)
    for number, cell in enumerate(found.cells):
        cell.id = f"audit-{number}"
    return found
