import re
import xml.etree.ElementTree as ET

import pytest
import torch
from IPython.display import HTML

from attn_notes import figures


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*figures.COLOURS, figures.GREY])
@pytest.mark.parametrize("paper", ["#ffffff", "#14181e"])
def test_colours_stand_out_in_light_and_dark(colour: str, paper: str) -> None:
    assert contrast(colour, paper) >= 3  # WCAG 1.4.11, for graphics


def draw() -> str:
    with figures.figure(4.0, 2.0) as (fig, ax):
        ax.plot([0, 1], [1, 0], label="falling")
        ax.set(xlabel="step", title="<b>&")
        ax.legend()
        return figures.to_svg(fig, 'Loss "falls" & < stays')


def test_svg_carries_description_and_the_pages_colours() -> None:
    svg = draw()
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'Loss "falls" & < stays'
    assert "currentColor" in svg
    assert figures.INK not in svg and figures.PAPER not in svg
    assert "DejaVu" not in svg and "system-ui" in svg
    assert not re.search(r"fill: #(fff|ffffff|000|000000)\b", svg)


def test_the_same_figure_is_the_same_bytes() -> None:
    assert draw() == draw()


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_no_figure_without_alternative_text(alt: str) -> None:
    with figures.figure() as (fig, _), pytest.raises(ValueError, match="alternative text"):
        figures.show(fig, alt=alt)


def test_show_escapes_the_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[HTML] = []
    monkeypatch.setattr(figures, "display", shown.append)
    with figures.figure() as (fig, _):
        figures.show(fig, alt="a line", caption="1 < 2 & <script>")
    assert "<figcaption>1 &lt; 2 &amp; &lt;script&gt;</figcaption>" in shown[0].data


def test_band_draws_median_and_middle_half() -> None:
    curves = torch.arange(5.0).expand(3, 5)  # seeds 0 to 4, constant in time
    with figures.figure() as (_, ax):
        figures.band(ax, torch.arange(3), curves, "#0072b2")
        assert ax.lines[0].get_ydata().tolist() == [2, 2, 2]
        ys = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert (ys.min(), ys.max()) == (1, 3)


def test_heat_map_numbers_can_be_read_on_their_cells() -> None:
    with figures.figure() as (_, ax):
        figures.heat_map(ax, torch.tensor([[0.0, 1.0]]), x=["l", "r"], y=["row"], numbers=True)
        assert [(t.get_text(), t.get_color()) for t in ax.texts] == [
            (".00", "black"),
            ("1.00", "white"),
        ]
        figures.heat_map(ax, torch.tensor([[-2.0, 1.0]]), signed=True, frames=[(0, 1)])
        mesh = ax.collections[-1]
        assert (mesh.norm.vmin, mesh.norm.vmax) == (-2, 2)
        assert ax.patches[0].get_xy() == pytest.approx((1.08, 0.08))
