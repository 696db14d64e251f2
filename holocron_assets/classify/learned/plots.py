"""How right a model is, as pictures: its calibration curve and its confusion matrix."""

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from holocron_assets.classify.learned.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 80
_DARK = 0.5
"""The share of a type's pages from which a cell is dark, and its number white."""


def calibration_picture(evaluation: Evaluation) -> bytes:
    """A PNG: the share of right answers for each tenth of probabilities, with the number of pages."""
    figure = _figure(4.8, 4.2)
    axes = figure.subplots()
    said, right, pages = zip(*evaluation.curve, strict=True)
    axes.plot([0, 1], [0, 1], color="lightgrey", linestyle="--")
    axes.plot(said, right, marker="o", color="tab:blue")
    for x, y, count in zip(said, right, pages, strict=True):
        axes.annotate(str(count), (x, y), xytext=(4, -10), textcoords="offset points", fontsize="x-small")
    axes.set_xlabel("probability that the model gives")
    axes.set_ylabel("share that is right")
    axes.set_xlim(0, 1.05)
    axes.set_ylim(0, 1.05)
    return _png(figure)


def confusion_picture(evaluation: Evaluation) -> bytes:
    """A PNG: pages by true type and by the model's answer; the colour is the share of the true type."""
    size = 2.4 + 0.42 * len(evaluation.types)
    figure = _figure(size + 0.6, size)
    axes = figure.subplots()
    counts = evaluation.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            colour = "white" if shares[row, column] > _DARK else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=colour, fontsize="x-small")
    places = range(len(evaluation.types))
    axes.set_xticks(places, evaluation.types, rotation=60, ha="right", fontsize="small")
    axes.set_yticks(places, evaluation.types, fontsize="small")
    axes.set_xlabel("the model's answer")
    axes.set_ylabel("settled as")
    return _png(figure)


def _figure(width: float, height: float) -> "Figure":
    # matplotlib takes a second to import, and only two assets draw.
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure(figsize=(width, height), dpi=_DOTS_PER_INCH, layout="constrained")


def _png(figure: "Figure") -> bytes:
    image = BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()
