"""The instrument itself: of a small widget that is changed, one line says what and where."""

import anywidget
import pytest
import traitlets
from playwright.sync_api import Browser

from .__main__ import main
from .played import script_of, transcript

COUNTER = """
export default { render({ model, el }) {
  const shown = document.createElement("p");
  const button = document.createElement("button");
  button.textContent = "More";
  const show = () => {
    shown.textContent = `${model.get("count")} of 3 letters`;
    shown.style.color = model.get("count") ? "rgb(0, 114, 178)" : "";
  };
  button.onclick = () => { model.set("count", model.get("count") + 1); };
  model.on("change:count", show);
  show();
  el.append(shown, button);
  return () => model.off("change:count", show);
} };
"""
SCRIPT = """
# it counts
press More
js models[0].set("count", 3)
"""


def played(browser: Browser, old: str = "", new: str = "", script: str = SCRIPT) -> list[str]:
    assert old in COUNTER

    class Changed(anywidget.AnyWidget):
        _esm = COUNTER.replace(old, new) if old else COUNTER
        count = traitlets.Int(0).tag(sync=True)

    return list(transcript(browser, [Changed()], script))


def test_what_a_line_changes_is_told(browser):
    assert played(browser) == [
        "> at first",
        "  + div.live-widget-view data-state=ready",
        '    + p "0 of 3 letters"',
        '    + button "More" behind=#efefef border=2px outset #000000',
        "# it counts",
        "  > press More",
        '    ~ p "1 of 3 letters" style=color: rgb(0, 114, 178); colour=#0072b2',
        '    ~ button "More" FOCUS',
        '  > js models[0].set("count", 3)',
        '    ~ p "3 of 3 letters"',
    ]


def test_a_transcript_has_its_script():
    lines = ["> at first", '  + p "> 0"', "> press More", "  nothing changes", "# it counts"]
    lines += ["  > press More", '    ~ p "# 1"', "> reload", "  nothing changes"]
    assert script_of(lines).split("\n") == ["press More", "# it counts", "press More", "", "reload"]


WIDGET = '  el.className = "attn-widget"; '
TWICE = 'shown.id = button.id = "x"; '
BLOT = """<svg stroke-linecap="round"><path vector-effect="non-scaling-stroke" d=""/>
  <path vector-effect="non-scaling-stroke" d="M1 1L2 2M3 3L3 3"/></svg>"""
TROUBLES = [
    ('model.get("count") + 1', "nowhere.count", SCRIPT, "press More: nowhere is not defined"),
    ("show();\n  el", "nowhere();\n  el", SCRIPT, "at first: .*nowhere is not defined"),
    ("", "", "press Less", "press Less: nothing is called 'Less'; the buttons are: More"),
    ("", "", "push More", "push More: no such line"),
    ("return () =>", "const off = () =>", "press More", "gone it still listens to 0 change:count"),
    ("  el", '  document.addEventListener("visibilitychange", show);\n  el', "", "to document vis"),
    ("  el.append(", f"{WIDGET}{TWICE}el.append(", "", "two things have the id x"),
    ("  el.append(", f"{WIDGET}el.innerHTML = `{BLOT}`; el.append(", "", "a blot .* 3L3 3[^;]*$"),
]


@pytest.mark.parametrize(("old", "new", "script", "said"), TROUBLES)
def test_what_no_widget_may_do_is_told_with_the_line(browser, old, new, script, said):
    with pytest.raises(pytest.fail.Exception, match=said):
        played(browser, old, new, script)


def test_the_page_of_a_script_is_there_for_whoever_works_on_it(capsys):
    main("cell", "")
    assert '<a href="/sorting">' in capsys.readouterr().out
    main("attention", "word")
    assert "Attention, seen whole" in capsys.readouterr().out
