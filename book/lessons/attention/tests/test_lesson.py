"""The lesson is short."""

import re

from book.site.dependencies import lesson_page
from tests import exercises


def test_it_is_at_most_a_thousand_words_to_the_end_of_its_story() -> None:
    cells = exercises.cells(exercises.ROOT / lesson_page("attention"), prose=True)
    story = "\n".join([*cells.values()][: [*cells].index("retell") + 1])
    for hidden in (r":::\{.*?\n:::", r"\]\([^)]*\)", r"<[^>]*>"):
        story = re.sub(hidden, "", story, flags=re.S)
    assert 800 < len([word for word in story.split() if re.search(r"\w", word)]) <= 1000
