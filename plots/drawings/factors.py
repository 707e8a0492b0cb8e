"""The matrices of a Monarch decomposition."""

import functools
import math
import textwrap

import numpy as np
import style
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from results import Refusal

MOST_IN_A_LINE, MOST_IN_A_NARROW_LINE = 7, 3
NAME_WIDTH = 15  # characters of a matrix's name in one line
MOST_ELEMENTS = 1 << 24  # of a matrix that can be drawn


def sparsity(figure, rows):
    """Lines of pictures for each case, a picture for each matrix and for the product of all: zeros white, other values
    coloured by their phase."""
    most = MOST_IN_A_NARROW_LINE if figure.is_narrow() else MOST_IN_A_LINE
    lines = []  # a heading, or pictures as (name, values)
    for row in rows:
        matrices = [(matrix["name"], dense(matrix)) for matrix in row["matrices"]]
        matrices.append(("product of all", product([values for _, values in matrices])))
        heading = [row["case"], "applied from left to right"]
        lines += [(",\n" if figure.is_narrow() else ", ").join(heading), *even_parts(matrices, most)]
    grid = figure.add_gridspec(len(lines), max(len(line) for line in lines if isinstance(line, list)),
                               height_ratios=[1 if isinstance(line, list) else 0.1 for line in lines])
    all_axes = []
    for i, line in enumerate(lines):
        if isinstance(line, str):
            all_axes.append(figure.add_subplot(grid[i, :]))
            all_axes[-1].axis("off")
            all_axes[-1].text(0, 0, line, fontsize=10, color=style.GREY)
            continue
        for j, (name, values) in enumerate(line):
            all_axes.append(figure.add_subplot(grid[i, j]))
            picture(all_axes[-1], values)
            wrapped = textwrap.wrap(name.replace("stage ", "stage\u00a0"), NAME_WIDTH)
            all_axes[-1].set_title("\n".join(wrapped), fontsize=10)
    bar = figure.colorbar(ScalarMappable(Normalize(-math.pi, math.pi), style.PHASE), ax=all_axes, location="bottom",
                          shrink=0.5, aspect=40, ticks=[-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi])
    bar.set_ticklabels(["−π", "−π/2", "0", "π/2", "π"])
    bar.set_label("phase of the value (rad)")


def even_parts(matrices, most):
    """The list cut into the fewest parts that fit in a line, of about equal length."""
    count = math.ceil(len(matrices) / most)
    size = math.ceil(len(matrices) / count)
    return [matrices[start:start + size] for start in range(0, len(matrices), size)]


def dense(matrix):
    rows, columns = matrix["rows"], matrix["columns"]
    if not 0 < rows * columns <= MOST_ELEMENTS:
        raise Refusal(f"factors: {matrix['name']} has {rows} x {columns} elements, must be 1 to {MOST_ELEMENTS} in all")
    values = np.zeros((rows, columns), complex)
    for i, j, real, imaginary in matrix["nonzeros"]:
        if not (0 <= i < rows and 0 <= j < columns):
            raise Refusal(f"factors: {matrix['name']} has an element at {i}, {j}, must be within {rows} x {columns}")
        values[i, j] = complex(real, imaginary)
    return values


def product(matrices):
    """Of matrices in the order in which they are applied."""
    return functools.reduce(lambda applied, matrix: matrix @ applied, matrices)


def picture(axes, values):
    nonzero = np.abs(values) > 1e-9 * np.abs(values).max()
    pixels = style.PHASE((np.angle(values) + math.pi) / (2 * math.pi))
    pixels[~nonzero] = 1
    axes.imshow(pixels, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set(visible=True, color=style.GREY, linewidth=0.8)
    axes.set_xlabel(f"{nonzero.sum()} of {nonzero.size}\nare not zero", fontsize=8.5)
