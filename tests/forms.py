"""Every step of a trace stands in every form with the same digits.

usage: forms.py QKV EXAMPLE...

Each form is read by a small reader written here, and compared with "shown" of the JSON form.
"""
import csv
import io
import json
import re
import subprocess
import sys

INFINITIES = {"-inf": "−∞", "inf": "∞"}


def output(qkv, example, form, *more):
    command = [qkv, "trace", example, "--detail", "full", "--lang", "en", "-q", "-f", form, *more]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def expected(qkv, example):
    trace = json.loads(output(qkv, example, "json"))
    return {step["id"]: step["shown"] for kind in ("given", "steps", "asides") for step in trace[kind]}


def without_sums(steps, shown):
    """The column of row sums is not part of a step."""
    return {name: [row[: len(shown[name][0])] for row in rows] if name in shown else rows
            for name, rows in steps.items()}


def read_csv(text):
    steps = {}
    for block in text.split("\n\n"):
        head, *rows = csv.reader(io.StringIO(block))
        steps[head[0]] = [[csv_cell(cell) for cell in row[1:]] for row in rows]
    return steps


def csv_cell(cell):
    """The apostrophe keeps a spreadsheet from taking -v1 + v2 for a formula."""
    return INFINITIES.get(cell, cell[1:] if cell.startswith("'") else cell)


def read_markdown(text):
    """The line of shapes names the step whose table follows."""
    steps, name, rows = {}, None, []
    for line in text.split("\n"):
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            rows.append([re.sub(r"\\(.)", r"\1", cell) for cell in cells])
            continue
        if rows and name:
            first = 1 if rows[1][0] == ":--" else 0
            steps[name] = [row[first:] for row in rows[2:]]
        rows = []
        shapes = re.match(r"(\S+) \(\d+×\d+\)", re.sub(r"\\(.)", r"\1", line))
        name = shapes.group(1) if shapes else name
    return steps


def read_latex(text):
    steps, name, rows = {}, None, None
    for line in text.split("\n"):
        plain = re.sub(r"\\([_#$%&{}])", r"\1", line)
        shapes = re.match(r"(\S+) \(\d+\$\\times\$\d+\)", plain)
        name = shapes.group(1) if shapes else name
        if line.startswith("\\begin{tabular}"):
            rows, labels, heads = [], "{l" in line, 0
        elif line == "\\end{tabular}":
            steps[name] = rows[heads:]
            rows = None
        elif line == "\\midrule":
            heads = 1
        elif rows is not None and line.endswith(" \\\\"):
            cells = line[:-3].split(" & ")[1 if labels else 0:]
            rows.append([latex_number(cell) for cell in cells])
    return steps


def latex_number(cell):
    text = re.fullmatch(r"\$\\text\{(.*)\}\$", cell)
    if text:
        return re.sub(r"\\([_#$%&{}])", r"\1", text.group(1).replace("$\\cdot$", "·"))
    return cell.strip("$").replace("-\\infty", "−∞").replace("\\infty", "∞").replace("\\cdot ", "*")


FORMS = [("csv", read_csv), ("md", read_markdown), ("latex", read_latex)]


def main(qkv, examples):
    compared, faults = 0, []
    for example in examples:
        shown = expected(qkv, example)
        for form, read in FORMS:
            found = without_sums(read(output(qkv, example, form)), shown)
            compared += len(shown)
            for name, rows in shown.items():
                if found.get(name) != rows:
                    faults.append(f"{example} as {form}: {name}: {found.get(name)} instead of {rows}")
    print("\n".join(faults[:20]))
    print(f"{len(examples)} examples, {len(FORMS)} forms, {compared} steps compared, {len(faults)} differ")
    return bool(faults) or compared == 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
