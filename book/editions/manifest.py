"""What the build wrote into a folder that people work in, so that it touches nothing else.

The folder's file `SHA256SUMS` says it, in the form that `sha256sum --check` reads. Whatever else is
in the folder, and whatever has changed since, is somebody's work. A folder is made anew as a whole
if nobody has begun there (`refuse`, `replace`), or part by part, where nobody has (`merge`).
"""

import hashlib
import html
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from book.site import files
from book.site.dependencies import BookError

NAME = "SHA256SUMS"
LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}  # of a system in which the folder was opened
DEEPER = ("private/decks",)
"""Folders on the second level in which each entry stands for itself: a remark in one deck freezes
no other."""
SHOWN = {".html", ".ipynb", ".txt"}
LONGEST = 120
"""Characters of a mended line that are told."""
NAMED = 5
"""So many paths are named to whoever has begun; the others are counted."""


def line(path: Path, name: str) -> str:
    """What the manifest says of a file, `name` being its path in the folder."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}"


def lines(folder: Path) -> set[str]:
    """What the manifest of a folder should say, as the folder stands."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {line(path, path.relative_to(folder).as_posix()) for path in paths}


def written(folder: Path) -> set[str]:
    """What the manifest of a folder says; nothing if there is none."""
    path = folder / NAME
    return set(path.read_text("utf-8").splitlines()) if path.is_file() else set()


def begun(folder: Path) -> list[str]:
    """Paths of what somebody has put into a folder, or changed, in order; none if it is not there.

    A folder that the build did not make is one of them, and nothing that is in it.
    """
    known = written(folder)
    names = {entry.partition("  ")[2] for entry in known}
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}

    def look(here: Path) -> Iterator[str]:
        for path in sorted(here.iterdir()):
            name = path.relative_to(folder).as_posix()
            if path.is_dir() and not path.is_symlink():
                if name in folders:
                    yield from look(path)
                else:
                    yield f"{name}/"
            elif path.name in LITTER or name == NAME:
                continue
            elif name not in names:
                yield name
            elif path.is_symlink() or line(path, name) not in known:
                yield f"{name} (changed)"

    return list(look(folder)) if folder.exists() else []


def refuse(found: list[str], folder: Path, advice: str) -> None:
    """Stop if somebody has begun in a folder, before anything is changed.

    Raises:
        BookError: they have; names some of what is there, and says what to do.
    """
    if found:
        named = [*found[:NAMED], *([f"and {len(found) - NAMED} more"] if found[NAMED:] else [])]
        listed = "\n".join(f"    {name}" for name in named)
        raise BookError(
            f"{folder} holds what the build did not write:\n{listed}\n"
            f"Nothing has been changed. {advice} What nobody needs, remove by hand."
        )


def replace(new: Path, folder: Path) -> None:
    """Move what is in `new` to the place of what the build wrote into `folder` before.

    See first that nobody has begun there. While it works, the manifest says the old and the new: a
    call that is cut short leaves nothing that the next takes for a person's.
    """
    coming = lines(new)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, coming | written(folder))
    for path in folder.iterdir():
        if path.name != NAME:
            files.remove(path)
    for path in new.iterdir():
        shutil.move(path, folder)
    write(folder, coming)


def parts(entries: Iterable[str]) -> dict[str, set[str]]:
    """The parts of a folder that stay together, what is on its second level, with their entries.

    >>> sorted(parts(["0  a/b/c", "0  a/b/d/e", "0  a/f", "0  g", "0  private/decks/trm.html"]))
    ['a/b', 'a/f', 'g', 'private/decks/trm.html']
    """
    found: dict[str, set[str]] = {}
    for entry in entries:
        name = entry.partition("  ")[2]
        deep = 3 if name.startswith(tuple(f"{each}/" for each in DEEPER)) else 2
        found.setdefault("/".join(name.split("/")[:deep]), set()).add(entry)
    return found


def merge(new: Path, folder: Path, same: Iterable[str] = ()) -> list[str]:
    """Add the parts of `new` that a folder lacks, replace those in which nobody has begun.

    A part in which a file was changed or added stays as it is, whole: files of two versions need
    not fit together. What was removed comes again. Nothing is removed that `new` no longer has.

    Args:
        new: what the build makes today.
        folder: where people work; may not be there yet.
        same: parts that were not made again, because they would be the same.

    Returns:
        What was done and what was not, in a line each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    coming, known, said = lines(new), written(folder), []
    ours, theirs = parts(coming), parts(known)
    for part, wanted in sorted(ours.items()):
        there, before = folder / part, theirs.get(part, set())
        stands = standing(folder, part)
        if stands == wanted:
            known = known - before | wanted
            continue
        if not stands <= before:
            other = "" if before == wanted else "; what the book has is another by now"
            said.append(f"left     {part}: somebody has worked there{other}")
            continue
        # Both, until it is done: what is cut short is not taken for a person's.
        known |= wanted
        write(folder, known)
        mended = [*sentences(there, new / part)] if stands else []
        files.remove(there)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(new / part, there)
        known = known - before | wanted
        what = f"changed  {part}: {differing(stands, wanted)}" if stands else f"new      {part}"
        said += [what, *mended]
    write(folder, known)
    gone = {*theirs} - {*ours} - {*same}
    said += [f"left     {part}: no longer made" for part in sorted(gone)]
    return said or ["Nothing has changed."]


def standing(folder: Path, part: str) -> set[str]:
    """What the manifest should say of a part, as it stands; a system's litter aside."""
    there = folder / part
    paths = [there] if there.is_file() else [path for path in there.rglob("*") if path.is_file()]
    return {
        line(path, path.relative_to(folder).as_posix()) for path in paths if path.name not in LITTER
    }


def worked(folder: Path, part: str) -> bool:
    """Whether somebody has changed or added a file in a part that is there."""
    stands = standing(folder, part)
    return bool(stands) and not stands <= parts(written(folder)).get(part, set())


def sentences(before: Path, now: Path) -> Iterator[str]:
    """What a part says that it did not say before: the first such line, and how many there are."""
    paths = [now] if now.is_file() else sorted(now.rglob("*"))
    pairs = [(before / path.relative_to(now), path) for path in paths if path.suffix in SHOWN]
    found: dict[str, None] = {}
    for old, path in pairs:
        if old.is_file() and old.read_bytes() != path.read_bytes():
            known = {*shown(old)}
            found |= dict.fromkeys(line for line in shown(path) if line not in known)
    if found:
        first, more = next(iter(found)), len(found) - 1
        first = f"{first[:LONGEST]} …" if len(first) > LONGEST else first
        yield f"         “{first}”{f' and {more} lines more' if more else ''}"


def shown(path: Path) -> list[str]:
    """The lines of a notebook, of a page or of a text, as somebody reads them."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    elif path.suffix == ".html":
        text = html.unescape(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", "", text, flags=re.S))
    return [line.strip() for line in text.splitlines() if line.strip()]


def differing(before: set[str], wanted: set[str]) -> str:
    """The files by which two versions of a part differ, some of them named."""
    names = sorted({Path(entry.partition("  ")[2]).name for entry in before ^ wanted})
    more = f" and {len(names) - NAMED} more" if names[NAMED:] else ""
    return f"{', '.join(names[:NAMED])}{more}"


def write(folder: Path, entries: set[str]) -> None:
    """Write a folder's manifest, in the order of the paths."""
    ordered = sorted(entries, key=lambda entry: (entry.partition("  ")[2], entry))
    files.write_whole(folder / NAME, "".join(f"{entry}\n" for entry in ordered).encode())
