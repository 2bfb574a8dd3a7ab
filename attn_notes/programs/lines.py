"""Which line of a model asks for an operation, on the way back through its gradient too."""

import sys
from bisect import bisect_left
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode

from attn_notes.training.plain import LOST, line_of

BACKWARD = ("torch.autograd", "torch.autograd.graph")
"""What calls autograd's engine, which then calls the gradients of operations."""


class _Asked(NamedTuple):
    """Autograd's number for an operation on its way forward, the operation, and its line."""

    number: int
    operation: Any
    line: str


class Lines(TorchDispatchMode):
    """Notes who asked for each operation that is traced: its `stack_trace` is a sentence.

    What is done backward has the line of the operation whose gradient it is: autograd numbers
    operations as they go forward, and knows the number again when it comes back.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # An error, the operation that raised it, and who asked for that.
        self.ended: tuple[Exception | None, Any, str] = (None, None, LOST)
        self._forward: list[_Asked] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        of, line = self._asked(func)
        number = torch._C._autograd._get_sequence_nr() - 1  # of what autograd has noted last
        if not self._forward or number > self._forward[-1].number:
            self._forward.append(_Asked(number, of, line))
        sentence = f"It was asked for in {line}"
        if of is not func:
            sentence = f"It is part of the gradient of {of}, which was asked for in {line}"
        fx.traceback.set_stack_trace([sentence])
        try:
            return func(*args, **(kwargs or {}))
        except Exception as error:
            self.ended = (error, func, sentence)
            raise

    def _asked(self, func: Any) -> tuple[Any, str]:
        """The operation itself, or the one whose gradient it is part of, and its line."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_globals.get("__name__") in BACKWARD:
                node = torch._C._current_autograd_node()
                number = sys.maxsize if node is None else node._sequence_nr()
                # Where one operation has several numbers, its last is noted.
                at = bisect_left(self._forward, number, key=lambda asked: asked.number)
                if at < len(self._forward):
                    return self._forward[at][1:]
            elif line := line_of(frame, frame.f_lineno):
                return func, line
            frame = frame.f_back
        return func, "a line that could not be found"
