"""Whatever figure a chapter's tests make of made-up results: all its words can be read."""

from collections.abc import Iterator

import pytest

from attn_notes.figures import Picture

from ..drawn import crowded


@pytest.fixture(autouse=True)
def no_words_lie_on_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pictures: list[Picture] = []
    made = Picture.__post_init__

    def noted(picture: Picture) -> None:
        made(picture)
        pictures.append(picture)

    monkeypatch.setattr(Picture, "__post_init__", noted)
    yield
    found = {picture.title: crowded(picture.fig) for picture in pictures}
    assert not any(found.values()), {title: said for title, said in found.items() if said}
