"""Exports every example to every language and runs what was written: each script must end well, and one whose
numbers were changed must end with 1 and name the step.  A spreadsheet must compute what the trace holds.

    python3 tests/export.py QKV FILE...

Only what is installed is run; what is not is named.  All scripts of a language run in one process, which is what
makes this quick; a few run on their own, for their exit status.
"""

import contextlib
import csv
import importlib.util
import io
import json
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings

qkv, *files = sys.argv[1:]
faults = []
skipped = []


def export(path, to, output, *options):
    subprocess.run([qkv, "export", path, "--to", to, "-q", "--lang", "en", "-o", output, *options], check=True)


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def scripts(to, ending):
    written = []
    for path in files:
        for detail in ("steps", "full"):
            output = os.path.join(work, f"{stem(path)}-{detail}-{to}{ending}")
            export(path, to, output, "--detail", detail)
            written.append(output)
    return written


def run_python(path):
    """What the script prints, and its exit status."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        return out.getvalue(), end.code
    return out.getvalue(), 0


def check_python(to):
    written = scripts(to, ".py")
    warnings.simplefilter("error")  # a warning would stand beside the result
    for path in written:
        try:
            out, status = run_python(path)
        except Exception as fault:
            out, status = repr(fault), "an exception"
        if status != 0 or not re.fullmatch(r"all \d+ steps agree\n", out):
            faults.append(f"{os.path.basename(path)}: {status}: {out[:300]}")
    return written


def check_octave():
    written = scripts("octave", ".m")
    whole = os.path.join(work, "all_of_them.m")
    with open(whole, "w") as file:
        file.writelines(f'source("{path}");\n' for path in written)
    end = subprocess.run(["octave-cli", "-qf", "--no-history", whole], capture_output=True, text=True)
    agreeing = re.findall(r"^all \d+ steps agree$", end.stdout, re.M)
    if end.returncode != 0 or len(agreeing) != len(written):
        at = os.path.basename(written[min(len(agreeing), len(written) - 1)])
        faults.append(f"{at}: {end.returncode}: {end.stdout[-300:]}{end.stderr[-300:]}")
    return written


def check_status(command, path):
    """As a user runs it: 0 and one line; 1 and the step's name after a number was changed."""
    end = subprocess.run([*command, path], capture_output=True, text=True)
    if end.returncode != 0 or not end.stdout.startswith("all "):
        faults.append(f"{path}: status {end.returncode}: {end.stdout}{end.stderr}")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    changed = re.sub(r'(check\("scores", scores, \[+)1', r"\g<1>1.00001", text)
    assert changed != text
    with open(path, "w", encoding="utf-8") as file:
        file.write(changed)
    end = subprocess.run([*command, path], capture_output=True, text=True)
    if end.returncode != 1 or not end.stdout.startswith("differs:\nscores\n"):
        faults.append(f"{path}, changed: status {end.returncode}: {end.stdout}{end.stderr}")


# A value of 1e-14 has digits too; and what is left of equal numbers is rounding, in whatever order they are added.
SMALL = "scale = none\n[Q]\n1e-9\n[K]\n1\n[V]\n1e-14\n"
CANCELLING = """scale = none
gradient = yes
[Q]
0.1 0.7 0.3
[K]
0.2 0.3 0.5
0.3 0.1 0.6
[V]
0.1 0.3
0.1 0.3
[d.output]
0.7 0.9
"""


def check_digits(command, to, ending):
    small, cancelling = (os.path.join(work, f"{name}-{to}{ending}") for name in ("small", "cancelling"))
    for output, problem in ((small, SMALL), (cancelling, CANCELLING)):
        end = subprocess.run([qkv, "export", "-", "--to", to, "-q", "-o", output, "--detail", "full"], input=problem, text=True)
        assert end.returncode == 0
        end = subprocess.run([*command, output], capture_output=True, text=True)
        if end.returncode != 0:
            faults.append(f"{output}: status {end.returncode}: {end.stdout}{end.stderr}")
    with open(small, encoding="utf-8") as file:
        text = file.read()
    changed = re.sub(r'(check\("output", output, \[+)1e-14', r"\g<1>1.00000001e-14", text)
    assert changed != text
    with open(small, "w", encoding="utf-8") as file:
        file.write(changed)
    end = subprocess.run([*command, small], capture_output=True, text=True)
    if end.returncode != 1 or not end.stdout.startswith("differs:\noutput\n"):
        faults.append(f"{small}, changed: status {end.returncode}: {end.stdout}{end.stderr}")


# As a user's import does it with "Evaluate formulas" ticked: separator, quote, UTF-8, from line 1.
IMPORT = "CSV:44,34,76,1,,0,false,true,false,false,false,-1,true"


def check_spreadsheets(office):
    """The numbers that LibreOffice makes of the formulas, beside those of the trace."""
    for path in files:
        export(path, "csv", os.path.join(work, stem(path) + ".csv"), "--detail", "full")
    computed = os.path.join(work, "computed")
    sheets = [os.path.join(work, stem(path) + ".csv") for path in files]
    profile = "-env:UserInstallation=file://" + os.path.join(work, "profile")
    command = [office, profile, "--headless", "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"]
    subprocess.run([*command, "--infilter=" + IMPORT, "--outdir", computed, *sheets], check=True, capture_output=True)
    cells = 0
    for path, sheet in zip(files, sheets):
        options = ["-q", "-f", "json", "--detail", "full", "--round", "exact"]
        trace = subprocess.run([qkv, "trace", path, *options], capture_output=True, check=True)
        steps = {step["id"]: step for part in ("given", "steps", "asides") for step in json.loads(trace.stdout)[part]}
        with open(sheet, newline="", encoding="utf-8-sig") as file:
            written = list(csv.reader(file))
        with open(os.path.join(computed, os.path.basename(sheet)), newline="", encoding="utf-8-sig") as file:
            found = list(csv.reader(file))
        at = 0
        while at < len(written):
            step, labels = written[at][0], written[at + 1][1:]
            rows = steps.pop(step)["values"]
            for i, row in enumerate(rows):
                for j, label in enumerate(labels):
                    want = row[j * len(row) // len(labels)]
                    if isinstance(want, dict):  # a symbolic cell: "2 · v0"
                        want = want.get(label.split(" · ")[1], 0)
                    cells += 1
                    if not is_near(found[at + 2 + i][1 + j], float(want)):
                        faults.append(f"{os.path.basename(sheet)}: {step}: {found[at + 2 + i][1 + j]}, not {want}")
            at += 3 + len(rows)
        if steps:
            faults.append(f"{os.path.basename(sheet)}: lacks {', '.join(steps)}")
    return cells


def is_near(text, want):
    special = {"−∞": -math.inf, "∞": math.inf, "nan": math.nan}
    try:
        found = special[text] if text in special else float(text)
    except ValueError:
        return False
    if not math.isfinite(want):
        return found == want or (math.isnan(found) and math.isnan(want))
    return abs(found - want) <= 1e-9 * abs(want) + 1e-12


# Titles and labels that would like to be code.
HOSTILE = """title  = %{ \\"\\"\\" coding: latin-1
tokens = "%}" "\\\\" "'); exit(3) %"
scale  = none
[scores]
1 2 3
3 1 2
2 3 1
[V]
1
2
3
"""


def main():
    hand = next(path for path in files if os.path.basename(path) == "hand.qkv")
    hostile = os.path.join(work, "hostile.qkv")
    with open(hostile, "w") as file:
        file.write(HOSTILE)
    files.append(hostile)
    ran = 0
    for to in ("numpy", "torch"):
        if importlib.util.find_spec(to) is None:
            skipped.append(to)
            continue
        ran += len(check_python(to))
        alone = os.path.join(work, f"alone-{to}.py")
        export(hand, to, alone)
        check_status([sys.executable], alone)
        check_digits([sys.executable], to, ".py")
    if shutil.which("octave-cli") is None:
        skipped.append("octave")
    else:
        ran += len(check_octave())
        alone = os.path.join(work, "alone.m")
        export(hand, "octave", alone)
        check_status(["octave-cli", "-qf", "--no-history"], alone)
        check_digits(["octave-cli", "-qf", "--no-history"], "octave", ".m")
    cells = 0
    if shutil.which("soffice") is None:
        skipped.append("LibreOffice")
    else:
        cells = check_spreadsheets("soffice")
    if skipped:
        print("skipped, because not installed:", ", ".join(skipped))
    for fault in faults:
        print(fault)
    print(f"{ran} scripts, {cells} cells of spreadsheets, {len(faults)} faults")
    if faults:
        return 1
    return 0 if ran or cells else 77


with tempfile.TemporaryDirectory() as work:
    status = main()
sys.exit(status)
