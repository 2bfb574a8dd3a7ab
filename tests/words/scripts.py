"""A page with words of the glossary, which show their cards to a pointer and to keys."""

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


PAGES = {"cards": page}
