#!/usr/bin/env python3
"""The ONNX operator cases of Attention and FlexAttention against the program.

Usage: onnx.py QKV DIRECTORY.  Each case is written down as problem files, one a batch (and one a
head where heads have masks of their own), traced as JSON, and compared: Y and the matrices of
qk_matmul_output with the reference in double to 1e-12, with published single and half precision
to what those formats hold.  Cases that ask for something else are counted and named.
"""

import json
import math
import pathlib
import subprocess
import sys

# Why a case is not for a tracer of softmax attention.
OTHER_OPERATORS = {
    "RotaryEmbedding": "its caches are random numbers, not cosines of positions",
    "LinearAttention": "a recurrence without feature map and denominator",
}
OTHER_CASES = {
    "test_flexattention_prob_mod": "changes the weights after the softmax",
    "test_flexattention_score_mod": "a function of the score given as a graph",
    "test_flexattention_relative_positional": "a function of the score given as a graph",
}


def number(text):
    return float(text) if not isinstance(text, bool) else float(text)


class Tensor:
    def __init__(self, json_tensor):
        self.shape = json_tensor["shape"]
        self.data = json_tensor["data"]
        self.dtype = json_tensor["dtype"]

    def at(self, index):
        flat = 0
        for size, i in zip(self.shape, index):
            flat = flat * size + i
        return self.data[flat]


def heads_of(tensor, heads, batch):
    """[head][row][column] of one batch, of a 4-D tensor or of a 3-D one with heads side by side."""
    if len(tensor.shape) == 4:
        _, count, rows, width = tensor.shape
        return [[[tensor.at((batch, h, i, c)) for c in range(width)] for i in range(rows)] for h in range(count)]
    _, rows, all_width = tensor.shape
    width = all_width // heads
    return [
        [[tensor.at((batch, i, h * width + c)) for c in range(width)] for i in range(rows)] for h in range(heads)
    ]


def side_by_side(heads):
    return [[x for head in heads for x in head[i]] for i in range(len(heads[0]))]


def mask_at(tensor, batch, head, i, j):
    """Right-aligned broadcasting; a last axis that is too short hides the rest."""
    index = [batch, head, i, j][4 - len(tensor.shape):]
    if index[-1] >= tensor.shape[-1]:
        return False if tensor.dtype == "bool" else -math.inf
    return tensor.at([0 if size == 1 else k for size, k in zip(tensor.shape, index)])


def section(name, rows):
    def cell(x):
        if isinstance(x, bool):
            return "1" if x else "0"
        if isinstance(x, float) and math.isinf(x):
            return "-inf" if x < 0 else "inf"
        return str(x)

    return f"[{name}]\n" + "\n".join(" ".join(cell(x) for x in row) for row in rows) + "\n"


class Case:
    def __init__(self, case):
        self.case = case
        self.attributes = {a: v for a, v in (case["attributes"] or {}).items()}
        names = case["node_inputs"]
        self.inputs = {n: Tensor(case["inputs"][n]) for n in names if n}
        self.q, self.k, self.v = (self.inputs[names[i]] for i in range(3))
        role = lambda i: self.inputs.get(names[i]) if len(names) > i and names[i] else None
        is_attention = case["op"] == "Attention"
        self.mask = role(3) if is_attention else None
        self.past_k = role(4) if is_attention else None
        self.past_v = role(5) if is_attention else None
        self.lengths = role(6) if is_attention else None
        four = len(self.q.shape) == 4
        self.q_heads = self.q.shape[1] if four else int(self.attributes["q_num_heads"])
        self.kv_heads = self.k.shape[1] if four else int(self.attributes["kv_num_heads"])
        self.batches = self.q.shape[0]

    def get(self, name, default):
        return self.attributes.get(name, default)

    def softcap(self):
        """An attribute of Attention; FlexAttention has it as a graph with one constant."""
        if self.case["name"] == "test_flexattention_soft_cap":
            return float(self.attributes["score_mod"]["constants"]["cap"][0])
        return float(self.get("softcap", 0))

    def offset(self, batch, past, queries):
        if past:
            return past
        if self.lengths is not None:
            return int(self.lengths.at((batch,))) - queries
        return 0

    def problem(self, batch, heads):
        """The problem file of some query heads of one batch."""
        group = self.q_heads // self.kv_heads
        kv = sorted({h // group for h in heads})
        q = heads_of(self.q, self.q_heads, batch)
        k = heads_of(self.k, self.kv_heads, batch)
        v = heads_of(self.v, self.kv_heads, batch)
        past_k = heads_of(self.past_k, self.kv_heads, batch) if self.past_k else None
        past_v = heads_of(self.past_v, self.kv_heads, batch) if self.past_v else None
        queries = len(q[0])
        past = len(past_k[0]) if past_k else 0
        keys = past + len(k[0])
        offset = self.offset(batch, past, queries)
        text = ""
        if len(heads) > 1:
            text += f"heads = {len(heads)}\nkv_heads = {len(kv)}\n"
        scale = self.get("scale", None)
        if scale is not None:
            text += f"scale = {scale}\n"
        softcap = self.softcap()
        if softcap:
            text += f"softcap = {softcap}\n"
        mask = []
        if int(self.get("is_causal", 0)) or self.case["name"] == "test_flexattention_causal_mask":
            mask.append("causal")
        left = int(self.get("left_window_size", -1))
        right = int(self.get("right_window_size", -1))
        if left >= 0 or right >= 0:
            mask.append(f"window:{left if left >= 0 else 'inf'},{right if right >= 0 else 'inf'}")
        if self.lengths is not None:
            real = int(self.lengths.at((batch,)))
            mask.append("padding:" + ",".join("1" if j < real else "0" for j in range(keys)))
        if mask:
            text += "mask = " + " ".join(mask) + "\n"
            if "causal" in mask or left >= 0 or right >= 0:
                text += f"align = {offset}\n"
        text += section("Q", side_by_side([q[h] for h in heads]))
        text += section("K", side_by_side([k[g] for g in kv]))
        text += section("V", side_by_side([v[g] for g in kv]))
        if past:
            text += section("past_K", side_by_side([past_k[g] for g in kv]))
            text += section("past_V", side_by_side([past_v[g] for g in kv]))
        if self.mask is not None:
            rows = [[mask_at(self.mask, batch, heads[0], i, j) for j in range(keys)] for i in range(queries)]
            if self.mask.dtype == "bool":
                text = "mask_values = look\n" + text + section("mask", rows)
            else:
                text += section("bias", [[number(x) for x in row] for row in rows])
        return text

    def head_groups(self):
        """All heads at once, unless they have masks of their own."""
        has_own = self.mask is not None and len(self.mask.shape) >= 3 and self.mask.shape[-3] > 1
        return [[h] for h in range(self.q_heads)] if has_own else [list(range(self.q_heads))]


def traced(qkv, text):
    run = subprocess.run([qkv, "trace", "-", "-f", "json", "-q"], input=text, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    return {step["id"]: step["values"] for step in json.loads(run.stdout)["steps"]}


def apart(found, expected):
    worst = 0.0
    for a, b in zip(found, expected):
        a, b = number(a), number(b)
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        if math.isinf(a) or math.isinf(b) or math.isnan(a) or math.isnan(b):
            return math.inf
        worst = max(worst, abs(a - b) / max(1.0, abs(b)))
    return worst


def first_of(steps, prefix, *names):
    for name in names:
        if prefix + name in steps:
            return steps[prefix + name]
    raise KeyError(names)


def compare(case, expected, tolerance, steps_of):
    """expected: {name: Tensor}; returns how many tensors were compared, and the faults."""
    compared, faults = 0, []
    modes = {
        "qk_matmul_output_mode0": ("scaled", "scores"),
        "qk_matmul_output_mode1": ("capped", "scaled", "scores"),
        "qk_matmul_output_mode2": ("masked", "capped", "scaled", "scores"),
        "qk_matmul_output_mode3": ("weights",),
    }
    has_cap = case.softcap() != 0
    for name, tensor in expected.items():
        if name == "qk_matmul_output_mode0" and has_cap:
            continue  # the reference gives the capped product there, against its own text
        found, wanted = [], []
        for batch in range(case.batches):
            for heads, steps in steps_of[batch]:
                for at, head in enumerate(heads):
                    prefix = f"h{at + 1}." if len(heads) > 1 else ""
                    if name in modes:
                        rows = first_of(steps, prefix, *modes[name])
                    elif name in ("Y", "output"):
                        rows = first_of(steps, prefix, "output")
                    else:
                        continue
                    theirs = heads_of(tensor, case.q_heads, batch)[head]
                    found += [x for row in rows for x in row]
                    wanted += [x for row in theirs for x in row]
        if not found:
            continue
        compared += 1
        worst = apart(found, wanted)
        if not worst <= tolerance:
            faults.append(f"{name} is apart by {worst:.2g}")
    return compared, faults


def main():
    qkv, directory = sys.argv[1:]
    compared = cases = 0
    others, faults = [], []
    for path in sorted(pathlib.Path(directory).glob("*.json")):
        data = json.loads(path.read_text())
        name = data["name"]
        why = OTHER_OPERATORS.get(data["op"]) or OTHER_CASES.get(name)
        if why:
            others.append(f"  {name}: {why}")
            continue
        case = Case(data)
        steps_of = []
        for batch in range(case.batches):
            steps_of.append([(heads, traced(qkv, case.problem(batch, heads))) for heads in case.head_groups()])
        doubles = {n: Tensor(t) for n, t in (data.get("float64") or {}).items()}
        count, wrong = compare(case, doubles, 1e-12, steps_of)
        half = any(t["dtype"] == "float16" for t in data["inputs"].values())
        published = {n: Tensor(t) for n, t in data["outputs"].items() if n in ("Y", "output")}
        more, also_wrong = compare(case, published, 2e-3 if half else 1e-5, steps_of)
        if count + more == 0:
            wrong.append("nothing was compared")
        faults += [f"  {name}: {fault}" for fault in wrong + also_wrong]
        compared += count + more
        cases += 1
    print(f"{cases} cases, {compared} tensors compared; {len(others)} cases of something else:")
    print("\n".join(others))
    if faults:
        print("wrong:\n" + "\n".join(faults))
    return 1 if faults or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
