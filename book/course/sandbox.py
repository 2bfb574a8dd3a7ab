"""Where a notebook is run: in bubblewrap, here or in a container that has it; else nowhere.

Inside there are Python and its packages, the course's own copy of the package, and an empty home of
limited size, and nothing else: no network, no file of the teacher's, no other process, no rights.
Limits are on memory, files, processes and time, and what is left when the judge goes, goes.
"""

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from book.course.wire import Wire
from book.kit.trying import LateError, processor_clock
from book.site.dependencies import BookError

GB, MB = 2**30, 2**20
MEMORY = 3 * GB
"""Of all processes of a notebook together."""
LARGEST = 10 * GB
"""Of the addresses of each, which libraries take more of than they use."""
ROOM = 256 * MB
"""Of each folder in which a notebook may write."""
PROCESSES = 200
WHOLE = 1800
"""Seconds that a notebook may take, with all that is judged."""
GRACE = 5.0
"""Seconds in which whoever is told to stop has to."""
LOOK = 0.2
"""Seconds between two looks at a notebook's processes."""
NOBODY = range(60_000, 65_000)
"""Users that root lets notebooks be, each another: their processes are counted by user."""

INSIDE = "/course"
HERE = Path(__file__).parent
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
SETTINGS = {
    "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
    "HOME": "/home",
    "USER": "nobody",  # there is no list of users, and some libraries ask
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": INSIDE,
    "PYTHONDONTWRITEBYTECODE": "1",
}

WANTED = (
    "Notebooks are run in bubblewrap, which keeps them from all that is yours, or not at all, and "
    "here it cannot be had: {}. On Linux install the package bubblewrap (apt install bubblewrap, "
    "dnf install bubblewrap); where users may not use it, as on Ubuntu since 23.10, grade as root, "
    "or allow it there by an AppArmor profile. On Windows do so in WSL 2. On macOS install Docker "
    "or Podman and start it: this command then runs in its container."
)

ENGINES = ("docker", "podman")
IMAGE = "attention-notes-grading"


def needed() -> None:
    """Refuse where there is no sandbox, and say what to install.

    Raises:
        BookError: there is none.
    """
    if sys.platform != "linux" or not shutil.which("bwrap"):
        raise BookError(WANTED.format("there is no command `bwrap`"))
    done = subprocess.run([*walls(HERE), "true"], capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise BookError(WANTED.format(said[-1] if said else "it fails without a word"))


def elsewhere(root: Path, arguments: Sequence[str], given: Sequence[Path]) -> int | None:
    """Where bubblewrap cannot be had: the same command of `build.py`, in a container that has it.

    The container has no network, and of what is here the project, what is given to read, and the
    first of it, the course, to write. Notebooks are run in bubblewrap there as anywhere.

    Returns:
        The command's exit code; nothing where bubblewrap is here, or no container can be.

    Raises:
        BookError: there is an engine for containers, and it makes none.
    """
    engine = next((name for name in ENGINES if shutil.which(name)), "")
    with contextlib.suppress(BookError):
        needed()
        engine = ""
    if not engine:
        return None
    print(f"No bubblewrap here: this runs in a container of {engine}, made once.", flush=True)
    made = subprocess.run(
        [engine, "build", "--quiet", "--tag", IMAGE, "--file", HERE / "Dockerfile", root]
    )
    if made.returncode:
        raise BookError(WANTED.format(f"{engine} makes no container, for what it says above"))
    command = [engine, "run", "--rm", "--privileged", "--network=none", f"--workdir={root}"]
    for path in (root, *given):
        if path.exists():
            read = "" if path == given[0] else ",readonly"
            command.append(f"--mount=type=bind,source={path},target={path}{read}")
    return subprocess.run([*command, IMAGE, "-m", "book.build", *arguments]).returncode


def walls(package: Path) -> list[str]:
    """The beginning of a command that runs the rest in a sandbox, in which the package is."""
    command = ["bwrap", "--die-with-parent", "--new-session", "--clearenv", "--unshare-pid"]
    command += ["--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    for path in SYSTEM:
        if Path(path).is_symlink():
            command += ["--symlink", str(Path(path).readlink()), path]
        else:
            command += ["--ro-bind-try", path, path]
    command += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    for path in ("/tmp", "/dev/shm", "/home"):
        command += ["--perms", "1777", "--size", str(ROOM), "--tmpfs", path]
    for path, there in shown(package).items():
        for parent in [*Path(there).parents][-2::-1]:  # else they are of bwrap's own user alone
            command += ["--dir", str(parent)]
        command += ["--ro-bind", path, there]
    for name, value in SETTINGS.items():
        command += ["--setenv", name, value]
    command += ["--remount-ro", "/dev", "--remount-ro", "/"]  # which are its own, of no size
    return [*command, "--chdir", "/home", *rights()]


def shown(package: Path) -> dict[str, str]:
    """What can be read inside, by its path here: Python, the package, and who runs the cells."""
    parts = [path for path in package.iterdir() if path.name != "book"]
    parts += package.glob("book/*")
    there = {str(path): f"{INSIDE}/{path.relative_to(package)}" for path in parts}
    for name in ("__init__", "cage", "wire"):
        there[str(HERE / f"{name}.py")] = f"{INSIDE}/book/course/{name}.py"
    for each in (sys.prefix, sys.base_prefix):
        there[each] = each
        there[str(Path(each).resolve())] = str(Path(each).resolve())
    return there


def rights() -> list[str]:
    """The end of that command: nobody, with no rights, within limits."""
    user, counted = os.getuid(), 0
    if user:
        known = subprocess.run(["bwrap", "--help"], capture_output=True, text=True).stdout
        inner = ["--disable-userns"] * ("--disable-userns" in known)  # which young ones have
        command = ["--unshare-user", *inner]
        for each in psutil.process_iter(["uids", "num_threads"]):  # old systems count these, too
            if each.info["uids"] and each.info["uids"].real == user:
                counted += each.info["num_threads"] or 0
    else:  # root may write /proc/sys even without capabilities: it is somebody else from here on
        nobody = NOBODY[os.getpid() % len(NOBODY)]
        command = ["--cap-drop", "ALL"]
        for name in ("SETUID", "SETGID", "SETPCAP"):
            command += ["--cap-add", f"CAP_{name}"]
        command += ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
        command += ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    limits = {"as": LARGEST, "nproc": counted + PROCESSES, "core": 0, "fsize": ROOM, "cpu": WHOLE}
    return [*command, "prlimit", *(f"--{name}={value}" for name, value in limits.items())]


class Sandbox:
    """A notebook's shell, from outside."""

    def __init__(self, package: Path, lesson: str) -> None:
        command = [*walls(package), sys.executable, "-s", "-m", "book.course.cage", lesson, INSIDE]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, stderr=subprocess.DEVNULL)
        assert self.process.stdin and self.process.stdout
        self.wire = Wire(os.dup(self.process.stdout.fileno()), os.dup(self.process.stdin.fileno()))
        self.outer, self.shell = psutil.Process(self.process.pid), 0
        self.used, self.idle, self.known = 0.0, 0.0, 0.0
        self.here = processor_clock()
        self.until, self.late, self.why = math.inf, False, ""
        self.open = True
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        with self.at_most(120.0):
            self.wire.ask("take", "0")
        self.shell = self.outer.children(recursive=True)[-1].pid

    def watch(self) -> None:
        """Look at the processes again and again: what they take, and whether it is too much."""
        before = time.monotonic()
        while self.open:
            time.sleep(LOOK)
            now = time.monotonic()
            with contextlib.suppress(psutil.Error, OSError):
                self.look(now - before)
            before = now

    def look(self, passed: float) -> None:
        """Count the seconds that the notebook took of these, and end what is too much."""
        memory, cpu, asleep = 0, 0.0, True
        for each in self.outer.children(recursive=True):
            with contextlib.suppress(psutil.Error), each.oneshot():
                memory += each.memory_info().rss
                cpu += sum(each.cpu_times()[:4])
                asleep &= each.status() != psutil.STATUS_RUNNING
        if self.wire.waits and asleep and cpu - self.known < passed / 10:
            self.idle += passed
        self.known = cpu
        self.used = max(self.used, cpu)
        if memory > MEMORY:
            self.end("it wanted more memory than there is: three gigabytes")
        elif self.spent() > self.until + GRACE and self.late:
            self.end("it does not end, and does not stop when it is told to")
        elif self.spent() > self.until:
            self.late = True
            if self.shell and self.wire.waits:
                os.kill(self.shell, signal.SIGINT)

    def spent(self) -> float:
        """Seconds of the processor, taken here and there, and those slept through there."""
        return self.used + self.idle + self.here()

    @contextlib.contextmanager
    def at_most(self, seconds: float, *_: Any) -> Iterator[None]:
        """Stop what is asked for here after so many seconds; as `trying.at_most`.

        Raises:
            LateError: they were over.
        """
        outer, self.late = self.until, False
        self.until = min(outer, self.spent() + seconds)
        try:
            yield
        except KeyboardInterrupt as error:
            raise LateError(LATE.format(seconds)) from error
        except Exception as error:
            if self.late:
                raise LateError(LATE.format(seconds)) from error
            raise
        finally:
            self.until, self.late = outer, False

    def end(self, why: str) -> None:
        """End all processes of the notebook."""
        self.why = self.why or why
        with contextlib.suppress(OSError):
            self.process.kill()

    def close(self) -> None:
        """End it, and wait until nothing is left."""
        self.open = False
        self.end("it was closed")
        self.process.wait()
        self.watcher.join()


LATE = "your code used {:g} seconds of the processor. Does it ever end?"
