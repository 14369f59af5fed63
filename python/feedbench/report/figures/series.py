"""Which colour, shape and dash a cell has: the same in every figure of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from feedbench.report import theme
from feedbench.report.reading import Cell
from feedbench.report.sentences import value_words

COPY_DASHES = {
    "sentinel": (4, 3),
    "control": (1, 4),
}  # dashes of the method's own copies; both are drawn in grey


@dataclass(frozen=True)
class Series:
    """The label of each cell, and the labels in the order in which they get their colours."""

    labels: Mapping[str, str]  # by cell id
    order: tuple[str, ...]
    copies: Mapping[str, str]  # label → "sentinel" or "control"

    @classmethod
    def of_targets(cls, cells: Sequence[Cell]) -> Series:
        """A colour for each target: for questions that compare targets."""
        return cls._of({cell.cell: cell.target for cell in cells}, cells)

    @classmethod
    def of_factor(cls, cells: Sequence[Cell], factor: str) -> Series:
        """A colour for each value of `factor`: for questions that compare these within one target."""
        words = factor.replace("_", " ")
        return cls._of(
            {cell.cell: f"{words} {value_words(cell.factors.get(factor))}" for cell in cells}, cells
        )

    @classmethod
    def _of(cls, labels: Mapping[str, str], cells: Sequence[Cell]) -> Series:
        own = tuple(dict.fromkeys(labels[cell.cell] for cell in cells if cell.copy is None))
        whole = {
            cell.cell: f"{labels[cell.cell]} ({cell.copy})" if cell.copy else labels[cell.cell]
            for cell in cells
        }
        return cls(whole, own, {whole[cell.cell]: cell.copy for cell in cells if cell.copy})

    def name(self, cell: Cell) -> str:
        """`node/ws`, or `node/ws (sentinel)`."""
        return self.labels[cell.cell]

    def colour(self, names: Sequence[str]) -> alt.Color:
        return alt.Color(
            "series:N", scale=alt.Scale(domain=list(names), range=[self._hue(name) for name in names])
        )

    def shape(self, names: Sequence[str]) -> alt.Shape:
        shapes = [theme.series_shape(self._place(name)) for name in names]
        return alt.Shape("series:N", scale=alt.Scale(domain=list(names), range=shapes))

    def dash(self, names: Sequence[str]) -> alt.StrokeDash:
        dashes = [self._dashes(name) for name in names]
        return alt.StrokeDash("series:N", scale=alt.Scale(domain=list(names), range=dashes))

    def _place(self, name: str) -> int:
        return self.order.index(name) if name in self.order else 0

    def _hue(self, name: str) -> str:
        return theme.EXTRA if name in self.copies else theme.series_colour(self._place(name))

    def _dashes(self, name: str) -> list[int]:
        copy = self.copies.get(name)
        return list(COPY_DASHES[copy]) if copy else theme.series_dash(self._place(name))
