"""What every page of the site asks for, in a file a kind.

A page names a dozen style sheets and as many scripts of Sphinx, the theme and its extensions, and
each is a request that its reader waits for. Here the sheets of its head become one, its scripts one
and those that wait for its text one. A file begins with the names of what stands in it, so that a
later build makes it anew for the pages that it does not render again.
"""

import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

KINDS = {
    "css": r'<link\b[^>]*?\bhref="[./]*_static/([\w./-]+\.css)[^"]*"[^>]*>',
    "later.js": r'<script defer="defer" src="[./]*_static/(\w+\.js)[^"]*"></script>',
    "js": r'<script src="[./]*_static/((?!widget-host)[\w./-]+\.js)[^"]*"></script>',
}
"""The tags that ask for such files, but for the widgets' host, which comes after what it reads."""
BEGINS = re.compile(r"\A/\* (.*) \*/\n")


def setup(app: Sphinx) -> None:
    """Join once all files are as they are served, before those that are kept are listed."""
    app.connect("build-finished", _join, priority=800)


def joined(static: Path, names: list[str]) -> str:
    """The text of some files of `static`, in their order, after their names.

    Raises:
        ExtensionError: a style sheet names a file from a folder that it no longer lies in.
    """
    return "\n".join([f"/* {' '.join(names)} */", *(_text(static, name) for name in names)])


def _text(static: Path, name: str) -> str:
    path = static / name
    text = path.read_text("utf-8").removeprefix('@charset "UTF-8";')
    if path.suffix == ".js":
        return f"{text}\n;"
    if path.parent != static and re.search(r"""url\((?!\s*["']?(?:data:|#))""", text):
        raise ExtensionError(f"{name} asks for files that lie beside it, and is to be joined")
    # What is imported in the middle of a sheet is not read.
    return re.sub(
        r'@import (?:url\()?"([^"]+)"\)?;',
        lambda at: _text(static, (path.parent / at[1]).resolve().relative_to(static).as_posix()),
        text,
    )


def _join(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    join(Path(app.outdir))


def join(site: Path) -> None:
    """Join what the pages below a folder ask for, and make anew what was joined before."""
    static = (site / "_static").resolve()
    made, pages = parts(static), {}
    for page in site.rglob("*.html"):
        head, end, body = page.read_text("utf-8").partition("</head>")
        head = _one(_one(head, "css", made), "later.js", made)
        # A script that runs at once may read what one between it and the next has set.
        head = re.sub(rf"(?:{KINDS['js']}\s*)+", lambda run: _one(run[0], "js", made), head)
        pages[page] = head + end + body
    for name, names in made.items():
        if not any(name in text for text in pages.values()):
            (static / name).unlink(missing_ok=True)  # a page asks for others now
            continue
        content = joined(static, names)
        (static / name).write_text(content, "utf-8")
        version = hashlib.sha256(content.encode()).hexdigest()[:8]
        asked = re.compile(re.escape(name) + r"\?v=\w*")
        pages = {page: asked.sub(f"{name}?v={version}", text) for page, text in pages.items()}
    for page, text in pages.items():
        page.write_text(text, "utf-8")


def parts(static: Path) -> dict[str, list[str]]:
    """The names of what stands in each joined file, by its own."""
    begins = {path.name: BEGINS.match(path.read_text("utf-8")) for path in static.glob("joined-*")}
    return {name: found[1].split() for name, found in begins.items() if found}


def _one(head: str, kind: str, made: dict[str, list[str]]) -> str:
    """A head, or a piece of it, that asks for one file of a kind in the place of the first."""
    tag = KINDS[kind]
    names, first = re.findall(tag, head), re.search(tag, head)
    if first is None or len(names) < 2:  # none, or what has been joined
        return head
    name = f"joined-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:8]}.{kind}"
    made[name] = names
    asked = re.sub(r'_static/[^"]*', f"_static/{name}?v=", first[0])
    return head[: first.start()] + asked + re.sub(rf"\n?\s*{tag}", "", head[first.end() :])
