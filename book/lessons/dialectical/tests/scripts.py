"""What a reader does with the bracket generator, a line each; why stands above some lines."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.func import stack_module_state

from attn_notes.models.dialectical import Config
from attn_notes.tasks.brackets import Brackets
from book.lessons.dialectical import claims, evidence, figures, recipe
from book.lessons.dialectical.tests.models import SMALL, far_from_start, wanting
from book.lessons.dialectical.widget import BracketGenerator
from tests.transcripts.played import on_site


def lesson(**traits: Any) -> list[Any]:
    """The lesson's recorded models."""
    widget = BracketGenerator(**traits)
    for name, config in recipe.LESSON.items():
        widget.load(name, evidence.stacked(name), config)
    return [widget]


def odd(**traits: Any) -> list[Any]:
    """Models that want one thing only, one of a single stream, one without a number, two seeds."""
    widget, broken = BracketGenerator(Brackets(pairs=2, max_length=6), **traits), wanting()
    broken.token.weight.fill_(math.nan)
    for name, models in {
        **{f"wants {one}": [wanting(**{one: 40.0})] for one in ("open", "close", "pad")},
        "one stream": [far_from_start(Config(**SMALL, streams=1), 0)],
        "no number": [broken],
        "two seeds": [wanting(a=9.0), wanting(b=9.0)],
    }.items():
        widget.load(name, stack_module_state([*models])[0], models[0].config)
    return [widget]


def trained() -> list[Any]:
    """Models and a task that are learnt in a second, beside what shows such runs."""
    [widget] = lesson(text="()")
    sizes = {"width": 12, "head_dim": 6, "context": 16, "steps": 2}
    taught = {"rate": 0.02, "steps": 100, "batch": 16, "warmup": 5, "near": 0.05}
    for name, config in recipe.LESSON.items():
        widget.teach(name, replace(config, **sizes), Brackets(pairs=1, max_length=8), **taught)
    ends = {"as published": torch.full((3,), -0.2), "mask mended": torch.full((3,), 0.02)}
    curves = {name: torch.stack([end + 0.7, end]) for name, end in ends.items()}
    live = evidence.Live(torch.tensor([0, 100]), curves)
    table = claims.table(claims.lesson(evidence.recorded()), lesson="dialectical")
    return [*on_site(widget, "mended"), figures.falling(live), table.data]


LOSSES = """
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=brackets&view=losses&run=mask%20mended&seed=0&text=(ab)(a)&place=3&replacement=b
press Back to the page
press Show alone
# Escape belongs first to what is in the widget
focus .dh-changed
keys Escape
focus Your string
keys Escape
go to ?show=brackets&view=writing&run=mask%20mended&seed=0&prompt=(a&budget=9&temperature=0.7\
&constrained=no&stop_on_closed=no&draw=3
press Back to the page
press Show alone
go to ?show=brackets
go to ?show=brackets&view=x&run=x&seed=9&text=(x&place=9&replacement=x&prompt=)&budget=61\
&temperature=2.1&constrained=x&stop_on_closed=x&draw=-1
press Back to the page
# one character more, less, or another: who reads ahead is found out by what moves before it
type "(a()b" into Your string
press mask mended
type "(a(b" into Your string
press as published
press Put back
# a character is taken, and another put in its place; where all is closed the end is predicted, too
type "(b)" into Your string
press .dh-typed > button 2
press Put a there
press .dh-typed > button 1
press Put a there
press .dh-typed > button 1
press Put back
press .dh-losses
type "(b)a" into Your string
# by keys: along the string, a character typed takes the place, Escape undoes
focus Losses
keys Tab Tab
keys Tab ArrowRight ArrowUp Control+a
keys x End Space
keys Escape
keys Home Enter Tab Enter
"""
STRINGS = """
# what the task cannot write has no best loss from there on
type "(  )" into Your string
type "(c)" into Your string
type "((a)a)" into Your string
type "((a)a" into Your string
# what no string is gets one sentence; the bars are from before, and nothing is said of them
type "((" into Your string
press no number
press .dh-typed > button 1
type "(" into Your string
type "(_" into Your string
type "<img src=x onerror=alert(1)>" into Your string
js it = document.activeElement; it.value = "a".repeat(1e4); it.dispatchEvent(new Event("input"))
# it gives way to a change; and as it was, the change stands
press Put ) there
type "(x" into Your string
type "()" into Your string
# what the notebook sets is shown, if it can be: a text, a place, what the text was before
js models[0].set("text", "(b"); models[0].set("place", 9)
js models[0].set("task", { ...models[0].get("task"), filler: 0.5 })
js models[0].set("before", "(b)")
js models[0].set("before", "(b?")
# another run comes; without any it sleeps, and wakes with what was chosen
js window.all = models[0].get("runs"); models[0].set("runs", { "no number": all["two seeds"] })
js models[0].set("runs", {})
js models[0].set("run", "a"); models[0].set("runs", { a: all["one stream"] })
# whichever of two a message names first; a name is a text
js models[0].set("runs", {}); models[0].set("runs", all); models[0].set("run", "two seeds")
js models[0].set("run", "<b>a</b>"); models[0].set("runs", { "<b>a</b>": all["one stream"] })
"""
WRITING = """
# by keys alone: the model, without the grammar, another prompt and budget, drawn by chance, again
focus Writing
keys Tab ArrowRight
keys Tab Space
keys Tab Tab End a
keys Tab ArrowLeft
keys Tab End
keys Tab Enter
keys Tab ArrowRight
keys Tab Space
# by the pointer: a character, in the track as well; with the grammar, and the likeliest
press .dh-removed
press [aria-label="Written characters"] > span 1
type "0" into Temperature
press Grammar
press .dh-tension
press as published
# what is looked at is the last where the text ends before it
press [aria-label="Written characters"] > span 2
type "2" into Budget
# a space outside of brackets is the end, or one more filler
type "()" into Prompt
press Stop when closed
type "0" into Budget
# words in the text open the losses of the model that is mended; they are let go by another view
js document.querySelector("#place").insertAdjacentHTML("beforeend", "<a href=#open-mended>mend</a>")
press mend
press Writing
"""
REQUESTS = """
# each wants one thing: without the grammar it goes wrong
press Grammar
press wants close
press wants pad
press Grammar
# several seeds; no number, and one stream
press Inside the head: tension, steps and what it read
press two seeds
choose "1" of Seed
press no number
press one stream
press Inside the head: tension, steps and what it read
# what cannot be done says so, in its field, and what is shown is from before
type "" into Prompt
type "(_" into Prompt
type "a)" into Prompt
js it = document.activeElement; it.value = "a".repeat(1e4); it.dispatchEvent(new Event("input"))
type "(((" into Prompt
press wants open
press Grammar
type "3" into Budget
press Grammar
# what the notebook sets
js models[0].set("prompt", "a"); models[0].set("budget", 1); models[0].set("temperature", 1.5)
js models[0].set("prompt", "((")
"""
TRAINING = """
# a guess, and a run to its end: as published it reads ahead, and goes through the floor
press below it
press Train
press Another seed
press One step
press Train
# with the mask mended it does not: three seeds meet the challenge
press .attn-settings > summary
press [name$=train-name] 1
press just above it
press 3 seeds
press Keep
press Another seed
press Take back
# where the browser keeps nothing it lasts as long as the page; what is mine can be forgotten
js Object.defineProperty(window, "localStorage", { get() { throw new Error("barred"); } })
press Keep
press Forget mine: guesses and runs
# in few steps it is honest, and not there yet; models and lessons of the notebook's come and go
choose "0.04" of Learning rate
choose "25" of Steps
press 3 seeds
press Another seed
press One step
press mended
press mended
press One step
js models[0].set("run", "mask mended")
press One step
js models[0].set("runs", {})
js const m = models[0], { "as published": _, ...rest } = m.get("lessons"); m.set("lessons", rest)
js models[0].set("lessons", {})
"""
SCRIPTS = {
    "losses": (lambda: on_site(*lesson(text="(a()")), LOSSES),
    "strings": (partial(odd, text="()"), STRINGS),
    "writing": (partial(lesson, view="writing", prompt="((", budget=4), WRITING),
    "requests": (partial(odd, view="writing", prompt="(", budget=2), REQUESTS),
    "training": (trained, TRAINING),
}
