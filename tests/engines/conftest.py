"""Each engine that is installed, a copy of the site that says what goes wrong."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ..browser.conftest import serve, site
from .asking import Site, trained
from .driven import Played, Tab, started

__all__ = ["site"]

# First of all scripts of a page: what goes wrong on it, for engines that tell their driver nothing.
# Firefox, when it has nothing to do, begins to fetch the next page, and may give that up: no fault.
LISTEN = """<head><script>
  window.wrong = [];
  const missing = ({ src, href }) => `not there: ${src ?? href}`;
  addEventListener("error", (e) => {
    if (e.target.rel !== "next") wrong.push(e.message ?? missing(e.target));
  }, true);
  addEventListener("unhandledrejection", ({ reason }) => wrong.push(`${reason}`));
  for (const kind of ["error", "warn"]) console[kind] = (...words) => wrong.push(words.join(" "));
</script>"""
# As wide as a phone in any engine: some have no window that is so narrow.
PHONE = """<!DOCTYPE html><title>A phone</title><script>
  onload = () => { document.querySelector("iframe").src = location.search.slice(1); };
</script><iframe style="width: 390px; height: 800px; border: 0"></iframe>"""


@pytest.fixture(scope="session")
def copied(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, whose pages listen."""
    folder = tmp_path_factory.mktemp("copied") / "site"
    shutil.copytree(site, folder)
    for page in folder.glob("book/**/*.html"):
        text = page.read_text("utf-8")
        page.write_text(text.replace("<head>", LISTEN, 1), "utf-8")
    (folder / "phone.html").write_text(PHONE, "utf-8")
    return folder


@pytest.fixture(scope="session")
def book(copied: Path) -> Iterator[Site]:
    """Its addresses. A page of no origin may store nothing."""
    with serve(copied) as served, serve(copied, policy="sandbox allow-scripts") as unkept:
        yield Site(served, unkept, copied)


@pytest.fixture(scope="session")
def engine(browser: Browser) -> Iterator[Callable[[str], Tab]]:
    """An engine by its name, started when it is first asked for."""
    with ExitStack() as stack:
        known: dict[str, Tab] = {"Chromium": Played(browser)}

        def given(name: str) -> Tab:
            if name not in known:
                made = started(name)
                if isinstance(made, str):
                    pytest.skip(made)
                known[name] = stack.enter_context(made)
            return known[name]

        yield given


@pytest.fixture(scope="session")
def by_chromium(engine: Callable[[str], Tab], book: Site) -> Callable[[str], list[str]]:
    """What a page tells of its training there."""
    return cache(partial(trained, engine("Chromium"), book))
