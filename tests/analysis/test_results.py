import json
import math
from pathlib import Path

import pytest
import torch

from book.kit import results


def test_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path / "new"))
    path = results.save("toy", {"steps": 3}, {"a": {"solved": [[1, 2]]}})
    assert path == tmp_path / "new" / "toy.json"
    record = results.load("toy")
    assert record["settings"] == {"steps": 3}
    assert record["runs"] == {"a": {"solved": [[1, 2]]}}
    assert set(record["versions"]) == {"python", "torch"}
    json.loads(path.read_text())


def test_missing_record_says_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTN_NOTES_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there are: none"):
        results.load("toy")
    results.save("other", {}, {})
    with pytest.raises(FileNotFoundError, match=r"no recorded run 'toy' .* there are: other"):
        results.load("toy")


def test_what_could_not_be_written_is_read_as_nan() -> None:
    values = [[0.5, math.nan], [math.inf, 1 / 3]]
    written = json.dumps([[results.rounded(value) for value in row] for row in values])
    read = results.numbers(json.loads(written))
    wanted = torch.tensor([[0.5, math.nan], [math.nan, 0.3333]], dtype=torch.float64)
    torch.testing.assert_close(read, wanted, rtol=0, atol=0, equal_nan=True)
    assert results.numbers([]).shape == (0,)
