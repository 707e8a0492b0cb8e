"""Points of the report: their data, and, where there is a browser, that they answer; and the tables beside them."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import rows  # noqa: F401  first: it makes plots/ importable
import points
from jinja2 import Environment, FileSystemLoader
from report import TEMPLATES
from tables import sparsity as tables

# What a reader sees after each of these: whether a point is shown at once, after a click beside the fastest one, and
# after a key. Written into the page, where the test looks for it.
PROBE = """<script>
const root = document.querySelector(".points"), svg = root.querySelector("svg"), chosen = root.querySelector(".chosen");
const said = [chosen.textContent], circles = [...svg.querySelectorAll("circle")].slice(0, -1);
const box = svg.getBoundingClientRect(), part = box.width / 720;
const press = (circle, type) => svg.dispatchEvent(new PointerEvent("pointerdown", {pointerType: type,
  clientX: box.left + (+circle.getAttribute("cx") + 3) * part,
  clientY: box.top + (+circle.getAttribute("cy") + 2) * part}));
press(circles[4], "mouse");
said.push(chosen.textContent);
svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left, clientY: box.top}));
said.push(chosen.textContent);
press(circles[1], "touch");
said.push(chosen.textContent);
press(circles[4], "touch");
svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
said.push(chosen.textContent, String(circles.length));
document.body.innerHTML = "";
const result = document.createElement("pre");
result.id = "said", result.textContent = JSON.stringify(said);
document.body.append(result);
</script>"""


def fragment(data):
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    return environment.get_template("points.html").render(name="a-points", data=data)


class TablesTest(unittest.TestCase):
    def test_best_is_the_fastest_that_is_near_enough(self):
        table = tables.best(rows.explore_rows())
        self.assertEqual([(line[0], line[2]) for line in table.rows],
                         [("80", "zero8x0"), ("60", "zero8x0"), ("50", "zero8x0"), ("40", "keep0to63"),
                          ("30", "keep0to63"), ("20", "keep0to63"), ("10", "blocks16x1h8003")])
        self.assertIn("1.25 times as fast", table.verdict)
        self.assertEqual(len(table.details.rows), 3)

    def test_table9_has_both_readings_beside_the_paper(self):
        lines = tables.table9(rows.table9_rows()).rows
        self.assertEqual(len(lines), 7)
        self.assertEqual(lines[1], ["16,0,0,0", 50, "2.91", "1.2", "50.0", "6.0", "2.00", "50.0", "no loss", "1.00",
                                    ""])
        self.assertEqual(lines[5][4:], [""] * 7)
        self.assertEqual(lines[6], ["0,0,0,48", *[""] * 6, "50.0", "20.0", "1.25", "1.68"])

    def test_table9_slices_single_rows_and_mirrors_pairs(self):
        alone = {**rows.table9_rows()[0], "us": 40, "dense_case": "fftconv_f16_circular_l2097152_b1_h768_plain_r64x32x32x32"}
        for order in ([alone, *rows.table9_rows()], [*rows.table9_rows(), alone]):
            self.assertEqual(tables.table9(order).rows[1][6], "2.50")

    def test_table7_says_what_needs_weights(self):
        lines = tables.table7([rows.partial_row(256, 550, 12.5), rows.partial_row(8192, 600, None)]).rows
        self.assertEqual(lines[0][:4], [8192, 13.8, 32.5, "needs weights"])
        self.assertEqual(lines[1][-1], "12.5")


class PointsTest(unittest.TestCase):
    data = points.sparsity(rows.explore_rows())

    def test_are_those_of_the_rows(self):
        self.assertEqual([self.data["points"][i]["us"] for i in self.data["front"]], [40, 80, 90])
        self.assertEqual(self.data["points"][self.data["front"][self.data["start"]]]["mask"], "keep0to63")
        self.assertEqual(self.data["points"][0]["kept"], "ff80")
        self.assertEqual(self.data["points"][0]["errors"], "no loss on gaussian")
        self.assertIn("50.0 % of the matrix instructions", self.data["points"][0]["left"])

    def test_page_holds_its_data_and_needs_nothing_else(self):
        page = fragment({**self.data, "title": "</script><b>"})
        self.assertNotIn("</script><b>", page)
        self.assertIsNone(re.search(r"(src|href)=|http", page))
        held = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1]
        self.assertEqual(json.loads(held)["points"], self.data["points"])

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_nearest_point_and_ticks(self):
        script = (TEMPLATES / "points.js").read_text() + """
console.log(JSON.stringify([nearest([[0, 0], [10, 0], [0, 10]], 8, 1), nearest([[0, 0], [10, 0], [0, 10]], 1, 9),
  ticks(0, 100), ticks(3, 3).length, scale(0, 10, 100, 200)(5)]))"""
        said = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
        self.assertEqual(json.loads(said), [1, 2, [0, 20, 40, 60, 80, 100], 1, 150])

    @unittest.skipUnless(shutil.which("chromium"), "no chromium")
    def test_answer_to_mouse_finger_and_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            page.write_text(f"<!doctype html><meta charset='utf-8'><body>{fragment(self.data)}{PROBE}</body>")
            done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                                   f"--user-data-dir={folder}/user", "--dump-dom", page.as_uri()],
                                  capture_output=True, text=True, timeout=240)
        found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
        self.assertIsNotNone(found, done.stdout + done.stderr)
        at_once, clicked, moved, touched, key, count = json.loads(found[1])
        self.assertEqual(count, "5")
        self.assertIn("keep0to63", at_once)
        self.assertIn("danaus verify --case fftconv_f16_circular_l256_b2_h4_pair_r16x16_keep0to63", at_once)
        self.assertIn("greedy: blocks16x1h8003", clicked)
        self.assertEqual(moved, clicked)  # a click holds it
        self.assertIn("grid (a, b, ...): zero8x8", touched)
        self.assertIn("low-pass: keep0to63", key)  # the next on the front


if __name__ == "__main__":
    unittest.main()
