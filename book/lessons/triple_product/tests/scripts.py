"""What a reader does with the explorer, a line each; why stands above some lines."""

import os
from functools import partial
from typing import Any
from unittest.mock import patch

from book.lessons.triple_product import evidence, explorer, figures
from tests.transcripts.played import on_site

WHOLE = ("g.tp-space", "g.tp-names", "g.tp-handle", "td", "span.tp-token", "select")


@patch.dict(os.environ, FAST="1")
def page(mode: str = "head", steps: int = 0, figure: bool = False) -> list[Any]:
    """The lesson's explorer, taught for other steps than its own, and the figure that listens."""
    widget, moved = explorer.explorer(), evidence.recorded().moved
    widget.mode = mode
    if steps:
        widget.lessons = {name: each | {"steps": steps} for name, each in widget.lessons.items()}
    return [widget, *[figures.transfer(moved["one layer"])] * figure]


@patch.dict(os.environ, FAST="1")
def lesson() -> list[Any]:
    """The lesson's own, with what listens to it."""
    recorded = evidence.recorded()
    widget = explorer.copier()
    widget.lessons = {name: each | {"steps": 40} for name, each in widget.lessons.items()}
    return [widget, figures.transfer(recorded.moved["one layer"]), figures.cure(recorded)]


MOVED = """
# a tip stays under the pointer: its numbers follow, and the note goes with the scene
drag [data-id="q"] by -30 20
# and by keys, in steps that Shift makes larger; far away it stays within its limits
focus By hand
keys Tab Tab Tab Tab Tab Tab Tab Tab
keys Enter ArrowRight ArrowUp ArrowUp PageUp
keys Shift+PageDown Shift+ArrowLeft
drag [data-id="q"] by -3000 -3000
# the background turns the space, and no number changes; so do the arrow keys
drag .tp-scene by 90 20
drag .tp-scene by 0 300
keys ArrowLeft ArrowDown PageUp
press start again
"""

NUMBERS = """
# the scenes, each with what there is to say of it; a short key is moved as well
press a loud stranger
press a loud friend
press a whisper
drag [data-id="1"] by 12 -9
press −q
# the length of a key, over powers of ten; each key has its own
focus Length of k₂
keys End
press k₁
# a coordinate as one types it; what is none says so, and changes nothing else
type " −25e-2 " into k₁, y
type "abc" into r, y
type " " into r, y
type "1e999" into r, y
type "5.01" into r, y
type "-6" into r, y
type "NaN" into r, y
type "Infinity" into r, y
type "1 2" into r, y
type "0x1" into r, y
type "<img src=x onerror="alert(1)">" into r, y
keys Tab
# without a plane the angle is that to what is left
js models[0].set("vectors", { ...models[0].get("vectors"), q: [0, 0, 0] })
js models[0].set("vectors", { ...models[0].get("vectors"), r: [0, 0, 0] })
type "2" into q, x
"""

HEAD = """
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=arrows&mode=hand&selected=3
press Back to the page
press Show alone
go to ?show=arrows&mode=head&run=volume,%20two%20layers&seed=0&layer=1&head=1&text=abcabcab\
&position=5&key=2&loudness=4
press Back to the page
press Show alone
go to ?show=arrows
go to ?show=arrows&mode=x&selected=5&run=x&seed=9&layer=9&head=9&text=abz&position=99&key=99\
&loudness=101
press Back to the page
# it opens on the bars alone; the vectors behind them are folded
press .tp-vectors summary
# to ask from another letter, by keys and by the pointer
focus .tp-token 17
keys Home ArrowLeft
keys End
# a key is taken by its bar, by its vector, from the menu, and not if it is still to come
press .tp-bar 2
press .tp-mode:not([hidden]) [data-id="5"]
choose "14" of Key
press .tp-letter 12
press .tp-bar 15
keys End
# one token louder, and the network runs again; another token is not
press .tp-bar 5
focus Loudness of n6
keys End
press .tp-bar 6
# the space turns, and not below the plane; by hand it waits as it was
focus .tp-mode:not([hidden]) .tp-scene
keys ArrowLeft ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown
press By hand
# words open models and their texts, and the other view
press twelve
press eleven
press two-layers
press space
press space
"""

TEXTS = """
# a text of its period, one that repeats at once, and one that does not; no key is chosen then
press .tp-bar 2
type "abcdefghijklabcdef" into Text
type "ABCabca" into Text
type "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb" into Text
# what cannot be read says so, and leaves what is shown
type "" into Text
type "abz" into Text
type "a b" into Text
type "abc1" into Text
type "é" into Text
type "🙂" into Text
type "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" into Text
type "<img src=x onerror="alert(1)">" into Text
# one of the page's choice takes its place; other models open on the head that copies it
press another sequence
press .tp-vectors summary
choose "2" of Head
choose "angle, two layers" of Model
choose "1" of Layer
choose "volume, one layer" of Model
# all runs go; some come of another kind, which does not know these letters
js window.all = models[0].get("runs"); models[0].set("runs", {})
js window.few = { ...all["dot, two layers"] }; few.config = { ...few.config, vocabulary: 5 }
js models[0].set("runs", { few }); models[0].set("run", "few")
# whichever of two a message names first; a name is a text
js const m = models[0]; m.set("runs", {}); m.set("run", "<b>"); m.set("runs", { "<b>": few })
"""

TRAINING = """
# each kind is taught at the rate and for the steps that suit it
press .attn-settings summary
press volume
press 2
press dot product
press angle
press 1
# a guess and one step: what is shown is the model in training, and at the end it copies
choose "100" of Steps
press in the second
press Train
# kept, and taken back where another was begun; a head that one has chosen stays
choose "1" of Head
press Keep
press Another seed
press One step
press Take back
# a loaded model takes the place of the one in training; another choice starts anew
choose "dot, two layers" of Model
press 6 to 12
press One step
"""

OWN = """
# the browser keeps nothing, and says so; what was trained stays as long as the page
js Object.defineProperty(window, "localStorage", { get() { throw Error("barred"); } })
# a text of the reader's own stays while a model trains; of too few steps it says what came out
type "abcdeabcdeabcde" into Text
press .attn-settings summary
choose "10" of Steps
press Train
press Keep
# the challenge is for one layer and one period; a kernel may teach other kinds, and other periods
press 6 to 12
press Train
press 2
choose "10" of Steps
press Train
js const { "angle 1": one } = models[0].get("lessons"), [task] = one.tasks; \
  models[0].set("lessons", { one: { ...one, tasks: [{ ...task, periods: [6, 7] }] } })
"""

COPIER = """
# one head and one button; words in the text open another text, and two layers
press twelve
press two-layers
press two-layers
type "beadbea" into Text
# trained, one has more to press; what it copies is drawn into two figures
press Train
press .attn-settings summary
press 2
press 6 to 12
press Train
"""

SCRIPTS = {
    "copier": (lambda: on_site(*lesson(), "twelve", "two-layers"), COPIER, WHOLE),
    "drawn": (partial(page, "hand"), "press q along r"),
    "moved": (partial(page, "hand"), MOVED, WHOLE),
    "numbers": (partial(page, "hand"), NUMBERS, WHOLE),
    "head": (lambda: on_site(*page(), "twelve", "eleven", "two-layers", "space"), HEAD, WHOLE),
    "texts": (page, TEXTS, WHOLE),
    "training": (partial(page, figure=True), TRAINING, WHOLE),
    "own": (partial(page, steps=40, figure=True), OWN, WHOLE),
}
