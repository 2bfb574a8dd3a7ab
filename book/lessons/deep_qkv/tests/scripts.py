"""What a reader does with the sorter, a line each; why stands above some lines."""

from typing import Any

from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.deep_qkv import Config, Sorter
from book.lessons.deep_qkv import claims, evidence, figures
from book.lessons.deep_qkv.widget import ABCSorter
from book.page.guess import Guess
from tests.transcripts.played import on_site

ALL = slice(None)


def opened(**seeds: Any) -> ABCSorter:
    """Recorded sorters, these seeds of each kind; it opens as in the lesson, on plain, seed 9."""
    made = ABCSorter(variant="plain", seed=9)
    for kind, chosen in seeds.items():
        stack = {name: values[chosen] for name, values in evidence.weights(kind).items()}
        made.load(kind, stack, Config(kind))
    return made


def beside_another() -> list[Any]:
    """Plain ones, and a gated one without positions that has learnt nothing."""
    made, config = opened(plain=ALL), Config(positions=False)
    model = Sorter(config, Generator().manual_seed(0))
    made.load("gated", stack_module_state([model])[0], config)
    return [made]


def taught() -> list[Any]:
    """What the lesson teaches, in few steps, and one kind at a rate that leads nowhere."""
    made = opened(plain=[9, 2])
    for kind, rate in (("plain", 0.02), ("fixed_gate", 1e30)):
        made.teach(kind, Config(kind), rate=rate, steps=120, warmup=10)
    return [made]


def mine() -> list[Any]:
    """The lesson's question, the panel, the figures that draw what a reader trains, the score."""
    chosen = evidence.recorded("chosen")
    live = evidence.Live({kind: chosen[kind] for kind in claims.LESSON})
    guess = Guess("deep_qkv", (evidence.ORDER,))
    pictures = (figures.lesson_race(chosen, live), figures.lesson_loss(chosen, live))
    return [guess, *taught(), *pictures, guess.score(evidence.predicted(live))]


WORD = """
# alone, what is chosen stands in the address and is read from there; what cannot be is said
press Show alone
reload
go to ?show=sorter&variant=x&seed=99&text=abd
press Back to the page
# another word; capital letters and spaces around are forgiven
type " bCa " into Type three letters
# what is not finished is not wrong; no verdict on the word before stands beside it
type "c" into Type three letters
type "cb" into Type three letters
type "" into Type three letters
# what is no word is refused, once and again
type "xyz" into Type three letters
type "cabc" into Type three letters
type "a b c" into Type three letters
type "абс" into Type three letters
type "🙂🙂🙂" into Type three letters
type "<img src=x onerror=models[0].set('text','ccc')>abcabcabcabcabcabc" into Type three letters
type "bca" into Type three letters
# whoever comes into the box has all of it chosen, and writes another word
focus Next word
focus Type three letters
drag Type three letters by 20 2
keys b b a
# in the map of all words by the pointer and by keys; before the first word stands the last
press acb, right: writes abc
keys ArrowRight ArrowDown
keys Home ArrowLeft
keys End
press Next word
press Previous word
press A random word
# a kernel has its say; what is no word is the first one
js models[0].set("text", "aba")
js models[0].set("text", "<b>")
"""

WEIGHTS = """
# the weights are folded away until they are asked for; one is set to zero, and comes back
press Take it apart: 318 weights
point at .abc-cell 30
press .abc-cell 9
press .abc-cell 9
# a whole matrix, and back
press zero all: LayerNorm before attention, shift
press restore all: LayerNorm before attention, shift
# what was done last is undone and redone; what is done after that is not
press Undo the last change of a weight
press .abc-cell 9
press Undo the last change of a weight
press Redo the change of a weight
press Reset every weight
# what is refused stays refused whichever model is looked at; each has edits of its own
type "xyz" into Type three letters
choose "gated" of Model
press .abc-cell 9
point away
choose "3" of Seed
choose "9" of Seed
choose "plain" of Model
type "cab" into Type three letters
# as the lesson asks for: without positions it writes one word whatever it reads
press .abc-cell 30
press zero all: position embedding
press .abc-apart
# in the dark
js document.documentElement.dataset.theme = "dark"
"""

KEYS = """
# one tab stop for all weights, and arrows that do not lead over the edge
press Take it apart: 318 weights
focus Seed
keys Tab ArrowUp ArrowLeft
keys ArrowRight ArrowDown
keys PageDown End ArrowRight
# to zero and back, and a whole matrix, the last one
keys Home PageUp PageUp ArrowDown ArrowRight ArrowRight ArrowRight
keys Enter
keys Space
keys PageDown PageDown PageDown PageDown PageDown PageDown PageDown PageDown PageDown
keys PageDown PageDown PageDown PageDown PageDown PageDown PageDown PageDown PageDown
keys Shift+Enter
# undone and redone, and the place stays; before the weights come the buttons
keys Control+z
keys Control+z Meta+z
keys Control+Shift+Z
keys Meta+Shift+z z
keys Shift+Enter
keys Shift+Tab
keys Enter
"""

SEEDS = """
# words open one that failed, on a word that it gets wrong, and give back what was there
press failed
press failed
# of these plain ones the second failed, and the one shown before is found again
press Show a seed that failed
press Show a seed that sorts all 27
# of the gated ones none sorts everything, so it is another kind that does, and one that failed
js models[0].set("variant", "gated");
press Show a seed that sorts all 27
press Show a seed that failed
# where nobody does, nobody is said to have failed; nor where all do
point away
js window.all = models[0].get("runs"); models[0].set("runs", { gated: all.gated });
js models[0].set("runs", { strict: all.strict });
js models[0].set("runs", all);
press Show a seed that sorts all 27
# an address opens a seed that failed, and goes no further the second time
js location.hash = "#open-failed";
js location.hash = "";
js location.hash = "#open-failed";
# alone, another model, seed and word, as an address has them, and as they stand there again
go to ?show=sorter&variant=gated&seed=1&text=bca
press Back to the page
press Show alone
# an address opens a state there too, which then stands in it
go to ?show=sorter&variant=plain&seed=0#open-failed
reload
"""

RUNS = """
# another kind beside it is no reason to touch what is on the page
js window.all = models[0].get("runs"); models[0].set("runs", { plain: all.plain });
press .abc-apart
press .abc-cell 317
js models[0].set("runs", { plain: { ...all.plain }, gated: all.gated });
# other weights of this kind are: here zeros, then no numbers at all
js window.full = (x) => new DataView(new Uint8Array(all.plain.weights.byteLength).fill(x).buffer);
js models[0].set("runs", { plain: { ...all.plain, weights: full(0) } });
js models[0].set("runs", { plain: { ...all.plain, weights: full(255) } });
# with the weights open runs of another kind arrive, and the same ones by other names
js models[0].set("runs", { gated: all.gated });
press .abc-cell 437
js models[0].set("runs", { fixed_gate: all.gated });
js models[0].set("runs", { strict: all.gated });
# without any it sleeps, and wakes up when some arrive, with what was done to these
js models[0].set("runs", {});
js models[0].set("runs", { gated: all.gated });
# whichever of two a message names first
js models[0].set("runs", {}); models[0].set("variant", "plain"); models[0].set("runs", all);
js models[0].set("runs", {}); models[0].set("runs", all); models[0].set("variant", "gated");
# what is asked for and is not there gives way to what there is
js models[0].set("seed", 99);
js models[0].set("variant", "plain_third");
"""

TRAINING = """
# before a first run there is one button; then what is trained is chosen, and each choice begins
# anew, but for the speed
press Train
press .attn-settings summary
press the four it can know
choose "0.04" of Learning rate
press One step
choose "fast" of Speed
press One step
press Another seed
# once it is done, who presses again trains the next one; a guess is judged
press Train
press in the second
press Train
# what is there is kept, taken back and downloaded
press Keep
press Take back
press Download
# of sixteen seeds one is told how many meet the challenge
press 16 seeds
# a rate that is too high is said to be
press divided by three
press Train
"""

LEARNING = """
# what is being trained is the model that is shown, to the last weight
press Train
press Another seed
press One step
press Take it apart: 318 weights
press .abc-cell 9
press Next word
# the next step forgets what was zeroed; who looks at another model lets it rest, and finds it again
press One step
choose "0" of Seed
point away
focus .abc-apart
keys Enter
press One step
press Show a seed that sorts all 27
# who looks at another model or presses again when it has begun pauses it: until then it is “Pause”
js window.begin = async () => { \
const [go, line] = [".attn-go", ".attn-train-line"].map((x) => document.querySelector(x)); \
const begun = new Promise((on) => new MutationObserver(on).observe(line, { childList: true })); \
go.click(); await begun; go.title = go.textContent; return go; };
js await begin(); document.querySelector(".abc-apart + .attn-button").click();
js (await begin()).click();
"""

MINE = """
# a guess is noted, once one says that it is one
press plain: later
press This is my order
# a run is drawn, and another; the panel leads to the picture
press .attn-settings summary
choose "36" of Steps
press Train
press Train
press See it below
# all of it can be forgotten, and be had back
press Forget mine: guesses and runs
press Undo: have guesses and runs back
# nonsense that was kept is not taken
js localStorage.setItem("attention-notes abc sorter plain", '[["token.weight", "AAAA"]]');
press Another seed
press One step
# where a browser keeps nothing it is said so
js Storage.prototype.setItem = () => { throw new DOMException("full"); };
press plain: later
press Keep
press Take back
"""

SCRIPTS: dict[str, tuple[Any, str]] = {
    "word": (lambda: on_site(opened(plain=ALL)), WORD),
    "weights": (lambda: [opened(plain=ALL, gated=ALL)], WEIGHTS),
    "keys": (lambda: [opened(plain=ALL)], KEYS),
    "seeds": (
        lambda: on_site(opened(plain=[9, 2, 10], gated=[2, 12], strict=[0]), "failed"),
        SEEDS,
    ),
    "runs": (beside_another, RUNS),
    "training": (taught, TRAINING),
    "learning": (taught, LEARNING),
    "mine": (mine, MINE),
}
