"""What a reader does with the explorer and its panel, a line each; why stands above some lines."""

import os
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
from torch import Generator

from attn_notes.chapters.equilibrium import evidence, figures, lesson
from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from attn_notes.widgets.equilibrium import EquilibriumExplorer
from attn_notes.widgets.guess import Guess


@patch.dict(os.environ, FAST="1")
def network() -> list[Any]:
    """The recorded model, and two that read less and take too few steps to come to rest."""
    explorer, (model, characters) = EquilibriumExplorer(panel="network"), evidence.trained()
    hurried = replace(model.config, context=8, relaxation=Relaxation(2, 0.25))
    drawn = [LanguageModel(hurried, Generator().manual_seed(seed)) for seed in (0, 1)]
    for name, models in (("trained", [model]), ("hurried", drawn)):
        each = [one.state_dict() for one in models]
        numbers = {key: torch.stack([one[key] for one in each]) for key in each[0]}
        explorer.load(name, numbers, models[0].config, characters)
    return [explorer]


@patch.dict(os.environ, FAST="1")
def panel() -> list[Any]:
    """What trains in the page, a few steps of it, and the figure that shows what came of it."""
    explorer, settings = EquilibriumExplorer(), lesson.settings(Text.read(FALLBACK))
    explorer.teach(**settings | {"steps": 40, "every": 10})
    return [explorer, figures.ends(evidence.training(), evidence.in_page())]


def guess() -> list[Any]:
    """What is asked, what came out, and the figure that shows both."""
    asked, gradients = Guess("equilibrium", evidence.ASKED), evidence.gradients()
    return [asked, asked.score(evidence.predicted(gradients)), figures.clip(gradients)]


PUT = """
js window.put = (all) => Object.entries(all).forEach(([name, value]) => models[0].set(name, value))
"""

PLANE = """
# the naive arrow goes uphill; the others do not
press AEP
press AEP, clipped
keys ArrowDown
# each pair of weights makes its point
press Mutual
press One way
press With the clip
# all learn, side by side; the figures are those of the lesson that one has come to
press Opposed
press Learn
press AEP
press Learn
# who starts over by keys goes on by keys
focus Start over
keys Enter
keys Enter
# what was learned is of these weights, and goes with them
press With the clip
press Learn
"""

MOVING = """
# the target is dragged, to the end of the plane and no farther, and back from there
drag .eq-handle.eq-y by 40 -60
drag .eq-handle.eq-y by 900 0
# it is moved by keys, with Shift farther; what a browser does with Control stays its own
focus .eq-handle.eq-y
keys ArrowLeft ArrowDown
keys Shift+ArrowRight Shift+ArrowUp
keys Control+ArrowUp
# the target leaves what was learned, the pull and the weights begin anew
press Learn
drag .eq-handle.eq-y by 0 40
drag .eq-handle.eq-x by 0 40
press Learn
focus Weight w₁₂
keys End
keys Home
press Learn
focus Weight w₂₁
keys Home
keys End
# a nudge as faint and as strong as it may be, and how long
focus Nudge β
keys Home
keys End
focus Nudged steps
keys Home
keys End
"""

NOTHING = f"""
{PUT}
# on the top of a hill there is no gradient, and nothing is drawn or learned
js put({{ weights: [3, 3], input: [0, 0], target: [1, 1] }})
# a state that leaves it slowly does not come to rest
js put({{ weights: [1.0001, 1.0001], input: [1e-3, 1e-3], learned: 0 }})
js put({{ weights: [1, 1], input: [0, 0] }})
# on the target; where no weight would help; where only one of two equal ones could
js put({{ weights: [0, 0], target: [0, 0] }})
js put({{ target: [1, 0] }})
js put({{ weights: [0.5, 0.5], input: [1, -1], target: [1, 1] }})
# a nudged state runs away, or still moves
js put({{ weights: [0, 2.836], input: [0.681, -2.139], target: [2.279, -2.654], beta: 0.00521, steps: 207, method: "clipped" }})
js put({{ steps: 3 }})
# learning ends where no state rests any more
js put({{ weights: [2.4, 0.7], input: [2.5, -1.5], target: [0.6, -2.8], beta: 0.1, steps: 100, learned: 30 }})
# what is chosen elsewhere is shown
js put({{ method: "full", target: [1.5, -1], learned: 12 }})
js put({{ panel: "network" }})
focus The network
keys ArrowLeft
"""

NETWORK = f"""
# a text comes to rest, step by step
type "To be To" into Text
type "0" into Relaxation step
type "2" into Relaxation step
press Play
# a character is chosen, by pointer in any row, and by keys
press [role=radio] 2
keys ArrowRight ArrowDown ArrowLeft
keys End
keys ArrowRight
keys Home
press .attn-lane.eq-none
# alone there is nobody to blame; a new line is written as an arrow
type "T" into Text
type "b↵↵e" into Text
# what cannot be read is said, and what is shown stays
type "" into Text
type "T🙂5öb" into Text
type "<img src=x onerror=alert(1)>" into Text
type "To be, or not to be: that is the question" into Text
type "o be To b" into Text
# a model that reads less; one that does not come to rest has no credit to share
choose "hurried" of Model
type "Toe" into Text
choose "1" of Seed
type "0" into Relaxation step
press Play
{PUT}
# another view, or the notebook, has changed the text: into one that this model can read, and one that it cannot
js put({{ text: "bee", selected: 0, step: 1 }})
js put({{ text: "be5" }})
js put({{ text: "too" }})
# weights that are no numbers
js const {{ hurried }} = models[0].get("runs"); window.was = models[0].get("runs"); window.nan = {{ ...hurried, weights: new DataView(new ArrayBuffer(hurried.weights.byteLength)) }}
js new Uint16Array(nan.weights.buffer).fill(0x7e00); put({{ runs: {{ hurried: nan }} }})
# runs go, and others come in mid-use; who looked at numbers meanwhile finds them
js put({{ runs: {{}} }})
press Two numbers
js put({{ runs: {{ trained: was.trained }}, run: "trained", seed: 0, selected: 1 }})
press The network
"""

TRAINING = f"""
# a guess, a step, and all of them
press .attn-guess label 1
press One step
press Train
press See it below
# another way, from the same start; the settings say what is chosen, and are kept
press .attn-settings summary
press .attn-settings label 1
keys ArrowRight
press Train
press .attn-settings label 1
press Train
# other settings are another row of runs
choose "10" of Steps
choose "0.016" of Learning rate
press Train
# weights are kept, left for another seed, and taken back
press Keep
press Another seed
press Take back
# what is mine goes, and comes back
press Forget mine: guesses and runs
press Undo: have guesses and runs back
# a browser that keeps nothing still shows it
js Storage.prototype.setItem = () => {{ throw new Error("full") }}
press Train
{PUT}
# another lesson arrives: within reach, for three seeds
js window.was = models[0].get("lesson"); put({{ lesson: {{ ...was, yardsticks: [["counting frequencies", 2.858], ["half of it", 2.6]] }} }})
press .attn-settings label 0
choose "40" of Steps
choose "0.008" of Learning rate
press 3 seeds
# a rate at which the loss is no number any more
js put({{ lesson: {{ ...was, optimizer: {{ ...was.optimizer, rate: 1e30 }} }} }})
press Train
js put({{ lesson: {{}} }})
"""

GUESS = """
# three are asked; what is no cosine is said
press is closer to the true one
type "0.95" into Its cosine to the true one after 20 steps
type "1.5" into Its cosine to the true one after 60 steps
keys Tab
type "much" into Its cosine to the true one after 60 steps
keys Tab
type "0.9" into Its cosine to the true one after 60 steps
# another mind
press has drifted away
press Forget mine: guesses and runs
press Undo: have guesses and runs back
"""

SCRIPTS = {
    "plane": (lambda: [EquilibriumExplorer()], PLANE),
    "moving": (lambda: [EquilibriumExplorer()], MOVING),
    "nothing": (lambda: [EquilibriumExplorer()], NOTHING),
    "network": (network, NETWORK),
    "training": (panel, TRAINING),
    "guess": (guess, GUESS),
}
