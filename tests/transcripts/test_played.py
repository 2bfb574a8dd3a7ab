"""What no widget may do, tried on a small one; what widgets do, all transcripts tell."""

import anywidget
import pytest
import traitlets

from .__main__ import main
from .played import transcript

COUNTER = """
export default { render({ model, el }) {
  const shown = document.createElement("p");
  const button = document.createElement("button");
  button.textContent = "More";
  const show = () => { shown.textContent = model.get("count"); };
  button.onclick = () => { model.set("count", model.get("count") + 1); };
  model.on("change:count", show);
  show();
  el.append(shown, button);
  return () => model.off("change:count", show);
} };
"""
WIDGET = '  el.className = "attn-widget"; '
BLOT = """<svg stroke-linecap="round"><path vector-effect="non-scaling-stroke" d=""/>
  <path vector-effect="non-scaling-stroke" d="M1 1L2 2M3 3L3 3"/></svg>"""
TROUBLES = [
    ('model.get("count") + 1', "nowhere.count", "press More", "press More: nowhere is not defined"),
    ("show();\n  el", "nowhere();\n  el", "", "at first: .*nowhere is not defined"),
    ("", "", "press Less", "press Less: nothing is called 'Less'; the buttons are: More"),
    ("", "", "push More", "push More: no such line"),
    ("return () =>", "const off = () =>", "press More", "gone it still listens to 0 change:count"),
    ("  el", '  document.addEventListener("visibilitychange", show);\n  el', "", "to document vis"),
    ("  el.append(", f'{WIDGET}shown.id = button.id = "x"; el.append(', "", "have the id x"),
    ("  el.append(", f"{WIDGET}el.innerHTML = `{BLOT}`; el.append(", "", "a blot .* 3L3 3[^;]*$"),
]


@pytest.mark.parametrize(("old", "new", "script", "said"), TROUBLES)
def test_what_no_widget_may_do_is_told_with_the_line(browser, old, new, script, said):
    class Counter(anywidget.AnyWidget):
        _esm = COUNTER.replace(old, new) if old else COUNTER
        count = traitlets.Int(0).tag(sync=True)

    assert old in COUNTER
    with pytest.raises(pytest.fail.Exception, match=said):
        list(transcript(browser, [Counter()], script))


def test_the_page_of_a_script_is_there_for_whoever_works_on_it(capsys):
    main("cell", "")
    main("attention", "word")
    said = capsys.readouterr().out
    assert '<a href="/sorting">' in said and "Attention, seen whole" in said
