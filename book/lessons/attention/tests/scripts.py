"""Pages with the pictures of the lesson; what a reader does there, their transcripts say."""

from functools import partial

from book.lessons.attention import evidence, figures, recipe
from book.lessons.attention.widget import SeenWhole
from tests.transcripts.played import on_site


def page(*pictures: str) -> list[SeenWhole]:
    seen = SeenWhole()
    for mask, parameters in evidence.shown().items():
        seen.load(figures.NAMES[mask], parameters, mask=mask == "mask")
    seen.teach(recipe.loss, **recipe.TAUGHT, start=evidence.start())
    return [seen, *(seen.show(picture, picture) for picture in pictures)]


PAGES = {
    "word": lambda: on_site(*page()) + page("rows")[1:],
    "scores": partial(page, "query", "scores", "shares"),
    "writing": lambda: [
        '<p><a href="#open-aab">aab</a></p>',
        *page("triangle", "mixtures", "stream", "chances", "writing", "price"),
    ],
    "training": partial(page, "race", "unmasked", "scores"),
}
