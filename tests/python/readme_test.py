"""The examples of python/README.md, in their order; those for PyTorch and for a GPU where there is one."""

import contextlib
import importlib.util
import io
import re
import unittest
from pathlib import Path

import danaus

PAGE = (Path(__file__).resolve().parents[2] / "python/README.md").read_text()


def is_possible(block):
    if "# on a GPU" in block:
        return danaus.device_count() > 0 and importlib.util.find_spec("cupy") is not None
    return "torch" not in block or importlib.util.find_spec("torch") is not None


class Readme(unittest.TestCase):
    def test_examples_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 6)
        names, printed = {}, io.StringIO()
        for block in filter(is_possible, blocks):
            with self.subTest(block=block), contextlib.redirect_stdout(printed):
                exec(compile(block, "README.md", "exec"), names)
        self.assertIn("passed", printed.getvalue())
        self.assertNotIn("failed", printed.getvalue())

    def test_every_public_name_is_on_it(self):
        for name in set(danaus.__all__) - {"__version__"}:
            self.assertRegex(PAGE, rf"danaus\.{name}\b")


if __name__ == "__main__":
    unittest.main()
