"""What all lessons' widgets have in common, tried on a coin that learns how often heads comes."""

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
    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self.side = nn.Parameter(torch.randn(1, generator=generator))

    def forward(self) -> Tensor:
        return self.side


def loss(model: Any, heads: Tensor) -> Tensor:
    return ((1 + model().exp()).log() - heads * model()).sum()


@cache
def lesson() -> dict[str, Any]:
    step = training.step(Coin(Generator()), loss, torch.ones(1))
    return {"step": step.module, "draws": initial.draws(Coin)}


class Coins(anywidget.AnyWidget):
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
        told = {"reads": {"it ends": None, "at step 10": 10.0}, "unit": " above it"}
        told["recorded"] = {"fair": "The book’s: 0.02."}
        yours = (
            Yours(race, kinds, series="loss", guesses={"cost": (None, None)}),
            Yours(ends, kinds, "dots", series="off", guesses={"off": (None, 1.0)}, **told),
            Yours(left, kinds, "arrivals", guesses={"tosses": (None, 50.0)}),
        )
        return Picture(fig, "Coins", "Three views.", "Coins, drawn.", lesson="coins", yours=yours)


THREE = (0.1, 0.2, 0.3)
CLAIMS = (
    Claim("A fair coin is known sooner.", mine=Mine("before", ("fair", "bent"))),
    Claim("A bent one costs more.", mine=Mine("above", ("bent",), ("loss", None), against=THREE)),
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


def guess() -> list[Any]:
    asked = Guess("coins", (COST, OFF, TOSSES, WAY, ORDER))
    came = [COST.came(0.7), OFF.came(0.04), TOSSES.came(20.0), WAY.came(1.0)]
    score = asked.score(came + ORDER.came((("fair", "bent"), ("stolen",))))
    return [asked, listening(), score, Coins()]


def veiled() -> list[Any]:
    """The fields above a figure that gives the answer away, words that do, and the score."""
    asked, cell = Guess("coins", (WAY,)), '<div class="cell">'
    words = f'</div><p>It starts upwards.</p>{cell}<div class="scored">'
    score = asked.score([WAY.came(1.0)])
    parts = [f"<section>{cell}", asked, f"</div>{cell}", listening(), words, score]
    return [*parts, "</div></div><p>And then?</p></section>"]


def rest() -> list[Any]:
    asked, way = Guess("coins", (WAY,), veils="rest"), WAY.came(1.0)
    told = "</div><p>It starts upwards.</p></section><section><div>"
    return ['<section><div class="cell">', asked, told, asked.score([way]), "</div></section>"]


def mine() -> list[Any]:
    return [coins(), listening(), str(table(CLAIMS, lesson="coins").data)]


class Opening(anywidget.AnyWidget):
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

PAGES = {
    "guess": guess, "veiled": veiled, "rest": rest, "panel": mine, "mine": mine, "open": opening,
    "late": late, "kept": lambda: [coins()], "unable": lambda: [coins()],
    "lost": lambda: [coins(rate=1e30), listening()],
    "alone": lambda: [Coins(), "<p>Between them.</p>", Coins()],
}  # fmt: skip
