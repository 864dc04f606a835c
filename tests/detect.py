"""Attention as other people write it, and the convention that `qkv detect` names for their numbers.

Everything here is NumPy from the definitions alone; nothing is taken from qkv but its answer.
    QKV         the program (needed)
    QKV_ROUNDS  how many problems a convention is tried on (4)
    QKV_RANDOM  how many random outputs must be explained by nothing (50)
    QKV_SECONDS how long one call may take (1)
    QKV_SEED    another seed
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

QKV = os.environ["QKV"]
ROUNDS = int(os.environ.get("QKV_ROUNDS", "4"))
RANDOM_OUTPUTS = int(os.environ.get("QKV_RANDOM", "50"))
MOST_SECONDS = float(os.environ.get("QKV_SECONDS", "1"))
SEED = int(os.environ.get("QKV_SEED", "20171206"))
FORMS = ["f8", "text", "json", "f4", "list"]


# ---- Attention -----------------------------------------------------------------------------------


def softmax(scores, axis=1):
    e = np.exp(scores - scores.max())
    return e / e.sum(axis=axis, keepdims=True)


def causal(n, m, align=None):
    """True where query i may look at key j."""
    align = m - n if align is None else align
    return np.arange(m)[None, :] <= np.arange(n)[:, None] + align


def hide(scores, may_look):
    return np.where(may_look, scores, -np.inf)


def in_digits(x, digits):
    """x rounded to so many binary digits, ties to even."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)


assert in_digits(0.1, 11) == np.float16(0.1) and in_digits(0.1, 24) == np.float32(0.1)


def rounded_attention(q, k, v, digits):
    """Every operation rounded to the digits, sums from left to right."""

    def r(x):
        return in_digits(x, digits)

    q, k, v = r(q), r(k), r(v)
    n, d_k = q.shape
    m, d_v = v.shape
    root = r(math.sqrt(d_k))
    weights, output = np.zeros((n, m)), np.zeros((n, d_v))
    for i in range(n):
        scores = []
        for j in range(m):
            dot = 0.0
            for c in range(d_k):
                dot = r(dot + r(q[i, c] * k[j, c]))
            scores.append(r(dot / root))
        e = [r(math.exp(r(s - max(scores)))) for s in scores]
        total = 0.0
        for x in e:
            total = r(total + x)
        for j in range(m):
            weights[i, j] = r(e[j] / total)
        for c in range(d_v):
            read = 0.0
            for j in range(m):
                read = r(read + r(weights[i, j] * v[j, c]))
            output[i, c] = read
    return weights, output


# ---- Problems ------------------------------------------------------------------------------------


class Problem:
    """Matrices with three decimals, so that the text and the doubles say the same."""

    def __init__(self, rng, settings="", **shapes):
        self.settings = settings
        self.sections = {name: np.round(rng.normal(size=shape), 3) for name, shape in shapes.items()}

    def __getattr__(self, name):
        return self.sections[name]

    def text(self):
        lines = [self.settings]
        for name, matrix in self.sections.items():
            lines.append(f"[{name}]")
            lines += [" ".join(repr(float(x)) for x in row) for row in matrix]
        return "\n".join(lines) + "\n"


def qkv(rng, settings="", n=None, m=None, d_k=None, d_v=None):
    n = n or int(rng.integers(3, 8))
    m = m or n
    d_k = d_k or int(rng.integers(2, 5))
    d_v = d_v or d_k + 1
    return Problem(rng, settings, Q=(n, d_k), K=(m, d_k), V=(m, d_v))


def projected(rng, settings="", d_model=5, d_k=3, d_v=2):
    """Weights that are not square, and W_O back to the width of the tokens."""
    p = Problem(rng, settings, X=(int(rng.integers(3, 8)), d_model), W_Q=(d_model, d_k), W_K=(d_model, d_k),
                W_V=(d_model, d_v))
    return p, p.X @ p.W_Q, p.X @ p.W_K, p.X @ p.W_V


def dots(p):
    return p.Q @ p.K.T


def root(p):
    return math.sqrt(p.Q.shape[1])


# ---- The conventions: each gives a problem, its weights and output, and what must be named --------

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def as_the_problem_says(rng):
    p = qkv(rng)
    w = softmax(dots(p) / root(p))
    return p, w, w @ p.V, {}


@case
def as_the_problem_says_from_tokens(rng):
    p, q, k, v = projected(rng, "mask = causal")
    w = softmax(hide(q @ k.T / math.sqrt(3), causal(len(q), len(q))))
    return p, w, w @ v, {}


@case
def scale_forgotten(rng):
    p = qkv(rng)
    w = softmax(dots(p))
    return p, w, w @ p.V, {"scale": "none"}


@case
def scale_added(rng):
    p = qkv(rng, "scale = none")
    w = softmax(dots(p) / root(p))
    return p, w, w @ p.V, {"scale": "1/sqrt(d_k)"}


@case
def scale_without_root(rng):
    p, q, k, v = projected(rng)
    w = softmax(q @ k.T / 3)
    return p, w, w @ v, {"scale": "1/d_k"}


@case
def scale_the_wrong_way(rng):
    p = qkv(rng, d_k=3)
    w = softmax(dots(p) * math.sqrt(3))
    return p, w, w @ p.V, {"scale": "sqrt(d_k)"}


@case
def scale_by_keys(rng):
    p = qkv(rng, n=4, m=6, d_k=3)
    w = softmax(dots(p) / math.sqrt(6))
    return p, w, w @ p.V, {"scale": "1/sqrt(keys)"}


@case
def scale_by_model(rng):
    p, q, k, v = projected(rng, d_model=8)
    w = softmax(q @ k.T / math.sqrt(8))
    expected = {"scale": "1/sqrt(d_model)"}
    return p, w, w @ v, expected


@case
def rounded_root(rng):
    d_k, divisor = [(2, 1.4), (2, 1.41), (3, 1.7), (3, 1.73), (5, 2.2), (5, 2.24), (8, 2.8), (8, 2.83),
                    (2, 1.414)][rng.integers(0, 9)]
    p = qkv(rng, n=5, d_k=d_k)
    w = softmax(dots(p) / divisor)
    return p, w, w @ p.V, {"scale": f"1/{divisor}"}


@case
def softmax_down_the_columns(rng):
    p = qkv(rng)
    w = softmax(dots(p) / root(p), axis=0)
    return p, w, w @ p.V, {"axis": "columns"}


@case
def softmax_over_everything(rng):
    p = qkv(rng)
    w = softmax(dots(p) / root(p), axis=None)
    return p, w, w @ p.V, {"axis": "all"}


@case
def mask_forgotten(rng):
    p = qkv(rng, "mask = causal")
    w = softmax(dots(p) / root(p))
    return p, w, w @ p.V, {"mask": "none"}


@case
def mask_added(rng):
    p = qkv(rng)
    n = len(p.Q)
    w = softmax(hide(dots(p) / root(p), causal(n, n)))
    return p, w, w @ p.V, {"mask": "causal"}


@case
def corner_of_the_mask(rng):
    n, m = int(rng.integers(2, 5)), int(rng.integers(5, 9))
    p = qkv(rng, "mask = causal", n=n, m=m)  # bottom-right
    w = softmax(hide(dots(p) / root(p), causal(n, m, align=0)))
    return p, w, w @ p.V, {"mask": "causal, top-left"}


@case
def other_corner_of_the_mask(rng):
    n, m = int(rng.integers(2, 5)), int(rng.integers(5, 9))
    p = qkv(rng, "mask = causal\nalign = top-left", n=n, m=m)
    w = softmax(hide(dots(p) / root(p), causal(n, m)))
    return p, w, w @ p.V, {"mask": "causal, bottom-right"}


@case
def diagonal_hidden_too(rng):
    n, m = 4, 6
    p = qkv(rng, "mask = causal", n=n, m=m)
    w = softmax(hide(dots(p) / root(p), causal(n, m, align=m - n - 1)))
    return p, w, w @ p.V, {"mask": "causal without the diagonal"}


def with_given_mask(rng):
    """A mask in which every row and every column hides a key and shows one, and which is no mirror image."""
    p = qkv(rng, "mask_values = look", n=5)
    may_look = (np.arange(5)[None, :] - np.arange(5)[:, None]) % 5 < 2
    may_look[0, 3] = True
    p.sections["mask"] = may_look.astype(float)
    return p, may_look


@case
def polarity_of_the_mask(rng):
    p, may_look = with_given_mask(rng)
    w = softmax(hide(dots(p) / root(p), ~may_look))
    return p, w, w @ p.V, {"mask": "inverted"}


@case
def mask_transposed(rng):
    p, may_look = with_given_mask(rng)
    w = softmax(hide(dots(p) / root(p), may_look.T))
    return p, w, w @ p.V, {"mask": "transposed"}


@case
def zero_in_place_of_minus_infinity(rng):
    p = qkv(rng, "mask = causal")
    n = len(p.Q)
    w = softmax(dots(p) / root(p) * causal(n, n))
    return p, w, w @ p.V, {"masking": "0 in place of -inf"}


@case
def mask_after_the_softmax(rng):
    p = qkv(rng, "mask = causal")
    n = len(p.Q)
    w = softmax(dots(p) / root(p)) * causal(n, n)
    return p, w, w @ p.V, {"masking": "after the softmax"}


@case
def mask_after_the_softmax_renormalised(rng):
    """The same numbers as the masked softmax, so nothing is to be named."""
    p = qkv(rng, "mask = causal")
    n = len(p.Q)
    w = softmax(dots(p) / root(p)) * causal(n, n)
    w /= w.sum(axis=1, keepdims=True)
    return p, w, w @ p.V, {}


@case
def weights_stored_the_other_way(rng):
    p = projected(rng, d_model=4, d_k=4, d_v=4)[0]
    w = softmax((p.X @ p.W_Q.T) @ (p.X @ p.W_K.T).T / 2)
    return p, w, w @ (p.X @ p.W_V.T), {"layout": "transposed"}


@case
def queries_and_keys_exchanged(rng):
    p, q, k, v = projected(rng)
    w = softmax(k @ q.T / math.sqrt(3))
    return p, w, w @ v, {"roles": "Q and K exchanged"}


@case
def keys_read_in_place_of_values(rng):
    p, q, k, _ = projected(rng)
    return p, None, softmax(q @ k.T / math.sqrt(3)) @ k, {"values": "K"}


@case
def tokens_read_in_place_of_values(rng):
    p, q, k, _ = projected(rng)
    return p, None, softmax(q @ k.T / math.sqrt(3)) @ p.X, {"values": "X"}


@case
def cap_after_the_mask(rng):
    p = qkv(rng, "mask = causal\nsoftcap = 1.5")
    n = len(p.Q)
    w = softmax(1.5 * np.tanh(hide(dots(p) / root(p), causal(n, n)) / 1.5))
    return p, w, w @ p.V, {"softcap": "after the mask"}


@case
def cap_forgotten(rng):
    p = qkv(rng, "softcap = 1.5")
    w = softmax(dots(p) / root(p))
    return p, w, w @ p.V, {"softcap": "none"}


@case
def two_changes(rng):
    p = qkv(rng, "mask = causal")
    w = softmax(dots(p))
    return p, w, w @ p.V, {"scale": "none", "mask": "none"}


@case
def three_changes(rng):
    p, q, k, v = projected(rng)
    n = len(q)
    w = softmax(hide(k @ q.T / 3, causal(n, n)))
    return p, w, w @ v, {"scale": "1/d_k", "mask": "causal", "roles": "Q and K exchanged"}


# ---- Several heads and rotary positions ----------------------------------------------------------


def of_heads(rng, settings="heads = 2", heads=2, kv_heads=2, d=3, n=None):
    n = n or int(rng.integers(3, 9))
    return Problem(rng, settings, Q=(n, heads * d), K=(n, kv_heads * d), V=(n, kv_heads * 2))


def split(x, heads):
    """[heads, n, d], as view and transpose give it."""
    n, width = x.shape
    return x.reshape(n, heads, width // heads).transpose(1, 0, 2)


def join(heads):
    count, n, d = heads.shape
    return heads.transpose(1, 0, 2).reshape(n, count * d)


def attend(q, k, v, divisor=None):
    """Each head by itself: its weights and its output."""
    divisor = divisor or math.sqrt(q.shape[-1])
    w = [softmax(a @ b.T / divisor) for a, b in zip(q, k)]
    return w, np.stack([a @ b for a, b in zip(w, v)])


@case
def heads_as_the_problem_says(rng):
    p = of_heads(rng)
    w, output = attend(split(p.Q, 2), split(p.K, 2), split(p.V, 2))
    return p, {"h2.weights": w[1]}, {"concat": join(output)}, {}


@case
def heads_split_without_transpose(rng):
    p = of_heads(rng)
    w, output = attend(*(x.reshape(2, len(x), -1) for x in (p.Q, p.K, p.V)))
    return p, {"h1.weights": w[0]}, {"concat": join(output)}, {"split": "without transpose"}


@case
def heads_joined_without_transpose(rng):
    p = of_heads(rng)
    _, output = attend(split(p.Q, 2), split(p.K, 2), split(p.V, 2))
    return p, None, {"concat": output.reshape(len(p.Q), -1)}, {"join": "without transpose"}


@case
def heads_scaled_by_the_whole_width(rng):
    p = of_heads(rng)
    w, output = attend(split(p.Q, 2), split(p.K, 2), split(p.V, 2), math.sqrt(6))
    return p, {"h1.weights": w[0]}, {"concat": join(output)}, {"scale": "1/sqrt(d_model)"}


@case
def groups_tiled(rng):
    p = of_heads(rng, "heads = 4\nkv_heads = 2", heads=4)
    k, v = (np.tile(split(x, 2), (2, 1, 1)) for x in (p.K, p.V))
    w, output = attend(split(p.Q, 4), k, v)
    return p, {"h2.weights": w[1]}, {"concat": join(output)}, {"groups": "tiled"}


def rotated(x, positions, interleaved, base=10000.0):
    """Pairs as complex numbers."""
    d = x.shape[-1]
    turn = np.exp(1j * np.outer(positions, base ** (-np.arange(0, d, 2) / d)))
    first, second = (x[:, 0::2], x[:, 1::2]) if interleaved else (x[:, :d // 2], x[:, d // 2:])
    z = (first + 1j * second) * turn
    if not interleaved:
        return np.hstack([z.real, z.imag])
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


@case
def rotary_pairing(rng):
    p = qkv(rng, "rope = half", d_k=4)
    t = np.arange(len(p.Q))
    w = softmax(rotated(p.Q, t, True) @ rotated(p.K, t, True).T / 2)
    return p, w, w @ p.V, {"rope": "interleaved"}


@case
def query_one_position_late(rng):
    p = qkv(rng, "rope = interleaved", d_k=4)
    t = np.arange(len(p.Q))
    w = softmax(rotated(p.Q, t + 1, True) @ rotated(p.K, t, True).T / 2)
    return p, w, w @ p.V, {"query position": "one late"}


@case
def rotation_left_out(rng):
    p = qkv(rng, "rope = half\nmask = causal", d_k=4)
    n = len(p.Q)
    w = softmax(hide(dots(p) / root(p), causal(n, n)))
    return p, w, w @ p.V, {"rope": "none"}


def window(n, before, after=0):
    """True where query i may look at key j: so many keys back, and so many ahead."""
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    return (distance <= before) & (distance >= -after)


@case
def window_one_key_wider(rng):
    """The last N keys before the query, and the query's own."""
    p = qkv(rng, "mask = causal window:2", n=6)
    w = softmax(hide(dots(p) / root(p), window(6, 2)))
    return p, w, w @ p.V, {"mask": "window one key wider"}


@case
def window_one_key_narrower(rng):
    p = qkv(rng, "mask = window:4", n=6)
    w = softmax(hide(dots(p) / root(p), window(6, 2)))
    return p, w, w @ p.V, {"mask": "window one key narrower"}


@case
def window_with_a_sink_one_key_wider(rng):
    p = qkv(rng, "mask = causal window:2 sinks:1", n=7)
    may_look = window(7, 2)
    may_look[:, 0] = True
    w = softmax(hide(dots(p) / root(p), may_look))
    return p, w, w @ p.V, {"mask": "window one key wider"}


@case
def window_to_both_sides_one_key_narrower(rng):
    p = qkv(rng, "mask = window:3,2", n=7)
    w = softmax(hide(dots(p) / root(p), window(7, 2, 1)))
    return p, w, w @ p.V, {"mask": "window one key narrower"}


def sinusoids(n, d):
    angles = np.outer(np.arange(n), 10000.0 ** (-(np.arange(d) // 2 * 2) / d))
    return np.where(np.arange(d) % 2 == 0, np.sin(angles), np.cos(angles))


def positioned(p, left_out=False):
    x = p.X if left_out else p.X + (p.P if "P" in p.sections else sinusoids(*p.X.shape))
    w = softmax((x @ p.W_Q) @ (x @ p.W_K).T / math.sqrt(3))
    return w, w @ (x @ p.W_V)


@case
def sinusoids_as_the_problem_says(rng):
    p = projected(rng, "pos = sinusoidal")[0]
    return p, *positioned(p), {}


@case
def sinusoids_left_out(rng):
    p = projected(rng, "pos = sinusoidal")[0]
    return p, *positioned(p, left_out=True), {"positions": "none"}


@case
def learned_positions_as_the_problem_says(rng):
    p = projected(rng)[0]
    p.sections["P"] = np.round(rng.normal(size=p.X.shape), 3)
    return p, *positioned(p), {}


@case
def learned_positions_left_out(rng):
    p = projected(rng)[0]
    p.sections["P"] = np.round(rng.normal(size=p.X.shape), 3)
    return p, *positioned(p, left_out=True), {"positions": "none"}


@case
def a_head_dropped_as_the_problem_says(rng):
    p = of_heads(rng, "heads = 2\ndrop_heads = 2")
    w, output = attend(split(p.Q, 2), split(p.K, 2), split(p.V, 2))
    output[1] = 0
    return p, {"h2.weights": w[1]}, {"concat": join(output)}, {}


@case
def a_head_not_dropped(rng):
    p = of_heads(rng, "heads = 2\ndrop_heads = 2")
    _, output = attend(split(p.Q, 2), split(p.K, 2), split(p.V, 2))
    return p, None, {"concat": join(output)}, {"drop_heads": "none"}


def in_format(digits, name):
    def in_this_format(rng):
        p = qkv(rng, n=6)
        w, output = rounded_attention(p.Q, p.K, p.V, digits)
        return p, w, output, {"precision": name}

    in_this_format.__name__ = f"every_operation_in_{name}"
    in_this_format.forms = ["f8", "json"]  # fewer digits are explained by true arithmetic as well
    return case(in_this_format)


in_format(24, "fp32")
in_format(11, "fp16")
in_format(8, "bf16")

rounded_root.forms = ["f8", "json", "list"]  # 1.414 and √2 are the same at four decimals


# ---- Writing, asking, judging --------------------------------------------------------------------


def write(folder, form, matrices):
    """One matrix or two, as somebody would send them; returns the file."""
    path = os.path.join(folder, "output." + form)
    if form == "json":
        with open(path, "w") as file:
            json.dump({name: m.tolist() for name, m in matrices.items()}, file)
        return path
    if form == "text":
        with open(path, "w") as file:
            for name, m in matrices.items():
                print(f"[{name}]", file=file)
                np.savetxt(file, m, fmt="%.4f")
        return path
    matrix = list(matrices.values())[-1]  # these forms hold one matrix and no name
    if form == "list":
        with open(path, "w") as file:
            json.dump(matrix.tolist(), file)
        return path
    with open(path, "wb") as file:  # np.save would add .npy to the name
        np.save(file, matrix.astype(form))
    return path


def ask(folder, problem, path):
    file = os.path.join(folder, "problem.qkv")
    with open(file, "w") as out:
        out.write(problem.text())
    begin = time.monotonic()
    answer = subprocess.run([QKV, "detect", file, path, "-f", "json"], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if answer.returncode not in (0, 1):
        sys.exit(f"status {answer.returncode}: {answer.stderr}\n{problem.text()}")
    found = [e["conventions"] for e in json.loads(answer.stdout)["found"]]
    assert (answer.returncode == 0) == bool(found)
    return found, seconds


def named(name, matrix):
    """Heads have names of their own."""
    return matrix if isinstance(matrix, dict) else {name: matrix}


def main():
    failures = asked = ties = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number, convention in enumerate(CASES):
            forms = getattr(convention, "forms", FORMS)
            for turn in range(ROUNDS):
                rng = np.random.default_rng([SEED, number, turn])
                problem, weights, output, expected = convention(rng)
                form = forms[(number + turn) % len(forms)]
                output = named("output", output)
                matrices = [output]
                if weights is not None:
                    weights = named("weights", weights)
                    matrices += [weights, weights | output]
                for given in matrices:
                    found, seconds = ask(folder, problem, write(folder, form, given))
                    asked += 1
                    slowest = max(slowest, seconds)
                    if expected in found[1:]:
                        ties += 1
                    elif found[:1] != [expected]:
                        failures += 1
                        print(f"FAILED: {convention.__name__}, {' and '.join(given)} as {form}, turn {turn}:\n"
                              f"  {expected} expected, {found} named\n{problem.text()}")
        for turn in range(RANDOM_OUTPUTS):
            rng = np.random.default_rng([SEED, 1000, turn])
            problem = qkv(rng, n=int(rng.integers(1, 9)), m=int(rng.integers(1, 9)), d_v=2)
            if turn % 3 == 0:
                problem = of_heads(rng, "heads = 4\nkv_heads = 2\nrope = half\nmask = causal", heads=4, d=4)
            output = rng.normal(size=(len(problem.Q), 8 if turn % 3 == 0 else 2))
            form = FORMS[turn % len(FORMS)]
            found, seconds = ask(folder, problem, write(folder, form, {"output": output}))
            slowest = max(slowest, seconds)
            if found:
                failures += 1
                print(f"FAILED: random numbers as {form}, turn {turn}, are explained by {found}")
    if slowest >= MOST_SECONDS:
        failures += 1
        print(f"FAILED: one call took {slowest:.2f} s")
    print(f"{len(CASES)} conventions in {asked} outputs ({ties} ties), {RANDOM_OUTPUTS} random outputs, "
          f"slowest call {slowest * 1000:.0f} ms: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
