"""Runs answers, each in a process of its own: `grading.py` starts this and nothing else does.

    python -I worker.py PACKAGE [own-mounts]

PACKAGE is the folder of a course's own copy of the package. The first line that is read has the
setups that answers need, as JSON. Then each line is an answer, and each that is written what came
of it. To begin anew for every answer, with torch loaded and the setup run, takes no time: a process
that has both is forked. In the fork nothing can be reached: no file but the libraries', no other
program, no network, only so much memory and time of the processor; and root has become somebody
who may do nothing to others. It says what it found through a pipe, and whether anything in the
modules is another than before.
"""

import contextlib
import ctypes
import functools
import importlib
import io
import itertools
import json
import math
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("attn_notes", "book")

MEMORY = 2 * 2**30
"""Bytes that an answer may ask for, besides what the setup took."""

LARGEST_FILE = 2**20
"""Bytes; the pipe is none."""

GRACE = 10.0
"""Seconds of the processor, besides what a check allows: then ends what heeds no stop."""

PATIENCE = 40
"""How many times as long as of the processor an answer may take by the clock on the wall."""

USERS = range(60_000, 65_000)
"""Whom root may become to run an answer: nobody, and for each answer another."""

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS = 8, 38
CAPS, CAP_DAC_READ_SEARCH = 0x20080522, 2
LANDLOCKED = 0x1FF3
"""Of what is done to files all but to read them: prctl(2), capabilities(7), landlock(7)."""

KINDS: dict[str, Any] = {
    "share": int | float, "message": str, "score": int | float | None, "lower": bool,
    "paid": str | None, "changed": list, "taken": str, "ended": str,
}  # fmt: skip
"""What is said of an answer."""

REFUSED = (
    "ctypes.", "os.chmod", "os.exec", "os.fork", "os.kill", "os.link", "os.listdir", "os.mkdir",
    "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.scandir", "os.spawn",
    "os.startfile", "os.symlink", "os.system", "os.truncate", "os.walk", "pty.", "shutil.",
    "socket.", "subprocess.", "sys.addaudithook", "tempfile.", "urllib.", "webbrowser.",
)  # fmt: skip
"""How the names of events begin that no answer may cause; Python tells of them before they happen,
to hooks that nothing removes."""


def main() -> None:
    """Serve until there is nothing more to read."""
    package, own_mounts = Path(sys.argv[1]).resolve(), sys.argv[2:]
    sys.path.insert(0, str(package))
    answers, replies = sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever prints, the replies stay replies
    scopes = all_ready(json.loads(answers.readline()))
    # What the answers of an exercise load first would be loaded by each.
    for name in ("einops", "scipy.stats", "torch._dynamo"):
        importlib.import_module(name)
    from book.kit import trying

    assert Path(trying.__file__).is_relative_to(package)
    trying.WAITS = PATIENCE  # a busy machine costs nobody a point
    if own_mounts:  # what is mounted here is mounted for nobody else: nothing can be written now
        subprocess.run(["mount", "-o", "remount,ro,bind", "/"], capture_output=True)
    before = standing()
    guard = Guard([package, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()])
    sys.addaudithook(guard)
    print("ready", file=replies, flush=True)
    for line in answers:
        asked = json.loads(line)
        run = functools.partial(tried, scopes[asked["setup"]], asked, before)
        print(json.dumps(outcome(run, asked, guard)), file=replies, flush=True)


def ready(source: str) -> dict[str, Any]:
    """The names that an answer finds after a setup."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    with quiet():
        exec(compile(source, "<setup>", "exec"), scope)
    return scope


def all_ready(sources: list[str]) -> list[dict[str, Any]]:
    """The same for each setup of a sheet: in a notebook there are the names of the others, too."""
    scopes = [ready(source) for source in sources]
    everything = {name: value for scope in scopes for name, value in scope.items()}
    return [{**everything, **scope} for scope in scopes]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Whatever is printed, nobody sees it."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


class Guard:
    """Refuses what no answer needs, once `armed`."""

    def __init__(self, libraries: list[Path]) -> None:
        self.libraries = tuple(f"{path}{os.sep}" for path in libraries)
        self.armed = False

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        # Modules of the libraries may be loaded late.
        if event in ("os.listdir", "os.scandir") and self.is_library(given[0]):
            return
        if event.startswith(REFUSED):
            raise PermissionError("no answer may do that: files, programs and the network are out")
        if event == "open":
            path, _, flags = given
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if writes or not self.is_library(path):
                raise PermissionError("no answer may open a file")

    def is_library(self, path: object) -> bool:
        """Whether a file or folder belongs to the libraries."""
        return f"{path}{os.sep}".startswith(self.libraries)


def outcome(
    run: Callable[[], dict[str, Any]], asked: dict[str, Any], guard: Guard
) -> dict[str, Any]:
    """What came of an answer, tried in a fork: `share` and `message`, or how it `ended` instead."""
    limit = seconds(asked)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for others in ((3, writing), (writing + 1, 4096)):  # what is asked and replied is not
                os.closerange(*others)  # for answers, which could speak there for the next
            confine(limit)
            give_up_rights(guard.libraries)
            guard.armed = True
            with quiet():
                found = run()
            os.write(writing, json.dumps(found).encode())
        except BaseException as error:
            # One of the answer's own may be called as it likes.
            own = type(error).__module__ == "__main__"
            name = "garbled" if own else type(error).__name__
            os.write(writing, json.dumps({"ended": name}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    said, until = b"", time.monotonic() + PATIENCE * limit + 60
    while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        said += part
        if len(said) > LARGEST_FILE:
            break
    os.close(reading)
    os.kill(child, signal.SIGKILL)  # it has ended, is too late, or has closed what it says it by
    _, status, used = os.wait4(child, 0)
    found = understood(said) if said else {"ended": ended(status)}
    return {**found, "seconds": round(used.ru_utime + used.ru_stime, 2)}


def understood(said: bytes) -> dict[str, Any]:
    """What a process said, if it is as `tried` says it: an answer may have written there, too."""
    with contextlib.suppress(ValueError, AttributeError, KeyError, RecursionError):
        found: dict[str, Any] = json.loads(said)
        right = all(isinstance(told, KINDS.get(name, ())) for name, told in found.items())
        if right and ("ended" in found or ("message" in found and 0 <= found["share"] <= 1)):
            return found
    return {"ended": "garbled"}


def ended(status: int) -> str:
    """Why a process that said nothing is gone."""
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
    return {"SIGXCPU": "endless", "SIGKILL": "waited"}.get(name, name or "quit")


def seconds(asked: dict[str, Any]) -> float:
    """How long of the processor an answer and all its tries may take at most."""
    from book.kit import exercises

    allowed: float = getattr(check_of(asked), "seconds", exercises.SECONDS)
    return (exercises.TRIES + 1) * allowed + GRACE


def check_of(asked: dict[str, Any]) -> Callable[..., Any]:
    """The check of an answer, from the package."""
    checks = importlib.import_module(f"book.lessons.{asked['chapter']}.checks")
    found: Callable[..., Any] = getattr(checks, asked["check"])
    return found


def confine(limit: float) -> None:
    """Limits of this process, which nothing that runs in it can raise."""
    whole = math.ceil(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = Path("/proc/self/statm")
    if size.exists():  # only Linux heeds it
        most = int(size.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def give_up_rights(libraries: tuple[str, ...]) -> None:
    """Make this process one that can do nothing to others, as far as the system has that.

    Root becomes a user that nobody else is. On Linux what is left of its rights goes, and none
    comes back; Landlock, in kernels that have it, lets no file be made, changed or removed, no
    program be begun, no other process be told to end.
    """
    keep = 0 if all(map(is_open, libraries)) else 1 << CAP_DAC_READ_SEARCH
    if os.geteuid() == 0:
        if keep and LIBC:
            LIBC.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        with contextlib.suppress(OSError):  # root of a namespace in which there is nobody else
            user = USERS[os.getpid() % len(USERS)]
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    if LIBC:
        LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        LIBC.capset(struct.pack("Ii", CAPS, 0), struct.pack("6I", keep, keep, 0, 0, 0, 0))
        known = landlock()
        asked = struct.pack("3Q", LANDLOCKED | (known > 2) << 14, 3, 3)  # files, network, processes
        size = 8 * (1 + (known > 3) + (known > 5))
        if known > 0:
            LIBC.syscall(446, LIBC.syscall(444, asked, size, 0), 0)


def is_open(library: str) -> bool:
    """Whether any user may read a folder; modules that are loaded late may lie in root's home."""
    return all(each.stat().st_mode & 5 == 5 for each in (Path(library), *Path(library).parents))


def landlock() -> int:
    """The version of Landlock that this system has; none is below 1."""
    return LIBC.syscall(444, None, 0, 1) if LIBC else 0


def tried(scope: dict[str, Any], asked: dict[str, Any], before: dict[str, int]) -> dict[str, Any]:
    """What the check says of an answer, and which names of the modules the answer has changed."""
    from book.kit import exercises, trying

    check = check_of(asked)
    try:
        with trying.at_most(exercises.SECONDS):
            for part in asked.get("above", ()):
                with contextlib.suppress(Exception):  # as a notebook goes on
                    exec(compile(part, "<above>", "exec"), scope)
            exec(compile(asked["source"], "<answer>", "exec"), scope)
    except trying.LateError as late:
        return {"share": 0.0, "message": str(late), "score": None, "changed": changed(before)}
    except Exception as error:
        said = f"your code stopped with {type(error).__name__}: {error}"
        return {"share": 0.0, "message": said, "score": None, "changed": changed(before)}
    if asked["case"]:
        scope["case"] = asked["case"]  # whatever the answer has made of it
    try:
        given = eval(asked["answer"], scope)
    except NameError:
        given = ...
    said_before = changed(before)
    if home(given).startswith(PACKAGES):
        return {"share": 0.0, "message": "", "score": None, "taken": home(given)}
    found = check(given, seed=asked["seed"])
    score = found.score if found.share else None
    return {
        "share": found.share * (score.paid if score else 1.0),
        "message": found.message,
        "score": score and float(score.value),
        "lower": bool(score and score.best < score.half),
        "paid": score and f"{score.half:g} earns half, {score.best:g} all",
        "changed": said_before or changed(before),
    }


def home(given: object) -> str:
    """Where what was given as an answer comes from, if it is somebody's function."""
    if not callable(given):
        return ""
    return f"{getattr(given, '__module__', '')}.{getattr(given, '__name__', '')}"


def standing() -> dict[str, int]:
    """What each name of the modules stands for that checks rely on."""
    found = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and watched(name):
            for each, value in list(vars(module).items()):
                if callable(value) or name.startswith(PACKAGES):
                    found[f"{name}.{each}"] = id(value)
    import torch

    for each, value in itertools.chain(vars(torch.Tensor).items(), vars(torch.nn.Module).items()):
        found[f"torch.{each}"] = id(value)
    return found


def watched(name: str) -> bool:
    """Whether a module is one that checks rely on."""
    root = name.partition(".")[0]
    known = {*PACKAGES, "builtins", "math", "numpy", "random", "signal", "threading", "time"}
    return root in known or name in ("torch", "torch.nn", "torch.nn.functional", "torch.linalg")


def changed(before: dict[str, int]) -> list[str]:
    """Names that stand for something else than they did."""
    now = standing()
    return sorted(name for name, value in before.items() if now.get(name, value) != value)[:5]


if __name__ == "__main__":
    main()
