"""A hook of MkDocs: the page reference.md, from docstrings of python/danaus and comments of kernels/danaus.h."""

import ast
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# The modules whose __all__ is public, and the files that define its names.
MODULES = {"danaus": ("__init__", "convolution", "state", "plans", "rows", "selftest", "_library", "judging/candidates",
                      "judging/models"),
           "danaus.judging": ("judging/__init__", "judging/report"),
           "danaus.torch": ("torch", "_torch_*"), "danaus.nn": ("nn",), "danaus.flashfftconv": ("flashfftconv",)}
NAME = "reference.md"


def on_files(files, config):
    files.append(File.generated(config, NAME, content=page()))
    return files


def page():
    """Markdown; docstrings and comments stand as they are."""
    lines = ["# Reference", "", "## Python", ""]
    for module, files in MODULES.items():
        paths = [path for file in files for path in sorted((ROOT / "python/danaus").glob(f"{file}.py"))]
        bodies = [ast.parse(path.read_text(encoding="utf-8")).body for path in paths]
        public = next(ast.literal_eval(node.value) for node in bodies[0]
                      if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
        for node in (node for body in bodies for node in body):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public:
                lines += of_python(node, module)
    return "\n".join([*lines, "## C: `danaus.h`", "", *of_c((ROOT / "kernels/danaus.h").read_text(encoding="utf-8"))])


def of_python(node, module):
    """A public function, or a class with its public methods; nothing of one without a docstring."""
    text = ast.get_docstring(node)
    if not text:
        return []
    lines = [f"### `{module}.{node.name}`", "", "```python", signature(node), "```", "", "```text", text, "```", ""]
    for method in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
            lines += [f"**`{node.name}.{method.name}`**", "", "```python", signature(method), "```", "", "```text",
                      ast.get_docstring(method), "```", ""]
    return lines


def signature(node):
    if isinstance(node, ast.ClassDef):
        begin = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        return f"class {node.name}" + (f"({ast.unparse(begin[0].args)})" if begin else "")
    return f"def {node.name}({ast.unparse(node.args)})"


def of_c(text):
    """Each comment with the declarations that follow it."""
    body = text[text.index('extern "C" {'):text.rindex("#ifdef __cplusplus")].split("\n", 2)[2]
    blocks = [block.strip("\n").replace("DANAUS_API ", "") for block in re.split(r"\n\n+", body) if "danaus_" in block]
    return ["```c", "\n\n".join(blocks), "```", ""]
