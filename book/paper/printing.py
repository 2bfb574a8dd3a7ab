"""What is printed: decks and handouts, and the whole book as one PDF.

    make print                     into _build/print

The Chromium of this machine prints; where there is none this is said, and the rest goes on. The
book is printed page by page, as any reader's browser prints one of them; what pages say that only
a screen can do is left out. How long each came out is known then, and the contents, in front, are
printed with the numbers; if these take more pages than was thought, once more. pypdf joins all,
puts a number and the version below each page, and makes links lead to pages of the same file.
"""

import html
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import Fit

from book.paper import browser
from book.site.dependencies import BookError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAIT = 240_000  # milliseconds, for a slow machine
SHEET = "handout"
BOOK = "attention-notes.pdf"
LICENCE = "MIT licence"

SETTLED = """async () => {
  await document.fonts.ready;
  await window.MathJax?.startup?.promise;
}"""
MOUNTED = """() => [...document.querySelectorAll('script[type$="widget-view+json"]')]
  .every((script) => script.nextElementSibling?.dataset.state)"""
# Hints are read on paper, solutions are not; sentences that ask for a hand at a screen go.
ON_PAPER = r"""() => {
  for (const fold of document.querySelectorAll("details.sd-dropdown")) {
    if (fold.querySelector("summary").textContent.trim() .match(/solution/i)) fold.remove();
    else fold.open = true;
  }
  for (const said of document.querySelectorAll(".cell_output")) {
    if (said.textContent.trim().startsWith("Not yet")) said.remove(); // of a check
  }
  const hand = "press(?! and Wolf)|click|type (three|your own)|take it apart";
  const asks = new RegExp(`\\b(${hand}|train one|another seed)\\b`, "i");
  for (const block of document.querySelectorAll(".bd-article :is(p, li)")) {
    if (block.closest("figure, table, .live-widget, .admonition.exercise")) continue;
    if (block.querySelector("p, ul, ol")) continue;
    const all = block.innerHTML.split(/(?<=[.?!])\s+/);
    const kept = all.filter((part) => {
      const { content } = Object.assign(document.createElement("template"), { innerHTML: part });
      return !asks.test(content.textContent) && !content.querySelector("button, a[href^='#open-']");
    });
    if (kept.length === all.length) continue;
    block.innerHTML = kept.join(" ");
    const item = block.closest("li"); // what is left of it speaks of what was to be done
    if (item) item.remove();
    else if (!block.textContent.trim()) block.remove();
  }
  for (const list of document.querySelectorAll(".bd-article :is(ul, ol):empty")) list.remove();
}"""
STYLE = """
@page { size: A4; margin: 22mm 20mm; }
body { margin: 0; color: #1c2126; font: 10.5pt/1.5 system-ui, sans-serif; }
h1 { margin: 60mm 0 4mm; font-size: 30pt; }
h2 { margin: 0 0 6mm; font-size: 18pt; break-before: page; }
ol { margin: 0; padding: 0; list-style: none; }
li { display: flex; gap: 4mm; margin: 1.2mm 0; }
li.below { margin-left: 8mm; }
li.part { margin-top: 6mm; font-weight: 600; }
li span:last-child { margin-left: auto; }
"""
FOOT = """
@page { size: A4; margin: 0; }
body { margin: 0; color: #59626b; font: 8.5pt system-ui, sans-serif; }
div { display: flex; justify-content: space-between; box-sizing: border-box;
  height: 297mm; padding: 284mm 18mm 0; break-after: page; overflow: hidden; }
"""


class Part(NamedTuple):
    """A page of the site as a part of the book: its path from the site's root, how deep it stands.

    A part without a path is the caption of those that follow.
    """

    path: str
    depth: int
    caption: str = ""


# Decks


def decks(folder: Path, old: Path) -> None:
    """Print each deck and handout of a folder into a PDF beside it.

    Of a deck there is a page for each press of a key.

    Args:
        folder: with the decks, new.
        old: where they may have been printed before; what is the same is not printed again.
    """
    stale = []
    for path in sorted(folder.glob("*.html")):
        before, printed = old / path.name, (old / path.name).with_suffix(".pdf")
        if old != folder and printed.is_file() and before.read_bytes() == path.read_bytes():
            shutil.copyfile(printed, path.with_suffix(".pdf"))
        else:
            stale.append(path)
    if not stale:
        return
    with browser.opened() as chromium:
        if chromium is None:
            print(f"The slides are not printed: {browser.NONE}")
            return
        for path in stale:
            path.with_suffix(".pdf").write_bytes(printed_deck(chromium, path))


def printed_deck(chromium: "Browser", path: Path) -> bytes:
    """A deck or a handout as a PDF."""
    is_deck = not path.stem.endswith(SHEET)
    with opened(chromium, f"{path.as_uri()}{'?print-pdf' * is_deck}") as page:
        page.wait_for_selector("html[data-ready]", state="attached")
        if is_deck:
            page.wait_for_selector(".pdf-page")
        page.wait_for_load_state("networkidle")
        return printed_as_it_says(page)


@contextmanager
def opened(chromium: "Browser", address: str) -> "Iterator[Page]":
    """A page, in light colours."""
    page = chromium.new_page(color_scheme="light", reduced_motion="reduce")
    try:
        page.set_default_timeout(WAIT)
        page.goto(address)
        yield page
    finally:
        page.close()


def printed_as_it_says(page: "Page") -> bytes:
    """A page as a PDF of the size and with the margins that its style sheet says."""
    return page.pdf(prefer_css_page_size=True, print_background=True)


# The book


def parts(root: Path) -> list[Part]:
    """The pages of the book in their order, as `_toc.yml` has them."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    found = [Part(toc["root"], 0)]
    for part in toc["parts"]:
        found.append(Part("", 0, part["caption"]))
        found += below(part["chapters"], 0)
    return found


def below(entries: list[dict[str, Any]], depth: int) -> Iterator[Part]:
    """Entries of a table of contents, and what stands below each."""
    for entry in entries:
        yield Part(entry["file"], depth)
        yield from below(entry.get("sections", []), depth + 1)


def book(root: Path, site: Path, folder: Path, made_of: str) -> Path:
    """Print the book; returns the PDF.

    Args:
        root: of the project.
        site: as it was rendered.
        folder: to write into.
        made_of: the version that stands below each page.

    Raises:
        BookError: there is no Chromium.
    """
    with browser.opened() as chromium:
        if chromium is None:
            raise BookError(f"The book is not printed: {browser.NONE}")
        made = printed_book(chromium, parts(root), site, made_of)
    path = folder / BOOK
    made.write(path)
    return path


def printed_book(chromium: "Browser", entries: list[Part], site: Path, made_of: str) -> PdfWriter:
    """Some parts of the book as one PDF, with contents in front."""
    printed, titles = [], []
    for entry in entries:
        title = entry.caption
        if entry.path:
            title, content = printed_page(chromium, site / f"{entry.path}.html")
            printed.append(PdfReader(BytesIO(content)))
        titles.append(title)
    lengths = [len(each.pages) for each in printed]
    front, length = None, 0
    while front is None or len(front.pages) != length:
        length = len(front.pages) if front else 2
        text = contents(entries, titles, lengths, length, made_of)
        front = PdfReader(BytesIO(printed_text(chromium, text)))
    feet = PdfReader(BytesIO(printed_text(chromium, feet_of(length, lengths, made_of))))
    made = joined(entries, titles, [front, *printed], feet, site)
    made.add_metadata({"/Title": "Attention Notes", "/Author": "The Attention Notes authors"})
    return made


def printed_page(chromium: "Browser", path: Path) -> tuple[str, bytes]:
    """The title of a page of the site, and the page as a PDF."""
    with opened(chromium, path.as_uri()) as page:
        page.evaluate(SETTLED)
        page.wait_for_function(MOUNTED)
        page.evaluate(ON_PAPER)
        title = page.locator("h1").first
        title.locator(".headerlink").evaluate_all("all => all.forEach((one) => one.remove())")
        return title.inner_text().strip(), printed_as_it_says(page)


def printed_text(chromium: "Browser", text: str) -> bytes:
    """A page of ours as a PDF."""
    with opened(chromium, "about:blank") as page:
        page.set_content(text)
        return printed_as_it_says(page)


def starts(lengths: list[int], front: int) -> list[int]:
    """The number of the first page of each part, after so many pages in front, counted from 1.

    >>> starts([3, 1, 2], front=2)
    [3, 6, 7]
    """
    return [front + 1 + sum(lengths[:i]) for i in range(len(lengths))]


def contents(
    entries: list[Part], titles: list[str], lengths: list[int], front: int, made_of: str
) -> str:
    """The first page, with what the book is, and the contents."""
    numbers, rows = iter(starts(lengths, front)), []
    for entry, title in zip(entries, titles, strict=True):
        kind = "below" if entry.depth else "" if entry.path else "part"
        number = str(next(numbers)) if entry.path else ""
        rows.append(
            f'<li class="{kind}"><span>{html.escape(title)}</span><span>{number}</span></li>'
        )
    about = f"<p>{html.escape(made_of)}</p><p>Code, text and figures: {LICENCE}.</p>"
    head = f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style><h1>Attention Notes</h1>"
    return f"{head}{about}<h2>Contents</h2><ol>{''.join(rows)}</ol>"


def feet_of(front: int, lengths: list[int], made_of: str) -> str:
    """The foot of each page: its number and the version; nothing at that of the first."""
    made = html.escape(f"{made_of}. {LICENCE}")
    rows = [
        "<div></div>" if number == 1 else f"<div><span>{made}</span><span>{number}</span></div>"
        for number in range(1, front + sum(lengths) + 1)
    ]
    return f"<!DOCTYPE html><meta charset=utf-8><style>{FOOT}</style>{''.join(rows)}"


def joined(
    entries: list[Part],
    titles: list[str],
    printed: list[PdfReader],
    feet: PdfReader,
    site: Path,
) -> PdfWriter:
    """All of it, with bookmarks, a foot below each page, and links that stay in the book."""
    made = PdfWriter()
    for each in printed:
        made.append(each, import_outline=False)
    for page, foot in zip(made.pages, feet.pages, strict=True):
        page.merge_page(foot)
    lengths = [len(each.pages) for each in printed]
    at = starts(lengths[1:], lengths[0])
    paths = [entry.path for entry in entries if entry.path]
    first = {
        (site / f"{path}.html").as_uri(): number - 1 for path, number in zip(paths, at, strict=True)
    }
    lead_inside(made, first)
    follow, above = iter(at), None
    part = None
    for entry, title in zip(entries, titles, strict=True):
        if not entry.path:
            part = title
            continue
        number = next(follow) - 1
        if part:
            above = made.add_outline_item(title=part, page_number=number)
            part = None
        made.add_outline_item(title=title, page_number=number, parent=above)
    return made


def lead_inside(made: PdfWriter, first: dict[str, int]) -> None:
    """Turn links to pages of the site into links to their first pages here."""
    for number, page in enumerate(made.pages):
        links = page.get("/Annots", [])
        assert isinstance(links, list)
        for reference in list(links):
            link = reference.get_object()
            address = str(link.get("/A", {}).get("/URI", ""))
            if not address.startswith("file:"):
                continue
            target = first.get(address.partition("#")[0].partition("?")[0])
            links.remove(reference)
            if target is not None:
                inside = Link(
                    rect=link["/Rect"], target_page_index=target, fit=Fit.fit(), border=[0, 0, 0]
                )
                made.add_annotation(number, inside)
