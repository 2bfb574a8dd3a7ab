"""What a test's page remembers of its requests: what failed, not what an end cut off."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, TimeoutError

from . import conftest
from .conftest import OpenPage, Visit, serve

ASK = "(name) => { fetch(name).catch(() => {}); }"
FRAME = """(source) => {
  const frame = document.createElement('iframe');
  frame.src = source;
  document.body.append(frame);
}"""
WITHOUT = "document.querySelector('iframe').remove()"
REVOKED = """() => {
  const text = URL.createObjectURL(new Blob(['export {}'], { type: 'text/javascript' }));
  URL.revokeObjectURL(text);
  return import(text).catch(() => {});
}"""


@pytest.fixture
def visit(open_page: OpenPage, tmp_path: Path) -> Iterator[Visit]:
    """An empty page of a host that never answers what is called `late`."""
    for name in ("index.html", "other.html"):
        (tmp_path / name).write_text(f"<!DOCTYPE html><title>{name}</title>", "utf-8")
    with serve(tmp_path) as address:
        visit = open_page("", base=address)
        visit.page.route("**/late", lambda route: None)
        yield visit


def _ask(page: Page, name: str, how: str = ASK) -> None:
    with page.expect_request(f"**/{name}"):
        page.evaluate(how, name)


def test_what_a_page_or_a_frame_still_waited_for_when_it_was_left_is_no_failure(
    visit: Visit,
) -> None:
    page = visit.page
    _ask(page, "late")
    page.reload()
    _ask(page, "late", FRAME)
    with page.expect_event("requestfailed"):
        page.evaluate(WITHOUT)
    page.goto(page.url + "other.html")
    _ask(page, "late")
    page.go_back()
    page.wait_for_function("document.title === 'index.html'")
    visit.assert_clean()


def test_what_is_missing_or_refused_is_one_though_who_asked_is_left(visit: Visit) -> None:
    """A text that is revoked before it is read; a file that is not there; a host that is not."""
    page = visit.page
    page.route("**/refused", lambda route: route.abort("connectionrefused"))
    _ask(page, "other.html", FRAME)
    frame = page.frames[1]
    frame.wait_for_load_state()
    frame.evaluate(REVOKED)
    frame.evaluate("() => fetch('missing')")
    page.evaluate(WITHOUT)
    with page.expect_event("requestfailed"):
        _ask(page, "refused")
    page.reload()
    text, *others = visit.failed
    assert text.startswith("blob:")
    assert others == [f"404 {page.url}missing", f"{page.url}refused"]


@pytest.mark.parametrize("make", ["new_page", "new_context"])
def test_every_page_waits_as_long_as_a_busy_machine_needs(
    make: str, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens it: not for Playwright's half a minute."""
    monkeypatch.setattr(conftest, "HANGS", 50)
    made = getattr(browser, make)()
    page = made if make == "new_page" else made.new_page()
    with pytest.raises(TimeoutError, match="Timeout 50ms"):
        page.wait_for_function("false")
    made.close()
