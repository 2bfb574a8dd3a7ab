"""What a reader does with the pictures of the lesson, a line each; why stands above some lines."""

from functools import partial

from book.lessons.attention import evidence, figures, recipe
from book.lessons.attention.widget import SeenWhole
from tests.transcripts.played import on_site


def page(*pictures: str) -> list[SeenWhole]:
    """The lesson's models, and some of the pictures of them."""
    seen = SeenWhole()
    for mask, parameters in evidence.shown().items():
        seen.load(figures.NAMES[mask], parameters, mask=mask == "mask")
    seen.teach(recipe.loss, **recipe.TAUGHT, start=evidence.start())
    return [seen, *(seen.show(picture, picture) for picture in pictures)]


WORD = """
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=attention&word=bca&place=2
press Back to the page
press Show alone
go to ?show=attention
go to ?show=attention&word=abd&place=6
press Back to the page
# another word, and all that follows from it
type "bca" into your word
# what is no word says so, and leaves the pictures as they are
type "ab" into your word
type "abd" into your word
type "<b>" into your word
keys Tab
# every place may ask, by pointer and by keys
press place 1, b
keys ArrowRight
keys ArrowRight ArrowRight ArrowRight
# in a picture the arrow keys lead from number to number, and the same letter is ringed
focus .whole-hot.whole-on 1
keys ArrowRight ArrowDown
point at [data-picture=rows] [data-at="1,0"]
# a place is chosen in the picture as well
press [data-picture=rows] .whole-token 0
# a kernel has its say
js await models[0].set("word", "aab")
# as wide as a phone
point away
width 360
"""

SCORES = """
# a score is taken apart: by the pointer, by keys
point at [data-picture=scores] [data-at="4,1"]
# of another row only when it is pressed
point at [data-picture=scores] [data-at="3,2"]
press [data-picture=scores] [data-at="3,2"]
focus [data-picture=scores] .whole-on
keys ArrowLeft ArrowDown
# a number of the query is dragged, and what follows from it moves; by keys as well
drag number 3 of the query at place 5 by 88 0
keys ArrowDown ArrowDown
press undo
# far beyond the end it stays there
drag number 1 of the query at place 5 by 600 0
# another place forgets what was tried
press place 4, bar
# there an a is written even if nothing is read, and the picture says so
drag number 1 of the query at place 4 by 66 0
point away
focus number 3 of the query at place 4
keys ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown
point at [data-picture=query] [data-at="1,3"]
point at [data-picture=query] [data-at="4,0"]
point at [data-picture=shares] [data-at="1,0"]
point at [data-picture=shares] [data-at="0,6"]
press place 6, b
# what was dragged is undone by keys as well
focus .whole-drag
keys ArrowUp
focus .whole-undo
keys Space
# as wide as a phone
point away
width 360
"""

WRITING = """
# head 1 must read a letter, and the letter is written
press [data-picture=writing] [data-at="4,0"]
press [data-picture=writing] [data-at="4,2"]
keys Enter
# what a place may not read, and what was taken from whom
point at [data-picture=triangle] [data-at="2,3"]
point at [data-picture=triangle] [data-at="3,4"]
point at [data-picture=mixtures] [data-at="1,1"] .whole-token
point at [data-picture=mixtures] [data-at="2,3"]
point at [data-picture=stream] [data-at="2,4"]
point at [data-picture=stream] [data-at="4,0"]
point at [data-picture=stream] [data-at="3,6"]
point at [data-picture=chances] [data-at="2,0"]
point at [data-picture=price] [data-at="0,0"]
# of the other words one is chosen
press ccc becomes ccc.
# the map leads to a picture
press loss
# words open another word, where its second letter is written, and give back what was there
press [data-picture=mixtures] .whole-token 1
press aab
press aab
press acc
press acc
# as wide as a phone
point away
width 360
"""

TRAINING = """
# without the mask it falls through the floor
press Train one without a mask
# what was trained here is in all pictures, and can be put back
press without the mask
press back
press without the mask
point at [data-picture=unmasked] [data-at="2,9"]
point at [data-picture=unmasked] [data-at="8,26"]
# once more is another seed; what was dragged in the one before is not in it
drag number 1 of the query at place 5 by 66 0
press Train one without a mask
# with the mask it does not, from the same seed
press Train one with the mask
# as wide as a phone
point away
width 360
"""

SCRIPTS = {
    "word": (lambda: on_site(*page()) + page("rows")[1:], WORD),
    "scores": (partial(page, "query", "scores", "shares"), SCORES),
    "writing": (
        lambda: [
            '<p><a href="#open-aab">aab</a></p>',
            *page("triangle", "mixtures", "stream", "chances", "writing", "price"),
        ],
        WRITING,
    ),
    "training": (partial(page, "race", "unmasked", "scores"), TRAINING),
}
