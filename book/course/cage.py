"""Runs a notebook's cells, in a sandbox, as a judge outside asks for it: `sandbox.py` starts this.

    python -m book.course.cage LESSON PACKAGE

It is an IPython shell without a kernel, so that there are no sockets. What a cell prints goes
nowhere. The checks of the lesson are replaced by what keeps their answers for the judge: the real
ones run outside, where a notebook changes nothing. Whatever is done here, it can only be wrong.
"""

import importlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from book.course.wire import DeadError, Wire

KEPT = 4
"""Answers that a cell gives to one check, from the last."""
GIVEN_UP = 5
"""Packages that are not installed, which one cell may want."""


class Caught:
    """Stands in the place of a check, and keeps what it is given."""

    def __init__(self, name: str, check: Any, shell: "Shell") -> None:
        self._name, self._check, self._shell = name, check, shell

    def __call__(self, answer: Any = ..., **more: Any) -> Any:
        from book.kit.exercises import Outcome

        self._shell.answers.append((self._name, answer))
        return Outcome(1.0, "it is tried when it is graded.")

    def __getattr__(self, name: str) -> Any:
        if name not in ("seen", "show", "seconds"):
            self._shell.touched.append(f"checks.{self._name}.{name}")
        return getattr(self._check, name)


class Absent(types.ModuleType):
    """A package that is not installed, and all that is in it: importing it stops nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **named: Any) -> Any:
        return Absent(f"{self.__name__}()")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what is absent, once a cell could not do without it."""

    def __init__(self) -> None:
        self.absent: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self.absent:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None: ...


class Entered:
    """Notes which functions of the package are called from outside of it."""

    def __init__(self, package: Path) -> None:
        self.within = tuple(str(package / part) for part in ("attn_notes", "book"))
        self.found: dict[str, None] = {}

    def __call__(self, frame: types.FrameType, event: str, arg: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.within):
            return
        outer = frame.f_back
        while outer and outer.f_code.co_name == "decorate_context":  # torch.no_grad is around it
            outer = outer.f_back
        if outer and outer.f_globals.get("__name__") == "__main__":
            name = frame.f_code.co_qualname
            if not name.startswith("<"):
                self.found[f"{frame.f_globals.get('__name__')}.{name}"] = None


class Shell:
    """What the judge may ask for: `run`, `take` and `call`; `write` and `load` before."""

    def __init__(self, wire: Wire, lesson: str, package: Path) -> None:
        self.wire, self.package = wire, package
        self.answers: list[tuple[str, Any]] = []
        self.touched: list[str] = []
        """Parts of the checks that no answer needs."""
        self.finder = Finder()
        sys.meta_path.append(self.finder)
        settings = Config()
        settings.HistoryManager.enabled = False
        settings.InteractiveShell.cache_size = 0  # else it keeps whatever is shown
        self.ipython = InteractiveShell.instance(config=settings)
        self.catch(importlib.import_module(f"book.lessons.{lesson}.checks"))

    def catch(self, checks: types.ModuleType) -> None:
        """Replace the checks of a module."""
        for name, check in [*vars(checks).items()]:
            if hasattr(check, "seconds") or hasattr(check, "seen"):
                setattr(checks, name, Caught(name, check, self))

    def load(self, name: str, source: str) -> None:
        """Let a notebook import a teacher's own checks, whatever lies beside it by that name."""
        checks = sys.modules[name] = types.ModuleType(name)
        exec(source, vars(checks))
        self.catch(checks)

    def run(self, source: str) -> dict[str, Any]:
        """Run a cell; says how it failed, and which answers it gave to checks."""
        self.answers.clear()
        self.touched.clear()
        for _ in range(GIVEN_UP):
            result = self.ipython.run_cell(source)
            error = result.error_before_exec or result.error_in_exec
            if not isinstance(error, ModuleNotFoundError) or not error.name:
                break
            self.finder.absent.add(error.name.partition(".")[0])
        counts: dict[str, int] = {}
        last: list[tuple[str, Any]] = []
        for name, answer in reversed(self.answers):
            counts[name] = counts.get(name, 0) + 1
            if counts[name] <= KEPT:
                last.insert(0, (name, answer))
        return {
            "error": f"{type(error).__name__}: {words(error)[:500]}" if error else "",
            "answers": last,
            "touched": self.touched,
            "absent": sorted(self.finder.absent),
        }

    def take(self, expression: str) -> Any:
        """What an expression stands for now."""
        return eval(expression, self.ipython.user_ns)

    def write(self, name: str, content: str) -> None:
        """Put a file beside the notebook."""
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(content))

    def reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked."""
        args = [self.wire.unpack(each) for each in asked["args"]]
        if asked["do"] != "call":
            return {"value": self.wire.pack(getattr(self, asked["do"])(*args))}
        from book.kit import trying

        named = {name: self.wire.unpack(each) for name, each in asked["named"].items()}
        trying.start(asked["seed"])
        untouched = trying.following()
        trying.start(asked["seed"])
        entered = Entered(self.package)
        sys.setprofile(entered if asked["watched"] else None)
        try:
            found = self.wire.given[asked["number"]](*args, **named)
        finally:
            sys.setprofile(None)
        drew = trying.following() != untouched
        after = [self.wire.pack(each) for each in args]
        changed = [(i, new) for i, new in enumerate(after) if new != asked["args"][i]]
        value = self.wire.pack(found)
        return {"value": value, "drew": drew, "changed": changed, "entered": [*entered.found]}


def words(error: BaseException) -> str:
    """What an error says, whatever its class has made of that."""
    try:
        return str(error.args[0]) if len(error.args) == 1 else str(error)
    except BaseException:
        return "(it cannot be read)"


def main() -> None:
    """Serve until the pipe closes."""
    wire, busy = Wire(os.dup(0), os.dup(1)), False
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, flags), number)

    def interrupted(*_: object) -> None:
        if busy:
            raise KeyboardInterrupt

    shell = Shell(wire, sys.argv[1], Path(sys.argv[2]))
    sys.path.insert(0, "")  # as where notebooks are run, for what lies beside them
    while True:
        asked = wire.receive()
        if "do" not in asked:  # what was called for by a cell that is stopped by now
            continue
        signal.signal(signal.SIGINT, interrupted)
        try:
            busy = True
            reply = shell.reply(asked)
            busy = False
        except DeadError:
            return
        except BaseException as error:
            busy = False
            reply = {"error": [type(error).__name__, words(error), getattr(error, "number", None)]}
        wire.send(reply)


if __name__ == "__main__":
    main()
