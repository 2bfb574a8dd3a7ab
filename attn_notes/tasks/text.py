"""The next character of a text: the task of equilibrium propagation.

The text is Tiny Shakespeare, 1,115,394 characters of plays, or any file of the reader's own. Its
first nine tenths are trained on, the rest says how well it went.

The yardstick. What is the best possible loss on Shakespeare nobody knows, so there is no floor.
Instead there are counts: how often each character follows the k − 1 characters before it in the
training part, smoothed by what one character less says (Witten and Bell, 1991, method C):

    P_k(c | h) = ( n(h c) + t(h) P_{k−1}(c | h') ) / ( n(h) + t(h) ),        P_0 = 1 / V

where n counts, t(h) is how many different characters followed h, and h' is h without its first
character. No number has to be chosen. k = 1 is the loss of knowing how frequent each character is,
k = 2 that of knowing the last character as well, and so on.
"""

import os
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes import allowed

NAME = "tinyshakespeare.txt"
URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
CACHE = "ATTN_NOTES_DATA"
"""The environment variable that names the folder where downloads are kept."""

FALLBACK = Path(__file__).with_name("text.excerpt.txt")
"""The beginning of Tiny Shakespeare, which comes with the package."""


class FallbackWarning(UserWarning):
    """The whole text could not be had; what was read is its beginning only."""


@dataclass(frozen=True)
class Text:
    """A text as numbers, and how to draw from it.

    >>> text = Text("abracadabra" * 10)
    >>> text.characters, len(text.train), len(text.validation)
    ('abcdr', 99, 11)
    >>> text.decode(text.encode("cab").tolist())
    'cab'

    Raises:
        ValueError: the text has fewer than two different characters, so nothing can be learned.
    """

    content: str

    def __post_init__(self) -> None:
        if not self.content:
            raise ValueError("the text is empty")
        if len(set(self.content)) < 2:
            raise ValueError(
                f"the text has no other character than {self.content[0]!r}: nothing can be learned"
            )

    @classmethod
    def read(cls, path: Path | str) -> "Text":
        """A file of the reader's own, in UTF-8.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not UTF-8, or is no text to learn from.
        """
        raw = Path(path).read_bytes()
        try:
            content = raw.decode("utf-8-sig")  # a byte order mark is no character
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not text in UTF-8: byte {error.start + 1} of {len(raw)} cannot be "
                "read. Save it as UTF-8, which most editors offer"
            ) from None
        if "\0" in content:
            raise ValueError(
                f"{path} is not text in UTF-8: it holds zero bytes, as UTF-16 does. Save it as "
                "UTF-8, which most editors offer"
            )
        try:
            return cls(content.replace("\r\n", "\n"))
        except ValueError as error:
            raise ValueError(f"{path} cannot be used: {error}") from None

    @cached_property
    def characters(self) -> str:
        """The vocabulary in order: number i stands for the i-th of them."""
        return "".join(sorted(set(self.content)))

    @property
    def train(self) -> Int[Tensor, " n"]:
        """The first nine tenths, as numbers."""
        return self._numbers[: self._cut]

    @property
    def validation(self) -> Int[Tensor, " n"]:
        """The last tenth, as numbers."""
        return self._numbers[self._cut :]

    def encode(self, text: str) -> Int[Tensor, " t"]:
        """Characters to numbers.

        Raises:
            ValueError: a character that this text does not have.
        """
        number = {c: i for i, c in enumerate(self.characters)}
        unknown = sorted(set(text) - number.keys())
        if unknown:
            raise ValueError(f"the text has no {', '.join(map(repr, unknown))}")
        return torch.tensor([number[c] for c in text], dtype=torch.long)

    def decode(self, numbers: list[int]) -> str:
        """Numbers to characters.

        Raises:
            ValueError: a number that stands for no character.
        """
        allowed.tokens(len(self.characters), numbers=torch.tensor(numbers))
        return "".join(self.characters[i] for i in numbers)

    def sample(self, n: int, length: int, generator: Generator) -> Int[Tensor, "{n} {length}+1"]:
        """Draw `n` pieces of the training part: `length` predictions each, and so one more.

        Raises:
            ValueError: the training part is shorter than that; fewer than no pieces, or pieces of
                no length.
        """
        allowed.whole(0, n=n)
        train = self._long_enough("training", self.train, length)
        device = generator.device
        starts = torch.randint(len(train) - length, (n, 1), generator=generator, device=device)
        return train.to(device)[starts + torch.arange(length + 1, device=device)]

    def held_out(self, length: int) -> Int[Tensor, "n {length}+1"]:
        """All of the validation part in pieces, of which each begins with the last one's end.

        So all its characters are predicted once, but the first, and up to `length` − 1 at its end.

        Raises:
            ValueError: the validation part is shorter than one piece, or a piece has no length.
        """
        return self._long_enough("validation", self.validation, length).unfold(
            0, length + 1, length
        )

    def count_losses(self, order: int) -> Float[Tensor, " n"]:
        """Nats for each character of the validation part but its first: see `count_losses`.

        Raises:
            ValueError: an order below 1, or one whose groups of characters 64 bits cannot number.
        """
        return count_losses(self.train, self.validation, len(self.characters), order)

    @cached_property
    def _numbers(self) -> Int[Tensor, " n"]:
        return self.encode(self.content)

    @property
    def _cut(self) -> int:
        return len(self.content) * 9 // 10

    def _long_enough(self, name: str, part: Int[Tensor, " n"], length: int) -> Int[Tensor, " n"]:
        allowed.whole(length=length)
        if len(part) <= length:
            raise ValueError(
                f"the {name} part has {len(part)} characters, too few: {length} predictions need "
                f"{length + 1}. Take a longer text or a shorter length"
            )
        return part


def count_losses(
    train: Int[Tensor, " m"], validation: Int[Tensor, " n"], v: int, order: int
) -> Float[Tensor, " k"]:
    """Nats for each number of a validation part but its first, by counting in a training part.

    `order` is k: the number itself and up to k − 1 before it, as many as there are. What was seen
    is smoothed towards what one number less would have said (Witten and Bell, 1991).

    Args:
        train: numbers below v, in which is counted.
        validation: those that are predicted.
        v: how many different ones there are.
        order: k.

    Raises:
        ValueError: an order below 1, or one whose groups of numbers 64 bits cannot number; numbers
            that are not below v, or a v below 1.
    """
    allowed.whole(1, 2**31, v=v)
    allowed.tokens(v, train=train, validation=validation)
    if not 1 <= order <= 63 or v**order > 2**63:
        raise ValueError(f"with {v} characters an order of {order} cannot be counted")
    p = torch.full((len(validation),), 1 / v, dtype=torch.float64)
    for k in range(1, min(order, len(train), len(validation)) + 1):
        groups, n = groups_of(train, k, v).unique(return_counts=True)
        contexts, which = torch.div(groups, v, rounding_mode="floor").unique(return_inverse=True)
        followed = torch.zeros(len(contexts), dtype=torch.long).index_add(0, which, n)
        kinds = which.bincount()
        seen = groups_of(validation, k, v)
        context = torch.div(seen, v, rounding_mode="floor")
        total, different = look_up(contexts, followed, context), look_up(contexts, kinds, context)
        smoothed = look_up(groups, n, seen) + different * p[k - 1 :]
        p[k - 1 :] = torch.where(total > 0, smoothed / (total + different).clamp(min=1), p[k - 1 :])
    return -p[1:].log()


def groups_of(numbers: Int[Tensor, " n"], k: int, v: int) -> Int[Tensor, " m"]:
    """The k numbers that end at each place, written as one to the base v.

    Raises:
        ValueError: k is below 1 or above how many numbers there are.
    """
    allowed.whole(1, len(numbers), k=k)
    code = torch.zeros(len(numbers) - k + 1, dtype=torch.long)
    for i in range(k):
        code = code * v + numbers[i : len(numbers) - k + 1 + i]
    return code


def look_up(
    keys: Int[Tensor, " m"], values: Int[Tensor, " m"], wanted: Int[Tensor, " n"]
) -> Int[Tensor, " n"]:
    """The value of each wanted key, 0 where it is not among the keys, which are sorted."""
    if not len(keys):
        return torch.zeros_like(wanted)
    at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where(keys[at] == wanted, values[at], 0)


def tiny_shakespeare() -> Text:
    """Tiny Shakespeare, downloaded once, its checksum tested each time.

    It is kept in the folder that the environment variable `ATTN_NOTES_DATA` names, or else where
    the system keeps such things. A file already there under the name `tinyshakespeare.txt` is read
    with no network. Where it cannot be had, its beginning is returned, which comes with this
    package, and `FallbackWarning` says why.
    """
    pooch = allowed.needed("pooch", "text")  # so that the tasks can be imported without it

    folder = Path(os.environ.get(CACHE) or pooch.os_cache("attn-notes"))
    there = folder / NAME
    pooch.get_logger().setLevel("WARNING")  # that it downloads need not stand on a page
    try:
        # It downloads under another name, tests the checksum, and only then renames.
        return Text.read(pooch.retrieve(URL, f"sha256:{SHA256}", fname=NAME, path=folder))
    except (OSError, ValueError) as error:
        excerpt = Text.read(FALLBACK)
        is_there = os.access(there, os.F_OK)  # False also in a folder that cannot be looked into
        found = f"{there} has another checksum" if is_there else f"there is no {there}"
        warnings.warn(
            f"{found}, and downloading {URL} failed ({type(error).__name__}). Reading the first "
            f"{len(excerpt.content):,} characters instead, which come with the package; losses "
            "will differ from the book's. For the whole text connect to the network, or name the "
            f"folder that has it in {CACHE}",
            FallbackWarning,
            stacklevel=2,
        )
        return excerpt
