#!/usr/bin/env python3
"""Draws the figures of docs/concepts.md as SVG beside this file: boxes, arrows and words, nothing measured."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREY, GREEN = "#cfe3f3", "#f9e2b3", "#e6e6e6", "#c9e9de"


class Drawing:
    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="14" role="img"><title>{title}</title>',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0L8 4L0 8z"/></marker></defs>', f'<rect width="{width}" height="{height}" fill="#fff"/>']

    def box(self, x, y, width, height, lines, fill):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" '
                          'stroke="#555"/>')
        lines = lines.split("\n")
        for i, line in enumerate(lines):
            self.words(x + width / 2, y + height / 2 + 5 + 17 * (i - (len(lines) - 1) / 2), line)

    def words(self, x, y, text, anchor="middle"):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#222">{text}</text>')

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="#222" fill="none" marker-end="url(#tip)"/>')

    def save(self, name):
        (HERE / name).write_text("\n".join([*self.parts, "</svg>"]) + "\n", encoding="utf-8")


def pair():
    drawing = Drawing(760, 150, "Two real rows are the real and the imaginary part of one complex sequence")
    drawing.box(10, 20, 130, 40, "row 1, real", BLUE)
    drawing.box(10, 90, 130, 40, "row 2, real", ORANGE)
    drawing.arrow(140, 40, 185, 68)
    drawing.arrow(140, 110, 185, 82)
    drawing.box(190, 50, 150, 50, "row 1 + i row 2\nN complex points", GREY)
    drawing.arrow(340, 75, 375, 75)
    drawing.box(380, 50, 180, 50, "FFT, times spectrum,\ninverse FFT", GREEN)
    drawing.arrow(560, 68, 605, 40)
    drawing.arrow(560, 82, 605, 110)
    drawing.box(610, 20, 140, 40, "real part: y 1", BLUE)
    drawing.box(610, 90, 140, 40, "imaginary part: y 2", ORANGE)
    drawing.save("pair.svg")


def right_angle():
    drawing = Drawing(760, 150, "One weighted row of L points holds the 2L points of the linear convolution")
    drawing.box(10, 55, 120, 40, "row, L real", BLUE)
    drawing.arrow(130, 75, 165, 75)
    drawing.box(170, 50, 150, 50, "times a^n,\na = exp(iπ / 2L)", GREY)
    drawing.arrow(320, 75, 355, 75)
    drawing.box(360, 50, 190, 50, "cyclic convolution of L\ncomplex points, over a^n", GREEN)
    drawing.arrow(550, 68, 595, 40)
    drawing.arrow(550, 82, 595, 110)
    drawing.box(600, 20, 150, 40, "real: y[0 .. L-1]", BLUE)
    drawing.box(600, 90, 150, 40, "imaginary: the tail", ORANGE)
    drawing.save("right_angle.svg")


def chain_and_exchange():
    drawing = Drawing(760, 250, "A chain stays in the registers of one warp; an exchange crosses shared memory")
    drawing.words(10, 24, "Chain: one warp, registers only", "start")
    for i, (text, fill) in enumerate([("load u", GREY), ("DFT", GREEN), ("DFT", GREEN), ("spectrum", BLUE),
                                      ("inverse", GREEN), ("inverse", GREEN), ("store y", GREY)]):
        drawing.box(10 + 106 * i, 36, 92, 40, text, fill)
        if i:
            drawing.arrow(106 * i - 4, 56, 106 * i + 9, 56)
    drawing.words(10, 124, "Exchange: a block of warps; data crosses shared memory once each way", "start")
    for i, (text, fill) in enumerate([("load u", GREY), ("DFT", GREEN), ("shared\nmemory", ORANGE),
                                      ("DFT,\nspectrum,\ninverse", GREEN), ("shared\nmemory", ORANGE), ("inverse", GREEN), ("store y", GREY)]):
        drawing.box(10 + 106 * i, 136, 92, 64, text, fill)
        if i:
            drawing.arrow(106 * i - 4, 168, 106 * i + 9, 168)
    drawing.words(10, 232, "Green: tensor cores. Orange: shared memory. Grey: device memory, once each way.", "start")
    drawing.save("chain_exchange.svg")


def witnesses():
    drawing = Drawing(760, 210, "One kernel source runs on the GPU and on the executor; a reference judges both")
    drawing.box(290, 10, 180, 40, "case (one token)", GREY)
    for i, (top, bottom, fill) in enumerate([
            ("reference", "truth in double", BLUE), ("executor", "checked, counted", GREEN), ("GPU", "timed", GREEN),
            ("model", "predicted time", ORANGE)]):
        x = 10 + 190 * i
        drawing.arrow(380, 50, x + 85, 88)
        drawing.box(x, 90, 170, 50, f"{top}\n{bottom}", fill)
        drawing.arrow(x + 85, 140, 380 + (i - 1.5) * 40, 168)
    drawing.box(230, 170, 300, 34, "one row: error, bound, work, times", GREY)
    drawing.save("witnesses.svg")


if __name__ == "__main__":
    pair()
    right_angle()
    chain_and_exchange()
    witnesses()
