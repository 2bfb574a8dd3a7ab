"""The workbench's table: what recorded layers came to, and what is said beside one of one's own."""

from functools import partial

import anywidget
import traitlets

from attn_notes.analysis import results
from attn_notes.cell.bench.told import RECORD
from attn_notes.cell.engine import FOLDERS
from attn_notes.widgets import _source

SHOW = """
const read = (layer) => ({ ...layer, above: layer.above.map((x) => x ?? Infinity) });
export default { render({ model, el }) {
  const show = () => {
    const { above, ahead } = { above: model.get("above"), ahead: model.get("ahead") };
    const ours = above.length && read({ name: "yours", rate: 0.01, weights: 6852, ahead, above });
    const layers = Object.entries(model.get("layers")).map(([name, of]) => read({ name, ...of }));
    el.replaceChildren(resultTable(ours || null, layers));
  };
  model.on("change", show);
  show();
} };
"""


class Compared(anywidget.AnyWidget):
    """The table, of the recorded layers of a task and of how far above the best ours ends."""

    _esm = _source.javascript("_bench_table", FOLDERS) + SHOW
    layers = traitlets.Dict().tag(sync=True)
    above = traitlets.List().tag(sync=True)
    ahead = traitlets.Bool(False).tag(sync=True)


def page(task: str) -> list[Compared]:
    return [Compared(layers=results.load(RECORD)["runs"][task])]


OURS = """
# lower than all in every pair; as the ordinary one; higher than all
js models[0].set("above", [1, 2, 3, 4, 5, 6, 7, 8].map((x) => x * 1e-6))
js models[0].set("above", models[0].get("layers").ordinary.above)
js models[0].set("above", [1, 2, 3, 4, 5, 6, 7, 8])
# seeds that are lost count as highest; one that reads ahead is compared with none
js models[0].set("above", [null, null, null, null, null, null, null, 1e-6])
js models[0].set("ahead", true)
"""
SCRIPTS = {
    task: (partial(page, task), OURS if task == "sorting" else "")
    for task in results.load(RECORD)["runs"]
}
