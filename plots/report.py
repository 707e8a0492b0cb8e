"""The report: one HTML page that needs nothing else, with every figure and table and the question that it answers."""

import base64
import html
from dataclasses import dataclass, field

from results import Results


@dataclass
class Table:
    columns: list
    rows: list  # of cells; a row of a single cell is a heading for those below it
    verdict: str = ""
    good: bool = True  # colour of the verdict
    details: "Table | None" = None  # a longer table behind a click
    details_title: str = ""


@dataclass
class Section:
    """One entry of figures.toml with what was made of it."""
    entry: dict
    results: object
    table: "Table | None" = None
    figure: object = None
    svg: bytes = field(default=b"", repr=False)


STYLE = """
:root { color: #1a1a1a; background: #fff; font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
body { max-width: 64rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .25rem; }
p { margin: .4rem 0; } .question { font-size: 1.05rem; } .small { color: #595959; font-size: .85rem; }
.wide { overflow-x: auto; margin: .75rem 0; } .wide img { display: block; width: 100%; min-width: 40rem; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; vertical-align: top; border-bottom: 1px solid #ddd; }
thead th { border-bottom: 2px solid #1a1a1a; vertical-align: bottom; } tbody th { padding-top: .8rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } td.long { min-width: 11rem; }
td.token { min-width: 18rem; font: .75rem/1.6 ui-monospace, "DejaVu Sans Mono", monospace; }
.good { color: #006b4e; font-weight: bold; } .bad { color: #a33c00; font-weight: bold; }
summary { cursor: pointer; padding: .4rem 0; } nav a { display: inline-block; margin-right: 1rem; }
a { color: #00558a; }
"""


def page(sections):
    """The whole page as text."""
    verdicts = "".join(verdict(section.table) for section in sections if section.table)
    links = "".join(f'<a href="#{escape(s.entry["id"])}">{escape(s.entry["title"])}</a> ' for s in sections)
    body = "".join(map(show, sections))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Danaus: report</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Danaus: long convolutions on tensor cores</h1>
{verdicts}
<nav class="small">{links}<a href="#sources">Sources</a></nav>
{body}
<h2 id="sources">Sources</h2>
<p class="question">Which files, program and machine does this page come from?</p>
{table_html(sources(sections))}
</body>
</html>
"""


def show(section):
    entry = section.entry
    parts = [f'<h2 id="{escape(entry["id"])}">{escape(entry["title"])}</h2>',
             f'<p class="question">{escape(entry["question"])}</p>',
             f'<p>Expected: {escape(entry["claim"])}</p>']
    if section.svg:
        data = base64.b64encode(section.svg).decode()
        picture = f'<img alt="{escape(entry["title"])}" src="data:image/svg+xml;base64,{data}">'
        parts.append(f'<div class="wide">{picture}</div>')
    if section.table:
        parts += [verdict(section.table), table_html(section.table)]
        if section.table.details:
            parts.append(f"<details><summary>{escape(section.table.details_title)}</summary>"
                         f"{table_html(section.table.details)}</details>")
    paper = "" if entry["paper"] == "none" else f'Reproduces {escape(entry["paper"])} of Fu et al. 2023. '
    parts.append(f'<p class="small">{paper}From {escape(section.results.footer())}</p>')
    return "<section>" + "".join(parts) + "</section>\n"


def verdict(table):
    return f'<p class="{"good" if table.good else "bad"}">{escape(table.verdict)}</p>' if table.verdict else ""


def table_html(table):
    lines = [row for row in table.rows if len(row) > 1]
    numeric = [all(is_number(row[i]) for row in lines) for i in range(len(table.columns))]
    head = "".join(f'<th class="{"number" if right else ""}">{escape(column)}</th>'
                   for column, right in zip(table.columns, numeric))
    heading = '<th colspan="{}">{}</th>'
    body = "".join("<tr>" + ("".join(map(cell_html, row, numeric)) if len(row) > 1 else
                             heading.format(len(table.columns), escape(row[0]))) + "</tr>" for row in table.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell_html(value, in_numeric_column):
    text = str(value)
    if text == "failed":
        return '<td class="bad">failed</td>'
    if text.startswith("fftconv_"):
        # A token may break at its fields, so that a table fits on a phone.
        return f'<td class="token">{escape(text).replace("_", "_<wbr>")}</td>'
    kind = "number" if in_numeric_column else "long" if len(text) > 40 else ""
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def is_number(value):
    """Whether a cell belongs in a column of numbers; an empty one does."""
    try:
        float(value or 0)
    except ValueError:
        return False
    return True


def sources(sections):
    """One line for each result file."""
    rows, seen = [], set()
    for source in (source for section in sections for source in section.results.sources):
        if source.path in seen:
            continue
        seen.add(source.path)
        of_file = Results([source], source.rows)
        hosts = "; ".join(", ".join(f"{key} {value}" for key, value in host.items())
                          for host in of_file.distinct("host"))
        commands = "; ".join(" ".join(map(str, argv)) for argv in of_file.distinct("argv"))
        rows.append([source.path.name, len(source.rows), of_file.revision(), source.digest, hosts, commands])
    return Table(["file", "rows", "revision", "sha256", "host", "command"], rows)


def escape(text):
    return html.escape(str(text), quote=True)
