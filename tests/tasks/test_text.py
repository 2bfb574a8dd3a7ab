import hashlib
import math
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pooch
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator

from attn_notes.tasks import text as module
from attn_notes.tasks.text import FALLBACK, FallbackWarning, Text, tiny_shakespeare

PLAY = b"What's in a name? That which we call a rose\n" * 3


def counted(text, order):
    """The same probabilities from dictionaries of strings, one character after another."""
    cut = len(text.content) * 9 // 10
    train, validation = text.content[:cut], text.content[cut:]
    followers = defaultdict(Counter)
    for k in range(1, order + 1):
        for i in range(len(train) - k + 1):
            followers[train[i : i + k - 1]][train[i + k - 1]] += 1

    def probability(character, history):
        shorter = probability(character, history[1:]) if history else 1 / len(text.characters)
        if not (seen := followers[history]):
            return shorter
        return (seen[character] + len(seen) * shorter) / (seen.total() + len(seen))

    return [
        -math.log(probability(validation[i], validation[max(0, i - order + 1) : i]))
        for i in range(1, len(validation))
    ]


@settings(deadline=None)
@given(st.text("abcé", min_size=23, max_size=89), st.integers(1, 5))
def test_count_losses_equal_counting_in_dictionaries(content, order):
    text = Text("ab" + content)
    assert text.count_losses(order).tolist() == pytest.approx(counted(text, order), rel=1e-7)


def test_pieces_are_pieces_of_the_training_part():
    text = Text("".join(map(chr, range(300, 300 + 97))))  # each character once: its own position
    pieces = text.sample(4000, 13, Generator().manual_seed(2))
    assert pieces.shape == (4000, 14) and (pieces.diff(dim=1) == 1).all()
    assert {*pieces[:, 0].tolist()} == {*range(87 - 13)}  # the first and the last among them
    assert torch.equal(pieces, text.sample(4000, 13, Generator().manual_seed(2)))


def test_held_out_pieces_predict_the_validation_part_once():
    text = Text("".join(map(chr, range(300, 300 + 230))))
    assert text.train.tolist() == list(range(207))
    pieces = text.held_out(5)
    assert pieces[:, 0].tolist() == [207, 212, 217, 222]
    assert pieces[:, 1:].flatten().tolist() == list(range(208, 228))
    assert text.held_out(22).shape == (1, 23)


def test_a_file_of_the_readers_own(tmp_path):
    path = tmp_path / "own.txt"
    path.write_bytes("\ufeffÜber\r\nallen Gipfeln\n".encode())
    assert Text.read(path).content == "Über\nallen Gipfeln\n"
    assert Text.read(str(path)).characters[-1] == "Ü"
    with pytest.raises(FileNotFoundError, match=r"none.txt"):
        Text.read(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "own.txt cannot be used: the text is empty"),
        (b"aaaa", "cannot be used: the text has no other character than 'a'"),
        ("Über allen Gipfeln".encode("latin-1"), "own.txt is not text in UTF-8: byte 1 of 18"),
        ("ist Ruh, in allen".encode("utf-16"), "is not text in UTF-8: byte 1 of 36"),
        ("ist Ruh, in allen".encode("utf-16-le"), "holds zero bytes, as UTF-16 does"),
        (bytes(range(256)), "is not text in UTF-8: byte 129 of 256"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path, content, message):
    path = tmp_path / "own.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Text.read(path)
    assert path.read_bytes() == content


def test_characters_and_numbers():
    text = Text("to be, or not")
    assert text.characters == " ,benort"
    assert text.decode(text.encode("not to be").tolist()) == "not to be"
    assert text.sample(3, 9, Generator()).shape == (3, 10)  # just long enough for a batch


def test_the_excerpt_is_large_enough_for_the_chapter():
    text = Text.read(FALLBACK)
    assert text.content.startswith("First Citizen:\nBefore we proceed any further")
    assert len(text.characters) > 60 and text.held_out(32).shape[0] > 500
    # What counting finds is found here too: English, not noise.
    losses = [text.count_losses(k).mean().item() for k in (1, 2, 3)]
    assert math.log(len(text.characters)) > losses[0] > losses[1] > losses[2]


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """A server of our own in place of the real one, and an empty cache."""
    answers, asked = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, body, length = answers[-1]
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("ATTN_NOTES_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "URL", f"http://127.0.0.1:{server.server_port}/input.txt")
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(PLAY).hexdigest())

    def answer(body, *, status=200, length=None):
        answers.append((status, body, len(body) if length is None else length))
        return asked

    yield answer
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=[None, PLAY[:50]], ids=["no cache", "corrupt cache"])
def before(request, tmp_path):
    if request.param is None:
        return {}
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tinyshakespeare.txt").write_bytes(request.param)
    return in_cache(tmp_path)


def test_a_download_is_kept(serve, before, tmp_path):
    asked = serve(PLAY)
    assert tiny_shakespeare().content == tiny_shakespeare().content == PLAY.decode()
    assert in_cache(tmp_path) == {"tinyshakespeare.txt": PLAY} and asked == ["/input.txt"]


def in_cache(tmp_path):
    return {p.name: p.read_bytes() for p in (tmp_path / "cache").iterdir()}


FAILURES = {
    "another file": (dict(body=b"<html>Please log in</html>"), "ValueError"),
    "missing": (dict(body=b"gone", status=404), "HTTPError"),
    "cut off": (dict(body=PLAY[:50], length=len(PLAY)), "ChunkedEncodingError"),
    "empty": (dict(body=b""), "ValueError"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_download_leaves_nothing_and_is_said(failure, serve, before, tmp_path):
    answer, reason = FAILURES[failure]
    serve(**answer)
    message = f"failed \\({reason}\\). Reading the first 199,994 characters instead"
    with pytest.warns(FallbackWarning, match=message) as warned:
        assert tiny_shakespeare().content == FALLBACK.read_text(encoding="utf-8")
    found = "has another checksum" if before else "there is no"
    cached = str(tmp_path / "cache" / "tinyshakespeare.txt")
    assert found in str(warned[0].message) and cached in str(warned[0].message)
    assert in_cache(tmp_path) == before


def test_offline_or_without_room_for_a_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "URL", "http://127.0.0.1:9/input.txt")  # where nobody listens
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("ATTN_NOTES_DATA", str(tmp_path / "cache"))
    with pytest.warns(FallbackWarning, match="ConnectionError"):
        assert len(tiny_shakespeare().content) == 199_994
    assert in_cache(tmp_path) == {}
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ATTN_NOTES_DATA", str(tmp_path / "file"))
    with pytest.warns(FallbackWarning, match="there is no"):
        tiny_shakespeare()
    assert (tmp_path / "file").read_text() == "in the way"


def test_without_the_variable_the_systems_cache_is_used(serve, monkeypatch, tmp_path):
    serve(PLAY)
    monkeypatch.setenv("ATTN_NOTES_DATA", "")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    tiny_shakespeare()
    assert [p.name for p in (tmp_path / "cache").rglob("*.txt")] == ["tinyshakespeare.txt"]
    assert (tmp_path / "cache" / "attn-notes" / "tinyshakespeare.txt").read_bytes() == PLAY
