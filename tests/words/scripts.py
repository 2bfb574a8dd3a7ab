"""What a reader does with a word of the glossary, by the pointer and by keys."""

from pathlib import Path

STATIC = Path(__file__).parents[2] / "book" / "_static"
PAGE = """<article style="position: relative">
<button>Before</button>
<p>The <a class="attn-word" href="#term-loss">loss</a> of a
<a class="attn-word" href="#term-token">token</a>,
and <a class="attn-word" href="#also">more</a>.</p>
<button>After</button>
<dl class="attn-words" hidden>
<div data-anchors="term-loss also"><dt>loss</dt><dd id="means-loss">What it costs.</dd></div>
<div data-anchors="term-token"><dt>token</dt><dd id="means-token">One of them.</dd></div>
</dl></article>"""


def page() -> list[str]:
    sheet, script = (STATIC.joinpath(f"words.{kind}").read_text("utf-8") for kind in ("css", "js"))
    sheet += "[hidden] { display: none !important; }"  # as the theme has it
    return [f"{PAGE}<style>{sheet}</style><script>{script}</script>"]


WORDS = """
# its card comes under the pointer, stays while that is on it, and goes with it
point at loss
point at .attn-word-card dd
point away
# Escape hides it, and it comes again; of another word it is another's
point at loss
keys Escape
point away
point at token
point away
point at more
# who presses elsewhere hides it; by it one comes to the entry
press After
point at loss
press More in the glossary
# at the focus, which keeps what a pointer leaves
focus Before
keys Tab
point at loss
point away
# Escape leaves the focus where it is; the next word has its own, and what is no word none
keys Escape
keys Tab
keys Tab Tab
keys Shift+Tab Shift+Tab
keys Enter
"""

SCRIPTS = {"cards": (page, WORDS)}
