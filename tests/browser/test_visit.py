"""What a test's page remembers of its requests: what failed, not what an end cut off."""

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from playwright.sync_api import Page, TimeoutError

from .. import chromium
from .conftest import Visit, recorded, serve

ASK = "(name) => { fetch(name).catch(() => {}); }"
GIVE_UP = """(name) => {
  const giving = new AbortController();
  fetch(name, { signal: giving.signal }).catch(() => {});
  giving.abort();
}"""


@pytest.fixture
def visit(open_page: Callable[..., Visit], tmp_path: Path) -> Iterator[Visit]:
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


def test_what_a_page_still_waited_for_when_it_was_left_is_no_failure(visit):
    page = visit.page
    _ask(page, "late")
    page.reload()
    _ask(page, "late")
    page.goto(page.url + "other.html")
    _ask(page, "late")
    page.go_back()
    page.wait_for_function("document.title === 'index.html'")
    visit.assert_clean()


@pytest.mark.parametrize("moved", [False, True])
def test_what_a_page_gives_up_while_it_stays_is_one(moved, visit):
    if moved:
        visit.page.reload()
    with visit.page.expect_event("requestfailed"):
        _ask(visit.page, "late", GIVE_UP)
    assert visit.failed == [visit.page.url + "late"]


def test_what_is_missing_is_one_though_the_page_is_left(visit):
    with visit.page.expect_response("**/missing"):
        _ask(visit.page, "missing")
    visit.page.reload()
    assert visit.failed == [f"404 {visit.page.url}missing"]


def test_what_is_refused_is_one_while_a_page_is_being_left():
    """By a page made up, in which the new document comes as late as it likes."""
    page = MagicMock()
    visit = recorded(page, "http://book/")
    heard = {call.args[0]: call.args[1] for call in page.on.call_args_list}
    away = MagicMock(url="http://book/other.html", frame=page.main_frame)
    asked = MagicMock(url="http://book/file", frame=page.main_frame)
    asked.is_navigation_request.return_value = False
    heard["request"](away)
    for failure in ("net::ERR_ABORTED", "net::ERR_CONNECTION_REFUSED"):
        asked.failure = failure
        heard["requestfailed"](asked)
    assert visit.failed == ["http://book/file"]


def test_a_page_that_could_not_be_left_stays(visit):
    """An address that gives no page ends the leaving: what is given up afterwards is a failure."""
    page = visit.page
    page.route("**/nothing", lambda route: route.fulfill(status=204))
    with page.expect_event("requestfailed"):
        page.evaluate("location.href = 'nothing'")
    with page.expect_event("requestfailed"):
        _ask(page, "late", GIVE_UP)
    assert visit.failed == [page.url + "nothing", page.url + "late"]


# --- A frame


FRAME = """(source) => {
  const frame = document.createElement('iframe');
  frame.src = source;
  document.body.append(frame);
}"""
WITHOUT = "document.querySelector('iframe').remove()"
READ_MODULE = """() => {
  const text = URL.createObjectURL(new Blob(['export {}'], { type: 'text/javascript' }));
  URL.revokeObjectURL(text);
  return import(text).catch(() => {});
}"""


@pytest.mark.parametrize("source", ["late", "other.html"])
def test_what_a_frame_still_waited_for_when_it_was_taken_away_is_no_failure(source, visit):
    page = visit.page
    _ask(page, source, FRAME)
    if source != "late":
        page.frames[1].wait_for_load_state()
        with page.expect_request("**/late"):
            page.frames[1].evaluate(ASK, "late")
    with page.expect_event("requestfailed"):
        page.evaluate(WITHOUT)
    visit.assert_clean()


def test_what_a_frame_missed_is_one_though_it_is_taken_away(visit):
    """A text that is revoked before it is read; a file that is not there; the page's own."""
    page = visit.page
    _ask(page, "other.html", FRAME)
    page.frames[1].wait_for_load_state()
    page.frames[1].evaluate(READ_MODULE)
    page.frames[1].evaluate("() => fetch('missing')")
    with page.expect_event("requestfailed"):
        _ask(page, "late", GIVE_UP)
    page.evaluate(WITHOUT)
    text, missing, late = visit.failed
    assert text.startswith("blob:")
    assert (missing, late) == (f"404 {page.url}missing", page.url + "late")


def test_what_a_frame_gives_up_while_it_stays_is_one(visit):
    page = visit.page
    _ask(page, "other.html", FRAME)
    page.frames[1].wait_for_load_state()
    with page.expect_event("requestfailed"):
        page.frames[1].evaluate(GIVE_UP, "late")
    assert visit.failed == [page.url + "late"]


@pytest.mark.parametrize("make", ["new_page", "new_context"])
def test_every_page_waits_as_long_as_a_busy_machine_needs(make, browser, monkeypatch):
    """Whoever opens it: not for Playwright's half a minute."""
    monkeypatch.setattr(chromium, "HANGS", 50)
    made = getattr(browser, make)()
    page = made if make == "new_page" else made.new_page()
    with pytest.raises(TimeoutError, match="Timeout 50ms"):
        page.wait_for_function("false")
    made.close()
