"""Three engines behind one small interface, each as a reader has it, none built for tests.

Chromium is driven by Playwright; Firefox by WebDriver BiDi, which the stock one speaks (what
Playwright asks of it, the ESR does not have); WebKit by WebDriver, on a screen that nobody sees.
"""

import base64
import itertools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from playwright.sync_api import Browser
from websocket import WebSocket, create_connection

HANGS = 400
"""Seconds that bound what hangs, on a busy machine too."""
WIDTH, HEIGHT = 1280, 900
MINI_BROWSER = "lib/*/webkit2gtk-4.1/MiniBrowser"  # below /usr, in Debian and Ubuntu

# Where the first line of what a function finds is, in view and at rest.
REACH = """async (...given) => {
  const found = (%s)(...given);
  for (let before = ''; ; ) {
    found.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, top, width, height } = found.getClientRects()[0];
    const now = [Math.round(left + width / 2), Math.round(top + height / 2)];
    if (`${now}` === before) return now;
    before = `${now}`;
    await new Promise((go) => setTimeout(go, 100));
  }
}"""
WAIT = """async (...given) => {
  const until = Date.now() + %s;
  while (Date.now() < until) {
    if (await (%s)(...given)) return true;
    await new Promise((go) => setTimeout(go, 100));
  }
}"""
# As by pasting: what an editor makes of single keys is no matter of the engine.
PASTE = """(selector, text) => {
  const field = document.querySelector(selector);
  field.focus();
  field.select();
  document.execCommand('insertText', false, text);
}"""


class Tab:
    """A page in some engine; what is pressed and typed comes as from a reader's hand."""

    version: str
    open: Callable[[str], Any]
    evaluate: Callable[[str], str | None]
    press: Callable[[int, int], Any]
    type: Callable[[str], Any]
    printed: Callable[[], bytes] | None = None
    now = ""
    """The address that is open, with nothing wrong on it."""

    def js(self, function: str, *given: Any) -> Any:
        """What a function of JavaScript gives, which may be async."""
        told = f"await ({function})(...{json.dumps(given)})"
        text = self.evaluate(f"(async () => JSON.stringify({told}))()")
        return None if text is None else json.loads(text)

    def wait(self, function: str, *given: Any) -> None:
        """Until it gives something that is true."""
        assert self.js(WAIT % (1000 * HANGS, function), *given), f"waited in vain: {function}"

    def click(self, find: str, *given: Any) -> None:
        """On the element that a function finds."""
        self.press(*self.js(REACH % find, *given))

    def paste(self, selector: str, text: str) -> None:
        self.js(PASTE, selector, text)


class Played(Tab):
    """By Playwright."""

    def __init__(self, browser: Browser) -> None:
        self.version = f"Chromium {browser.version}"
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(2000 * HANGS)
        self.open, self.evaluate, self.printed = page.goto, page.evaluate, page.pdf
        self.press, self.keys = page.mouse.click, page.keyboard

    def type(self, text: str) -> None:
        for key in text:
            self.keys.press({"\n": "Enter"}.get(key, key))


class Acting(Tab):
    """By a WebDriver of either kind, to which hands are the same."""

    act: Callable[..., Any]

    def press(self, x: int, y: int) -> None:
        move, *button = {"type": "pointerMove", "x": x, "y": y}, "pointerDown", "pointerUp"
        self.hand("pointer", move, *({"type": each, "button": 0} for each in button))

    def type(self, text: str) -> None:
        keys = itertools.product(text.replace("\n", "\ue007"), ("keyDown", "keyUp"))
        self.hand("key", *({"type": way, "value": key} for key, way in keys))

    def hand(self, kind: str, *actions: dict[str, Any]) -> None:
        self.act(actions=[{"type": kind, "id": kind, "actions": actions}])


class Spoken(Acting):
    """By WebDriver BiDi."""

    def __init__(self, way: WebSocket) -> None:
        self.way, self.numbers = way, itertools.count()
        told = self.ask("session.new", capabilities={})
        self.version = f"Firefox {told['capabilities']['browserVersion']}"
        (first,) = self.ask("browsingContext.getTree")["contexts"]
        self.at = {"context": first["context"]}
        self.act = partial(self.ask, "input.performActions", **self.at)
        self.ask(
            "browsingContext.setViewport", viewport={"width": WIDTH, "height": HEIGHT}, **self.at
        )

    def ask(self, method: str, **given: Any) -> Any:
        number = next(self.numbers)
        self.way.send(json.dumps({"id": number, "method": method, "params": given}))
        while (told := json.loads(self.way.recv())).get("id") != number:
            pass
        assert told["type"] == "success", told
        return told["result"]

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", url=address, wait="complete", **self.at)

    def evaluate(self, text: str) -> str | None:
        told = self.ask("script.evaluate", expression=text, target=self.at, awaitPromise=True)
        assert told["type"] == "success", told["exceptionDetails"]["text"]
        value: str | None = told["result"].get("value")
        return value

    def printed(self) -> bytes:
        return base64.b64decode(self.ask("browsingContext.print", **self.at)["data"])


class Driven(Acting):
    """By WebDriver, which here cannot print."""

    def __init__(self, address: str, program: str) -> None:
        self.address = f"{address}/session"
        options = {"binary": program, "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        told = self.ask("", capabilities=wanted)
        self.address += f"/{told['sessionId']}"
        self.version = f"WebKitGTK {told['capabilities']['browserVersion']}"
        self.act = partial(self.ask, "/actions")
        self.ask("/timeouts", script=2000 * HANGS)
        self.ask("/window/rect", x=0, y=0, width=WIDTH, height=HEIGHT)

    def ask(self, what: str, **given: Any) -> Any:
        asked = Request(self.address + what, json.dumps(given).encode())
        with urlopen(asked, timeout=2 * HANGS) as answer:
            return json.load(answer)["value"]

    def open(self, address: str) -> None:
        self.ask("/url", url=address)

    def evaluate(self, text: str) -> str | None:
        finish = "(value) => done([value, null]), (error) => done([null, `${error}`])"
        script = f"const [done] = arguments; {text}.then({finish})"
        value, error = self.ask("/execute/async", script=script, args=[])
        assert error is None, error
        return value


@contextmanager
def running(
    command: list[str], out: int = subprocess.DEVNULL, **how: Any
) -> Iterator[subprocess.Popen[str]]:
    """A program, for as long as it is needed."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, text=True, stdout=out, stderr=quiet, **how) as program:
        try:
            yield program
        finally:
            program.terminate()


@contextmanager
def firefox(program: str) -> Iterator[Tab]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, "--headless", "--remote-debugging-port=0", "--profile", profile]
        with running(command) as process:
            at = Path(profile, "WebDriverBiDiServer.json")  # where it listens
            while not (at.is_file() and at.read_text()):
                assert process.poll() is None, "Firefox ended before it could be asked anything"
                time.sleep(0.1)
            told = json.loads(at.read_text())
            address = f"ws://{told['ws_host']}:{told['ws_port']}/session"
            with closing(
                create_connection(address, timeout=2 * HANGS, suppress_origin=True)
            ) as way:
                yield Spoken(way)


@contextmanager
def webkit(program: str) -> Iterator[Tab]:
    screen = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(screen, subprocess.PIPE) as hidden:
        assert hidden.stdout
        display = {"DISPLAY": f":{hidden.stdout.readline().strip()}"}
        with running(["WebKitWebDriver", f"--port={port}"], env=os.environ | display) as process:
            while True:
                assert process.poll() is None, "WebKitWebDriver ended before it could be asked"
                with (
                    suppress(ConnectionRefusedError),
                    socket.create_connection(("127.0.0.1", port)),
                ):
                    break
            tab = Driven(f"http://127.0.0.1:{port}", program)
            yield tab
            urlopen(Request(tab.address, method="DELETE"), timeout=HANGS).close()


def mini_browser() -> str | None:
    """WebKitGTK's own, where what drives it is there too."""
    found = [str(each) for each in Path("/usr").glob(MINI_BROWSER)]
    return found[0] if found and all(map(shutil.which, ("WebKitWebDriver", "Xvfb"))) else None


def stock_firefox() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


OTHERS: dict[
    str, tuple[Callable[[], str | None], Callable[[str], AbstractContextManager[Tab]], str]
]
OTHERS = {
    "Firefox": (stock_firefox, firefox, "firefox-esr"),
    "WebKit": (mini_browser, webkit, "webkit2gtk-driver xvfb"),
}
"""Beside Chromium: where the program is, if it is here; how it is started; Debian's name of it."""
ENGINES = ("Chromium", *OTHERS)


def started(name: str) -> AbstractContextManager[Tab] | str:
    """The engine, to be entered; or, where it is not here, a sentence that says so."""
    find, start, install = OTHERS[name]
    program = find()
    return (
        start(program) if program else f"{name} is not here, and not tried: apt install {install}"
    )
