"""Files that qkv writes for other programs, read by these: SVG by an XML parser, .npy by NumPy (where there is one)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

try:
    import numpy
except ImportError:
    numpy = None

QKV = os.environ["QKV"]
EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.qkv"))
SVG = "{http://www.w3.org/2000/svg}"


def qkv(*words):
    return subprocess.run([QKV, "trace", *words, "-q"], capture_output=True, check=False)


def check_svg(example):
    """Well-formed, without scripts or links, and each number of the weights stands in a title and in a cell."""
    trace = json.loads(qkv(example, "-f", "json").stdout)
    drawing = ElementTree.fromstring(qkv(example, "-f", "svg").stdout)
    assert drawing.tag == SVG + "svg" and drawing.get("role") == "img"
    assert drawing[0].tag == SVG + "title" and drawing[0].text
    assert drawing[1].tag == SVG + "desc" and drawing[1].text
    assert not list(drawing.iter(SVG + "script"))
    assert not any("href" in name for element in drawing.iter() for name in element.keys())
    titles, numbers = [], []
    for cell in drawing.iter(SVG + "g"):
        if len(cell) > 1 and cell[0].tag == SVG + "title":
            titles.append(cell[0].text)
            numbers.extend(text.text for text in cell.iter(SVG + "text"))
    asked = [step for step in trace["steps"] if re.fullmatch(r"(\w+\.)*weights", step["id"]) and not step["id"].startswith("d.")]
    expected = [cell for step in asked for row in step["shown"] for cell in row]
    if not asked:
        assert titles
        return 0
    shown = [title.rsplit(" = ", 1)[1] for title in titles]
    missing = [cell for cell in expected if cell.replace("-inf", "−∞") not in shown]
    assert not missing, f"{example}: {missing} missing"
    # The sums of the rows come on top.
    assert len(shown) >= len(expected) and sorted(shown) == sorted(numbers), example
    return len(expected)


def check_npy(example):
    """Each step of the trace alone: NumPy reads the doubles that the JSON has."""
    trace = json.loads(qkv(example, "-f", "json").stdout)
    ids_in_every_head = {step["id"].split(".")[-1] for step in trace["steps"] if "." in step["id"]}
    checked = 0
    for step in trace["steps"]:
        written = qkv(example, "--steps", step["id"], "-f", "npy")
        if any(isinstance(value, dict) for row in step["values"] for value in row):
            assert written.returncode == 2 and not written.stdout, (example, step["id"])
            continue
        if step["id"] in ids_in_every_head:  # "scores" asks for those of every head too
            continue
        assert written.returncode == 0, (example, step["id"], written.stderr)
        with open("array.npy", "wb") as file:
            file.write(written.stdout)
        array = numpy.load("array.npy", allow_pickle=False)
        values = [[float(value) for value in row] for row in step["values"]]
        assert array.dtype == numpy.dtype("<f8") and array.flags["C_CONTIGUOUS"]
        assert array.tolist() == values, (example, step["id"])
        checked += 1
    return checked


os.chdir(os.environ["TMPDIR"])
cells = sum(check_svg(example) for example in EXAMPLES)
assert cells > 100
print(f"{len(EXAMPLES)} drawings are well-formed and show {cells} weights")
if numpy is None:
    print("skipped: NumPy is not installed, .npy files are not read by it")
    sys.exit(0)
arrays = sum(check_npy(example) for example in EXAMPLES[::6])
assert arrays > 20
print(f"{arrays} arrays are read by NumPy as the doubles of the JSON")
