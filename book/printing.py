"""What is printed: decks as PDF.

The Chromium of this machine prints; where there is none this is said, and the rest goes on.
"""

import shutil
from pathlib import Path

import browser

WAIT = 120_000  # milliseconds


def decks(folder: Path, old: Path) -> None:
    """Print each deck of a folder into a PDF beside it, a page for each press of a key.

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
            page = chromium.new_page()
            page.set_default_timeout(WAIT)
            page.goto(f"{path.as_uri()}?print-pdf")
            page.wait_for_selector("html[data-ready] .pdf-page")
            page.wait_for_load_state("networkidle")
            page.pdf(
                path=path.with_suffix(".pdf"),
                prefer_css_page_size=True,
                print_background=True,
            )
            page.close()
