"""README and docs/: links lead somewhere, sentences are short, and every page is in the navigation."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
FRAME = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md",
                                  "python/README.md")]
MOST_WORDS, MEAN_WORDS, README_WORDS = 40, 18, 25
README_LINES, README_BYTES = 200, 12 << 10


def prose(text):
    """The paragraphs of a page without code, tables, comments, headings and pictures; a list's items are paragraphs."""
    text = re.sub(r"^(```|~~~).*?^\1$", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "\n", text, flags=re.DOTALL)
    text = re.sub(r"^(#.*|\|.*|!\[.*\]\(.*\))$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text):
    """Each as a list of words. A colon ends one."""
    end = r"(?<!e\.g\.)(?<!i\.e\.)(?<! al\.)(?<=[.!?:])[\"'*)]*\s+"
    return [words for part in prose(text) for sentence in re.split(end, part)
            if (words := re.findall(r"[^\W_][\w'’./×²-]*", sentence))]


def anchors(path):
    """Of a page's headings, as GitHub and MkDocs make them of the words used here."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in [*FRAME, *DOCS]:
            text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
                if re.match(r"https?://", link):
                    continue
                with self.subTest(page=page.name, link=link):
                    name, _, anchor = link.partition("#")
                    target = (page.parent / name).resolve() if name else page
                    self.assertTrue(target.exists())
                    self.assertTrue(page not in DOCS or (ROOT / "docs") in target.parents, "MkDocs has docs/ alone")
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_sentences_are_short(self):
        for page in [*FRAME, *DOCS]:
            found = sentences(page.read_text(encoding="utf-8"))
            most = README_WORDS if page == ROOT / "README.md" else MOST_WORDS
            with self.subTest(page=page.relative_to(ROOT)):
                self.assertEqual([" ".join(words) for words in found if len(words) > most], [])
                self.assertEqual([" ".join(words) for words in found if words[0] in ("Of", "What", "That", "Those")], [])
                self.assertLessEqual(sum(map(len, found)) / len(found), MEAN_WORDS)

    def test_the_readme_is_short(self):
        text = (ROOT / "README.md").read_bytes()
        self.assertLessEqual(text.count(b"\n"), README_LINES)
        self.assertLessEqual(len(text), README_BYTES)

    def test_each_page_is_in_the_navigation(self):
        named = re.findall(r"\w[\w/.-]*\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
        made = ["reference.md"]  # by docs/reference.py, when MkDocs builds
        self.assertEqual(sorted(named), sorted([*made, *(page.relative_to(ROOT / "docs").as_posix() for page in DOCS)]))

    def number(self, file, pattern):
        found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"))
        self.assertTrue(found, f"{file} has another form: {pattern}")
        return found.groups()

    def test_every_file_has_the_same_version(self):
        version = self.number("CMakeLists.txt", r"project\(danaus VERSION ([\d.]+)")
        for file, pattern in (("vcpkg.json", r'"version": "([\d.]+)"'), ("CITATION.cff", r"(?m)^version: ([\d.]+)$"),
                              ("kernels/danaus.h", r'/\* "([\d.]+)" \*/\nDANAUS_API const char\* danaus_version'),
                              ("CHANGELOG.md", r"(?m)^## (\d+\.\d+\.\d+)")):
            with self.subTest(file):
                self.assertEqual(self.number(file, pattern), version)
        self.assertIn('input = "CMakeLists.txt"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    def test_numbers_are_those_of_the_sources(self):
        number = self.number
        measuring = (ROOT / "docs/measuring.md").read_text(encoding="utf-8")
        f64, f32, f16 = number("reference/bounds.cpp", r"f64 \? (\d+) : dtype == Dtype::f32 \? (\d+) : (\d+);")
        self.assertIn(f"**c** is {f16}, {f16}, {f32} and {f64}.", measuring)
        share, = number("reference/bounds.hpp", r"kUsualShare = ([\d.]+);")
        self.assertIn(f"more than {share} of its bound on Gaussian data", measuring)
        gain, = number("reference/bounds.cpp", r"std::min\(bound_l2, ([\d.]+) \+")
        self.assertIn(f"| {100 * float(gain):g} % plus the noise", measuring)
        plans, = number("python/danaus/_tensors.py", r"MOST_PLANS = (\d+)")
        self.assertRegex((ROOT / "docs/python.md").read_text(encoding="utf-8"), rf"The {plans}\s+plans that were used")
        limits = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
        states, = number("reference/state/state.hpp", r"kMostStates = (\d+);")
        self.assertIn(f"up to {states} states a channel", limits)
        factor, = number("reference/convolution/monarch.hpp", r"one is below 1 or above (\d+)")
        self.assertIn(f"factors {factor}", limits)
        taps, = number("reference/short/short.hpp", r"kMostTaps = (\d+);")
        for page in ("README.md", "docs/limits.md", "docs/tokens.md"):
            self.assertRegex((ROOT / page).read_text(encoding="utf-8"), rf"\b2 to {taps}\b")

    def test_long_sentences_and_lost_links_are_noticed(self):
        for text, counts in (("One two. Three `a b c` four:\n\n- five\n- six\n\n| a | b |\n", [2, 3, 1, 1]),
                             ("```sh\na b c\n```\nA [b c](d.md) e.g. f. g", [5, 1])):
            self.assertEqual([len(words) for words in sentences(text)], counts)
        self.assertIn("right-angle", anchors(ROOT / "docs" / "concepts.md"))


if __name__ == "__main__":
    unittest.main()
