"""What all lessons' widgets have in common, tried on a coin that learns how often heads comes up.

The fields of a guess, the panel that trains, what is the reader's own in figures and tables, one
widget alone; and where a browser keeps nothing, or something else.
"""

from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import torch
import traitlets
from torch import Generator, Tensor, nn

from attn_notes.programs import initial, source, training
from book.kit.claims import Claim, Mine, table
from book.kit.figures import Picture, Yours, figure
from book.kit.predictions import Choice, Number, Order
from book.page import bundle
from book.page.guess import Guess

FOLDERS = (Path(__file__).parent, *bundle.FOLDERS)
RATE, STEPS = 0.4, 40


class Coin(nn.Module):
    """How often heads comes up, as a logit."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self.side = nn.Parameter(torch.randn(1, generator=generator))

    def forward(self) -> Tensor:
        return self.side


def loss(model: Any, heads: Tensor) -> Tensor:
    """What a toss costs, in nats, where heads comes up as often as this."""
    return ((1 + model().exp()).log() - heads * model()).sum()


@cache
def lesson() -> dict[str, Any]:
    """What the page trains with."""
    step = training.step(Coin(Generator()), loss, torch.ones(1))
    return {"step": step.module, "draws": initial.draws(Coin)}


class Coins(anywidget.AnyWidget):
    """The panel, in a widget that can be shown alone."""

    _esm = bundle.javascript("coin", FOLDERS)
    _css = source.read("_theme.css", bundle.FOLDERS)
    place = "live-widget coin"
    lesson = traitlets.Dict().tag(sync=True)
    rate = traitlets.Float(RATE).tag(sync=True)
    steps = traitlets.Int(STEPS).tag(sync=True)
    tosses = traitlets.Int(10).tag(sync=True)
    side = traitlets.Unicode("heads").tag(sync=True)


def coins(**traits: Any) -> Coins:
    return Coins(lesson=lesson(), **traits)


def listening() -> Picture:
    """A figure with axes of every form, apart, and without letters: their size is a machine's."""
    with figure(rows=1, columns=3, width=7.5) as (fig, (race, ends, left)):
        fig.set_layout_engine("none")
        for i, ax in enumerate((race, ends, left)):
            ax.set_position((0.01 + i / 3, 0.05, 0.1, 0.9))
        race.set(xlim=(0, 40), ylim=(0, 2))
        ends.set(xscale="log", xlim=(0.001, 1), ylim=(1.5, -0.5))
        left.set(xlim=(0, 40), ylim=(0, 100))
        for ax in (race, ends, left):
            ax.set(xticks=[], yticks=[])
            ax.minorticks_off()
        kinds = {"fair": "a fair one", "bent": "a bent one"}
        yours = (
            Yours(race, kinds, series="loss", guesses={"cost": (None, None)}),
            Yours(
                ends,
                kinds,
                "dots",
                series="off",
                guesses={"off": (None, 1.0)},
                reads={"it ends": None, "at step 10": 10.0},
                unit=" above it",
                recorded={"fair": "The book’s: 0.02."},
            ),
            Yours(left, kinds, "arrivals", guesses={"tosses": (None, 50.0)}),
        )
        return Picture(fig, "Coins", "Three views.", "Coins, drawn.", lesson="coins", yours=yours)


CLAIMS = (
    Claim("A fair coin is known sooner.", mine=Mine("before", ("fair", "bent"))),
    Claim(
        "A bent one costs more.",
        mine=Mine("above", ("bent",), ("loss", None), against=(0.1, 0.2, 0.3)),
    ),
    Claim("Each is near.", mine=Mine("every", ("fair",), ("off", None), low=0.0, high=0.05)),
    Claim("Both are as near.", mine=Mine("pairs", ("fair", "bent"), ("off", None), high=0.05)),
    Claim("One knows it.", mine=Mine("any", ("bent",))),
    Claim("Nobody asks."),
)
COST = Number("cost", 0, 2, "What a toss costs", "nats", best=0.69, linthresh=0.01)
OFF = Number("off", 0, 1, "How far off it ends")
TOSSES = Number("tosses", -5, 40, "Tosses until it knows", "steps")
WAY = Choice("way", "Which way does it start?", {"up": 1.0, "neither": 0.0, "down": -1.0})
ORDER = Order("order", "Which is known first?", ("fair", "bent", "stolen"))


CAME = [COST.came(0.7), OFF.came(0.04), TOSSES.came(20.0), WAY.came(1.0)]
CAME += ORDER.came((("fair", "bent"), ("stolen",)))


def guess() -> list[Any]:
    """The fields, the figure that they are drawn in, and what came out."""
    asked = Guess("coins", (COST, OFF, TOSSES, WAY, ORDER))
    return [asked, listening(), asked.score(CAME), Coins()]


def mine() -> list[Any]:
    """A panel, and what is drawn and judged of its runs."""
    return [coins(), listening(), str(table(CLAIMS, lesson="coins").data)]


class Opening(anywidget.AnyWidget):
    """A widget with states that words open."""

    _esm = bundle.javascript("opening_told", FOLDERS)
    states = traitlets.List().tag(sync=True)
    late = traitlets.Int().tag(sync=True)  # milliseconds until it is there
    opened = traitlets.Unicode().tag(sync=True)


def opening() -> list[Any]:
    """Two of them, and words between: the one above is farther from these than the one below."""
    far = '<div style="height: 100rem"></div>'
    words = """<p id="told"></p><p id="held"></p>
<p>One that <a id="far" href="#open-a">does not</a>,
<a id="both" href="#open-both">or two</a> that do, <a href="#open-both-1">that one</a>,
<a href="#open-none">one</a>.</p>"""
    return [
        Opening(states=["both", "a"]),
        f'<p id="top">Top</p>{3 * far}{words}{far}',
        Opening(states=["both", "b"]),
        f'<p>And <a id="near" href="#open-b">right here</a>.</p>{far}',
    ]


def late() -> list[Any]:
    """The same, where the one above is there last, and `?early` presses words before that."""
    above, *others = opening()
    above.late = 500
    return [above, *others, EARLY]


EARLY = """<script>
  const early = location.search === "?early" && setInterval(() => {
    if (!document.querySelector("[data-opens]")) return;
    clearInterval(early);
    document.querySelector("#far").focus();
    document.querySelector("#far").click();
  });
</script>"""


GUESS = """
# a number as somebody writes it: a comma, its unit; it stands where the result is
type "0,7 nats" into What a toss costs, in nats
keys Tab
type "0.04" into How far off it ends
keys Tab
# what lies beyond an axis stands at its end, with its number
type "-5" into Tosses until it knows, in steps
keys Tab
# what is no such number is answered by a sentence, and kept out
type "<img src=x onerror=document.title=1>" into How far off it ends
keys Tab
type "1e999" into How far off it ends
keys Tab
# the sentence stays while another field is answered, until there is a number
press up
type "0.5" into How far off it ends
keys Tab
type "" into Tosses until it knows, in steps
keys Tab
press down
# an order is made by keys, what is moved keeps the focus, or carried along; then one says so
press bent: sooner
keys Enter
press stolen: sooner
drag .attn-guesses li 0 by 120 0
press This is my order
# what is moved afterwards is noted at once
press stolen: sooner
keys Enter
drag .attn-guesses li 0 by 120 0
drag .attn-guesses li 0 by 5 0
# a class gets them as a file
press Save for the class
# a kernel may ask of other parts
js models[1].set("parts", models[1].get("parts").slice(0, 1))
js models[1].set("parts", [{ ...models[1].get("parts")[0], best: null, came: -0.5 }])
# what is guessed is there on the next visit, and in another window at once
reload
js put({ guesses: { cost: 1.5 }, runs: [] })
# which takes nothing away that is not finished here
type "much" into How far off it ends
keys Tab
js put({ guesses: { cost: 1.5, off: 0.3, way: 1 }, runs: [] })
# forgotten, and had back; what is guessed meanwhile stays
press Forget mine: guesses and runs
press down
press Undo: have guesses and runs back
# what changes in another lesson takes nothing away that is being typed
type "1" into What a toss costs, in nats
js document.dispatchEvent(new CustomEvent("attn-yours", { detail: "another" }))
keys Tab
# one that is full to its last letter keeps no more, and says so, until there is room again
js fill()
type "0.123456" into How far off it ends
keys Tab
js localStorage.clear()
type "0.2" into How far off it ends
keys Tab
reload
# a browser that keeps nothing says so; what is guessed counts as long as the page is open
js full()
type "0.25" into How far off it ends
keys Tab
js barred()
type "0.75" into How far off it ends
keys Tab
reload
# nor is it harmed by what else stands under that name
js put("{")
js put({ guesses: { cost: 1, fair: 2 }, runs: [] })
js put({ guesses: 3, runs: 3 })
js put({ guesses: { cost: "y" }, runs: [null, 7, { kind: "fair", name: "", said: "", series: 1 }] })
# in the dark
js document.documentElement.dataset.theme = "dark"
"""

PANEL = """
# to the end, which is all that a panel offers at first; of another seed a step, and the rest
press Train
press Another seed
press One step
press Train
press See it below
# once more is another seed; the curve before it turns grey
press Train
# what was guessed is told
press in the first quarter
press Train
press never
press Another seed
press Train
# the settings are named while they are folded, and stay
press .attn-settings summary
press bent
choose "0.1" of Learning rate
choose "20" of Steps
press Train
# several in a row, of which the challenge asks
choose "0.4, suits it" of Learning rate
choose "40" of Steps
press 3 seeds
js only("fair")
reload
# another seed ends the several, and is one by itself
js press("3 seeds", "Another seed")
press in the second
press Train
# it can be paused, and goes on
js press("Train", "Pause")
press Train
# in a tab that nobody sees it rests, and goes on when it is seen
js press("Train"); see(false)
js see(true)
"""

KEPT = """
# weights are kept, another day too, and taken back
js press("Train", "Pause")
press Another seed
press One step
press Keep
press Train
press Take back
reload
press Take back
# of another coin there are none; nor is nonsense taken
press .attn-settings summary
press bent
js put([["x", "!"]], "attention-notes coin bent")
press Another seed
js put([["side", "AAAAAAAAAAA="]], "attention-notes coin bent")
press Another seed
# a browser that keeps nothing says so, and has them as long as the page is open
press One step
js full()
press Keep
press Another seed
press Take back
press fair
# settings that no longer are what they were do no harm
reload
js left({ "-train-coin": "lost", "-train-steps": "80", "-train-rate": [], x: 7 })
reload
js left(7)
reload
# they are those of a page, whatever its address ends with
js left({ "-train-steps": "20" }, "/other")
reload
js left({ "-train-steps": "20" })
go to .html?show=nothing#here
reload
"""

UNABLE = """
# a Worker that does not begin is told, in whatever way it does not, each time that one presses
js hire("there is none")
press Train
press One step
press 3 seeds
js hire("none may be made")
press Train
js hire("it ends at once")
press Train
js hire("it imports nothing")
press One step
js hire("it says nothing")
press Train
# another choice takes the sentence away; another time it may do, and of several none waits then
press .attn-settings summary
choose "80" of Steps
press 3 seeds
js hire("as ever")
press Train
"""

LOST = """
# a rate that is too high is said to be; what can be drawn of it, is
press later
press Train
press 3 seeds
reload
"""

MINE = """
# a run in all three forms: its line, where it ends, when it arrived
js ran("fair", 1, { loss: [[0, 1.5], [20, 0.9], [40, 0.7]], off: [[10, 0.2], [40, 0.05]] })
# two: medians; another of that seed takes its place
js ran("fair", 2, { loss: [[0, 2.5], [40, 1]], off: [[10, 0.5], [40, 0.5]] }, { arrived: null })
js ran("fair", 2, { loss: [[0, 1], [40, 0.8]], off: [[10, 0.3], [40, 0.1]] }, { arrived: 30 })
# of other settings it is said; another kind is dashed, and named
js ran("bent", 1, { loss: [[0, 2], [40, 0.4]] }, { choices: "x", taught: false, arrived: null })
js ran("bent", 1, { off: [[40, -0.02]] }, { arrived: 35 })
# what lies beyond an axis says so, and a longer run ends where the axes do
js ran("bent", 2, { loss: [[0, 1], [39, 0.5], [80, 0.1]], off: [[80, 7]] }, { steps: 80 })
# five lines are fainter; a kind that nobody draws is not drawn
js ran("fair", [3, 4, 5], { loss: (seed) => [[0, seed / 3], [40, seed / 5]] })
js ran("stolen", 1, {})
# enough of them are judged, corrected for how many questions are asked
js ran("fair", [1, 2, 3, 4, 5, 6], { off: (seed) => [[40, 0.009 * seed]] }, { arrived: 10 })
js ran("bent", [1, 2, 3, 4, 5, 6], { off: (seed) => [[40, 0.03]], loss: (seed) => [[40, seed]] })
js ran("fair", [1, 2, 3, 4, 5, 6], { off: [[40, 0.001]] }, { arrived: null })
js ran("bent", [1, 2, 3, 4, 5, 6], { off: [[40, 0.09]], loss: [[40, 0.2]] }, { met: false })
# the challenge counts runs of its seeds and settings, whenever they were trained
js ran("fair", [1, 2, 8], {}, { choices: "0.4 40", passed: true })
js ran("fair", 3, {}, { choices: "0.4 40", passed: false })
js ran("fair", 3, {}, { choices: "0.4 40", passed: true })
# forgotten; what comes meanwhile stays when they are had back
press Forget mine: guesses and runs
js ran("stolen", 9, {})
press Undo: have guesses and runs back
# a short run is drawn as far as it went, a long one in as many points as can be seen
press Forget mine: guesses and runs
js ran("bent", 1, {}, { steps: 20, arrived: null })
js ran("fair", 1, { loss: Array.from({ length: 200 }, (_, i) => [i / 5, i / 100]) })
# of very many the oldest go
js ran("bent", Array.from({ length: 100 }, (_, i) => i + 1), {})
# what somebody has called theirs is text
press Forget mine: guesses and runs
js ran("fair", 1, {}, { name: "<img src=x onerror=document.title=1>", said: "<b>1</b>" })
"""

ALONE = """
# the rest of the page is not seen; what is chosen stands in the address, and keeps up
press Show alone
type "7" into Tosses
js models[0].set("side", "tails")
# by Escape, the button or Back one is back where one was, and Forward leads there again
keys Escape
js history.forward()
press Back to the page
js history.forward()
js history.back()
press .attn-alone button 1
press .attn-alone button 1
# an address is read; what cannot be is said, each with what can
go to ?show=coin-2&tosses=5&side=tails&theme=x
reload
press .attn-alone button 1
go to ?show=coin&tosses=999&side=<b>edge
go to ?show=<b>coin
go to ?show=coin-9
"""

OPEN = """
# words are a button that works both ways, by mouse and by keys; nothing scrolls
js look("both")
press does not
press does not
focus or two
keys Enter
keys Space
press that one
press that one
# what is in sight needs no way there
js look("near")
press right here
press right here
# the button shows what is so, whoever changed it
js look("both")
press or two
js models[1].set("opened", "")
press or two
press right here
press right here
press or two
# a way leads to what is out of sight, and Back to the words; Forward and a new visit open it again
press does not
focus shown above ↑
keys Enter
js history.back()
js history.forward()
js history.back()
js history.forward()
reload
js history.back()
# who went on and comes back from elsewhere is where they were
js look("near"); location.hash = "#top"
js history.back()
# an address opens what it names, also a second one; what nobody knows opens nothing
go to ?1#open-both-2
js location.hash = "#open-a"
js for (const address of ["#open-", "#open-both-3", "#open-both-0"]) location.hash = address
go to ?2#open-constructor
press one
# with a key held down it is the browser's
js held("both", "ctrlKey")
js held("both", "shiftKey")
"""

LATE = """
# an address opens the one that it names, whichever is there first, and goes on to do so
go to ?1#open-both
js location.hash = "#open-a"
go to ?2#open-both-2
go to ?3#open-b
# words open one that is still to come when it is there, and keep the focus
go to ?early
"""

SCRIPTS = {
    "guess": (guess, GUESS),
    "panel": (mine, PANEL),
    "kept": (lambda: [coins()], KEPT),
    "unable": (lambda: [coins()], UNABLE),
    "lost": (lambda: [coins(rate=1e30), listening()], LOST),
    "mine": (mine, MINE),
    "open": (opening, OPEN),
    "late": (late, LATE),
    "alone": (lambda: [Coins(), "<p>Between them.</p>", Coins()], ALONE),
}
