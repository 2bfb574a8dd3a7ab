"""What a reader does with the explorer and its panel, a line each; why stands above some lines."""

import os
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
from torch import Generator

from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from book.lessons.equilibrium import evidence, figures, lesson
from book.lessons.equilibrium.widget import EquilibriumExplorer
from tests.transcripts.played import on_site


@patch.dict(os.environ, FAST="1")
def network() -> list[Any]:
    """The recorded model, and two that read less and take too few steps to come to rest."""
    explorer = EquilibriumExplorer(text="To be To", panel="network")
    model, characters = evidence.trained()
    hurried = replace(model.config, context=3, relaxation=Relaxation(2, 0.25))
    drawn = [LanguageModel(hurried, Generator().manual_seed(seed)) for seed in (0, 1)]
    for name, models in (("trained", [model]), ("hurried", drawn)):
        each = [one.state_dict() for one in models]
        numbers = {key: torch.stack([one[key] for one in each]) for key in each[0]}
        explorer.load(name, numbers, models[0].config, characters)
    return [explorer]


@patch.dict(os.environ, FAST="1")
def panel() -> list[Any]:
    """What trains in the page, and its figure, without letters: their size is a machine's."""
    trainer = EquilibriumExplorer(picture="training")
    trainer.teach(**lesson.settings(Text.read(FALLBACK)) | {"steps": 40, "every": 10})
    picture = figures.ends(evidence.training(), evidence.in_page())
    for ax in picture.fig.axes:
        ax.set(xticks=[], yticks=[], xlabel="")
        for words in ax.texts:
            words.remove()
    return [trainer, picture]


PUT = """
js window.put = (all) => Object.entries(all).forEach(([name, value]) => models[0].set(name, value))
"""

PLANE = """
# the naive arrow goes uphill; the others do not
press AEP
press AEP, limited
keys ArrowDown
# each pair of weights makes its point
press Mutual
press One way
press With the limit
# words do it, too, and give back what was there, as long as nothing of it is changed
press mutual
press mutual
press mutual
press AEP
# all learn, side by side; the figures are those of where one has come to
press Opposed
press Learn
press AEP
# with motion it learns a lesson at a time, and can be stopped
press Start over
js moving("Learn", ".eq-lesson-text", "After 4 steps", \
  ({ nextElementSibling: over }) => over.click())
press Learn
# who starts over by keys goes on by keys; other weights have learned nothing
focus Start over
keys Enter
keys Enter
press With the limit
"""

MOVING = """
# the target is dragged, to the end of the plane and no farther
drag .eq-handle.eq-y by 40 -60
drag .eq-handle.eq-y by 900 0
# it is moved by keys, with Shift farther; what a browser does with Control stays its own
focus .eq-handle.eq-y
keys ArrowLeft ArrowDown
keys Shift+ArrowLeft Shift+ArrowUp
keys Control+ArrowUp
# the target leaves what was learned; the pull and the weights begin anew
press Learn
drag .eq-handle.eq-y by 0 40
drag .eq-handle.eq-x by 0 40
press Learn
type "3" into Weight w₁₂
type "-3" into Weight w₂₁
# a nudge as faint and as strong as it may be, and how long
focus Nudge β
keys Home
keys End
focus Nudged steps
keys Home
keys End
# the plane ends on its other sides, too
drag .eq-handle.eq-x by -400 400
"""

NOTHING = f"""
{PUT}
# on the top of a hill there is no gradient; a state that leaves it slowly does not come to rest
js put({{ weights: [3, 3], input: [0, 0], target: [1, 1] }})
js put({{ weights: [1.0001, 1.0001], input: [1e-3, 1e-3] }})
js put({{ weights: [1, 1], input: [0, 0] }})
# on the target; where no weight would help; where two are one
js put({{ weights: [0, 0], target: [0, 0] }})
js put({{ target: [1, 0] }})
js put({{ weights: [0.5, 0.5], input: [1, -1], target: [1, 1] }})
# a nudged state runs away, or still moves
js put({{ weights: [0, 2.836], input: [0.681, -2.139], target: [2.279, -2.654], \
  beta: 0.00521, steps: 207, method: "clipped" }})
js put({{ steps: 3 }})
# learning changes nothing on the target, and ends where no state rests any more
js put({{ weights: [0, 0], input: [0, 0], target: [0, 0], learned: 7 }})
js put({{ weights: [2.4, 0.7], input: [2.5, -1.5], target: [0.6, -2.8], beta: 0.1, learned: 7 }})
# without a model the network sleeps; from tab to tab by keys
press The network
keys ArrowLeft
"""

NETWORK = f"""
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=equilibrium&panel=plane&weights=1.2,-0.4&input=-1,0.5&target=0.25,2&method=full\
&beta=0.03&steps=40&learned=4
press Back to the page
press Show alone
go to ?show=equilibrium&panel=network&run=hurried&seed=1&text=To%20&step=1&selected=2
press Back to the page
press Show alone
go to ?show=equilibrium
go to ?show=equilibrium&panel=x&weights=4,1&input=1&target=x&method=x&beta=4&steps=401&learned=31\
&run=x&seed=1&text=5&step=-2&selected=8
press Back to the page
# a text comes to rest, step by step
type "0" into Relaxation step
# who does not mind motion sees step by step, and stops it by taking hold of the slider
js matchMedia = () => ({{ matches: false }}); \
  [...document.querySelectorAll("button")].find((each) => each.textContent === "Play").click(); \
  const it = document.querySelector("[id$=-step]"); \
  it.value = 3; it.dispatchEvent(new Event("input"))
press Play
# with motion it goes on a step at a time, until another is asked for
type "0" into Relaxation step
js const at = document.querySelector("[aria-valuetext$='of 16']"); \
  moving("Play", ".eq-rest-text", "At step 2", () => {{ \
  at.value = 1; at.dispatchEvent(new Event("input")); }})
type "16" into Relaxation step
# a character is chosen, by pointer in any row, and by keys
press [role=radio] 2
press .attn-lane.eq-none
focus [role=radio] 4
keys ArrowRight ArrowDown ArrowLeft
keys End ArrowRight
keys Home ArrowUp
# another text is asked for its middle; alone there is nobody to blame; ↵ is a new line
type "T" into Text
type "b↵↵e" into Text
# what cannot be read is said, and what is shown stays
type "" into Text
type "T🙂5öb" into Text
type "<img src=x onerror=alert(1)>" into Text
type "To be, or not to be: that is the question" into Text
# a model that reads less, and has no credit to share: it does not come to rest
choose "hurried" of Model
type "Toe" into Text
choose "1" of Seed
{PUT}
# another view, or the notebook, changes what is chosen; weights are no numbers
js put({{ text: "bee", selected: 0, step: 1 }})
js window.was = models[0].get("runs"); const {{ hurried }} = was; \
  const weights = new DataView(new ArrayBuffer(hurried.weights.byteLength)); \
  new Uint16Array(weights.buffer).fill(0x7e00); \
  put({{ runs: {{ hurried: {{ ...hurried, weights }} }} }})
# runs of another kind come in mid-use; a text that they cannot read; all go
js put({{ runs: {{ trained: was.trained }}, run: "trained", seed: 0 }})
js put({{ text: "be5" }})
js put({{ runs: {{}} }})
# whichever of two a message names first; a name is a text
js put({{ runs: was, run: "hurried" }})
js put({{ runs: {{}} }}); put({{ run: "<b>a</b>", runs: {{ "<b>a</b>": was.trained }} }})
"""

TRAINING = f"""
# a guess, and all steps; of another seed one, and the rest
press .attn-guess label 1
press Train
press Another seed
press One step
press Train
# another way, from the same start; the settings say what is chosen
press .attn-settings summary
press .attn-settings label 2
press Train
press .attn-settings label 1
press Train
# weights are kept, left for another seed, and taken back
press Keep
press Another seed
press Take back
{PUT}
# another lesson arrives: its goal is within reach, for three seeds
js window.was = models[0].get("lesson"); \
  put({{ lesson: {{ ...was, yardsticks: [["knowing a little", 2.858], ["knowing more", 2.7]] }} }})
press .attn-settings label 0
choose "20" of Steps
choose "0.008" of Learning rate
press 3 seeds
# one at whose rate the loss is no number any more; and none
js put({{ lesson: {{ ...was, steps: 20, optimizer: {{ ...was.optimizer, rate: 1e30 }} }} }})
press Train
js put({{ lesson: {{}} }})
"""

SCRIPTS = {
    "plane": (lambda: on_site(EquilibriumExplorer(), "mutual"), PLANE),
    "moving": (lambda: [EquilibriumExplorer()], MOVING),
    "nothing": (lambda: [EquilibriumExplorer()], NOTHING),
    "network": (lambda: on_site(*network()), NETWORK),
    "training": (panel, TRAINING),
}
