import base64
import html
import io
import itertools
import json
import re
import xml.etree.ElementTree as ET
from unittest.mock import Mock

import matplotlib as mpl
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.text import Text
from PIL import Image

from book.kit import figures

from .drawn import crowded, place
from .exercises import ROOT

LIGHT, DARK = "#ffffff", "#14181e"  # the pages' papers, as book/_static/book.css has them


def in_theme(css: str, dark: bool) -> str:
    """The colour that a fill or stroke of `figures.themed` is in one of the themes."""
    mixed = re.search(r"color-mix\(in srgb, (#?\w+), (#?\w+) var\(--attn-dark, 0%\)\)", css)
    colour = mixed[1 + dark] if mixed else re.search(r"#\w{6}", css)[0]
    return {"black": "#000000", "white": "#ffffff"}.get(colour, colour)


def test_contrast_is_that_of_wcag_and_the_papers_are_those_of_the_pages():
    assert figures.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=5e-3)
    assert figures.contrast("#ff0000", "#0000ff") == pytest.approx(2.15, abs=5e-3)
    sheet = (ROOT / "book" / "_static" / "book.css").read_text()
    assert re.findall(r"--book-paper: (#\w{6});", sheet) == [LIGHT, DARK]


@pytest.mark.parametrize("colour", [*figures.COLOURS, figures.GREY])
def test_lines_and_letters_stand_out_in_both_themes(colour):
    """WCAG 1.4.11 for graphics, 3 : 1, and 1.4.3 for text, 4.5 : 1."""
    with figures.figure() as (fig, ax):
        ax.text(0, 0, "word", color=colour)
        ax.plot([0, 1], color=colour, gid="line")
        svg = figures.to_svg(fig, "one word and one line")
    (word,) = re.findall(r"<text ([^>]*)>word", svg)
    (line,) = re.findall(r'<g id="line">.*?stroke: ([^;]*);', svg, re.S)
    for dark, paper in enumerate((LIGHT, DARK)):
        assert figures.contrast(in_theme(word, bool(dark)), paper) >= 4.5
        assert figures.contrast(in_theme(line, bool(dark)), paper) >= 3


@pytest.mark.parametrize("signed", [False, True])
def test_a_heat_map_is_dark_in_the_dark_and_its_numbers_can_be_read(signed):
    values = torch.linspace(-1 if signed else 0, 1, 21)[None]
    with figures.figure() as (fig, ax):
        figures.heat_map(ax, values, signed=signed, numbers=True)
        svg = figures.to_svg(fig, "a row of cells")
    numbers = re.findall(r"<text ([^>]*)>−?[\d.]+<", svg)
    cells = re.findall(r"<path d=[^>]*?fill: (color-mix[^;]*\)\))", svg)[-21:]
    assert len(numbers) == len(cells) == 21
    for cell, number in zip(cells, numbers, strict=True):
        for dark in (False, True):
            assert figures.contrast(in_theme(cell, dark), in_theme(number, dark)) >= 4.5
    zero = cells[10 if signed else 0]
    assert figures.contrast(in_theme(zero, True), DARK) < 1.3  # it does not glow
    assert figures.contrast(in_theme(zero, False), LIGHT) < 1.3


def test_labels_stand_at_the_ends_of_their_lines_and_not_over_one_another():
    with figures.figure() as (fig, ax):
        for name, end in (("high", 1.0), ("level", 0.5), ("also level", 0.5), ("low", 0.0)):
            ax.plot([0, 1], [0.2, end], label=name)
        labels = figures.label_lines(ax)
        fig.draw_without_rendering()
        boxes = [Text.get_window_extent(label) for label in labels]  # without their lines
        assert [label.get_text() for label in labels] == ["low", "level", "also level", "high"]
        for low, high in itertools.pairwise(boxes):
            assert low.y1 <= high.y0 + 0.5
        axes = ax.get_window_extent()
        assert all(axes.x1 < box.x0 and box.x1 <= fig.bbox.x1 + 0.5 for box in boxes)
        for box, y in ((boxes[0], 0), (boxes[-1], 1)):
            end = ax.transData.transform((1, y))[1]
            assert (box.y0 + box.y1) / 2 == pytest.approx(end, abs=0.03 * axes.height)


def test_what_says_nothing_is_refused():
    with figures.figure() as (fig, ax):
        ax.plot([0, 1])
        for label, where in ((figures.label_lines, ax), (figures.legend_below, fig)):
            with pytest.raises(ValueError, match="label"):
                label(where)
        for alt in ("", "  \n"):
            with pytest.raises(ValueError, match="alternative text"):
                figures.show(fig, alt=alt)
    assert not plt.fignum_exists(fig.number)


def test_words_that_cannot_be_read_or_are_no_number_are_seen():
    with figures.figure(4.0, 2.0) as (fig, ax):
        ax.plot([0, 1], [0.2, 0.2])
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
        for place, said in ((0.8, "plain"), (0.6, "nan nats"), (0.17, "crossed"), (0.4, "banana")):
            ax.text(0.3, place, said)
    assert crowded(fig) == ["'nan nats' is no number", "'crossed' lies on data"]


@pytest.mark.parametrize("letters", [2, 15, 60])
def test_a_legend_below_has_as_many_columns_as_fit(letters):
    with figures.figure(5.5, 3.0) as (fig, ax):
        for i in range(5):
            ax.plot([0, 1], [0, i], label=f"{i}" * letters)
        legend = figures.legend_below(fig)
        wider = fig.legend(
            *ax.get_legend_handles_labels(), loc="outside lower center", fontsize=10,
            handlelength=1.6, columnspacing=1.4, ncols=legend._ncols + 1,
        )  # fmt: skip
        fig.draw_without_rendering()
        wide, room = wider.get_window_extent().width, fig.bbox.width
        assert legend.get_window_extent().width <= room or legend._ncols == 1
        assert wide > room or legend._ncols == 5


def test_a_figure_says_how_wide_its_letters_need_it():
    with figures.figure(5.0, 2.0) as (fig, ax):
        ax.text(0, 0, "small", fontsize=6)  # 6 points of 360, which 5 inches are, become 9 pixels
        assert "--attn-least: 540px" in figures.to_svg(fig, "a small word")


def draw() -> str:
    with figures.figure(4.0, 2.0) as (fig, ax):
        ax.plot([0, 1], [1, 0], label="falling")
        ax.set(xlabel="step", title="<b>&")
        ax.legend()
        return figures.to_svg(fig, 'Loss "falls" & < stays')


def test_svg_carries_description_and_the_pages_colours():
    root = ET.fromstring(svg := draw())
    assert (root.get("role"), root.get("aria-label")) == ("img", 'Loss "falls" & < stays')
    assert "currentColor" in svg
    assert figures.INK not in svg and figures.PAPER not in svg
    assert "DejaVu" not in svg and "system-ui" in svg
    assert not re.search(r"fill: #(fff|ffffff|000|000000)\b", svg)


def test_a_figure_looks_the_same_whatever_the_readers_own_settings():
    expected, strange = draw(), {
        "text.usetex": True, "axes.facecolor": "red", "axes.grid": True, "font.family": ["serif"],
        "lines.linestyle": "--", "savefig.bbox": "tight", "svg.fonttype": "path",
    }  # fmt: skip
    with mpl.rc_context(strange):
        assert draw() == expected
        assert {name: mpl.rcParams[name] for name in strange} == strange  # and are theirs again


def test_show_escapes_the_caption(monkeypatch):
    monkeypatch.setattr(figures, "display", display := Mock())
    with figures.figure() as (fig, _):
        figures.show(fig, alt="a line", caption="1 < 2 & <script>, 9 %")
    page = display.call_args.args[0].html()
    assert "<figcaption>1 &lt; 2 &amp; &lt;script&gt;, 9&nbsp;%</figcaption>" in page


def test_a_picture_is_given_in_every_form_with_its_description():
    with figures.figure(5.0, 3.0) as (fig, ax):
        ax.plot([0, 1], color=figures.COLOURS[1])
        data, metadata = figures.Picture(fig, "Up", "One & one", 'a "line" up')._repr_mimebundle_()
    assert set(data) == {"text/html", "image/png", "text/plain"}
    assert data["text/plain"] == metadata["image/png"]["alt"] == 'a "line" up'
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.size == (550, 330)  # 110 an inch
    counts = picture.convert("RGB").getcolors()
    assert max(counts)[1] == (255, 255, 255)  # on white, whatever is around it
    assert (213, 94, 0) in {colour for _, colour in counts}  # #d55e00
    image = f'alt="a &quot;line&quot; up" src="data:image/png;base64,{data["image/png"]}"'
    assert image in data["text/html"]


def test_letters_of_a_picture_are_those_of_the_light_theme():
    """White on a dark cell, where a figure is drawn with a placeholder that is all but black."""
    with figures.figure(2.0, 2.0) as (fig, ax):
        figures.heat_map(ax, torch.ones(1, 1), numbers=True, size=30.0)
        ax.set_title("word", color=figures.OURS, fontsize=30)
        before = [text.get_color() for text in fig.findobj(Text)]
        picture = Image.open(io.BytesIO(figures.to_png(fig))).convert("RGB")
        assert [text.get_color() for text in fig.findobj(Text)] == before
    assert (10, 101, 159) in {colour for _, colour in picture.getcolors()}  # #0a659f
    in_the_cell = picture.crop((80, 100, 140, 160)).getcolors()
    assert {(42, 48, 56), (255, 255, 255)} <= {colour for _, colour in in_the_cell}  # #2a3038


def test_what_cleans_html_leaves_the_picture_and_hides_the_words():
    """As JupyterLab cleans it: no styles, no SVG, but whatever was written in them."""
    with figures.figure() as (fig, ax):
        ax.plot([0, 1])
        page = figures.Picture(fig, "Up", "One line.", "a line").html()
    cleaned = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    cleaned = re.sub(r"</?(svg|g|path|text|defs|use|clipPath|rect)\b[^>]*>", "", cleaned)
    live = r'<div class="attn-live" hidden style="display: none">(.*?)</div>'
    (hidden,) = re.findall(live, cleaned, re.S)
    left = re.sub(r"<div .*?</div>|<img [^>]*>", "", cleaned, flags=re.S)
    assert "0.0" in hidden  # a number at an axis
    assert re.sub(r"<[^>]*>", " ", left).split() == ["Up", "One", "line."]
    assert "<img " in cleaned


# Linear maps of linear RGB that show what a dichromat sees: Machado, Oliveira and Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.
VISION = {
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(colour: str, vision: list[list[float]] | None) -> torch.Tensor:
    rgb = torch.tensor([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]).double()
    rgb = torch.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if vision:
        rgb = (torch.tensor(vision).double() @ rgb).clamp(0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = torch.tensor(to_xyz).double() @ rgb / torch.tensor([0.9505, 1.0, 1.089]).double()
    f = torch.where(xyz > 0.008856, xyz ** (1 / 3), 7.787 * xyz + 16 / 116)
    return torch.stack([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", [None, *VISION])
def test_every_two_colours_can_be_told_apart(vision):
    seen = [lab(colour, VISION[vision] if vision else None) for colour in figures.COLOURS]
    assert torch.pdist(torch.stack(seen)).min() >= 10  # ΔE of 1976; 2.3 can just be noticed


# What is a reader's own, drawn by the page


def test_a_figure_says_where_its_axes_are():
    """Its own lines lie where the page would draw them, in every axes and on every scale."""
    x, y = [1.0, 7.0, 30.0], [0.2, 5.0, 1.3]
    with figures.figure(5.5, 2.5, columns=2) as (fig, axes):
        for ax, scale in zip(axes, ("linear", "log"), strict=True):
            ax.plot(x, y, color=figures.OURS)
            ax.set(xscale=scale, yscale=scale, xlim=(0.5, 40), ylim=(9, 0.1), xlabel="step")
    yours = [figures.Yours(ax, {"kind": "name"}, series="loss") for ax in axes]
    svg = figures.Picture(fig, "", "", "two curves", lesson="trm", yours=yours).html()
    curves = re.findall(r'<path d="([^"]*)"[^>]*stroke: color-mix\(in srgb, #0072b2', svg)
    assert len(curves) == 2
    (axes,) = re.findall(r'data-axes="([^"]*)"', svg)
    for curve, each in zip(curves, json.loads(html.unescape(axes)), strict=True):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", curve)]
        assert numbers[::2] == pytest.approx([place(each["x"], v) for v in x], abs=0.05)
        assert numbers[1::2] == pytest.approx([place(each["y"], v) for v in y], abs=0.05)
        assert each["runs"] == {"kind": "name"} and each["series"] == "loss"
    assert 'data-listens="trm"' in svg


def test_a_figure_listens_to_a_lesson_or_to_nobody():
    with figures.figure() as (fig, ax):
        ax.plot([0, 1])
    assert "data-listens" not in figures.Picture(fig, "", "", "a line").html()
    for given in ({"lesson": "trm"}, {"yours": [figures.Yours(ax)]}):
        with pytest.raises(ValueError, match="names a lesson"):
            figures.Picture(fig, "", "", "a line", **given)
