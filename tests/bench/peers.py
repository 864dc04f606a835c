"""What tests/bench.sh compares qkv with, in NumPy and PyTorch.

peers.py blas                                           which library NumPy multiplies with
peers.py gemm double|float                              operations a second of its matrix product
peers.py numpy|strips|torch|sdpa double|float N D causal|full THREADS   seconds of attention, the median
peers.py steps Q K V                                    reads text, prints every step of causal attention
peers.py text|text-strips|text-torch Q K V THREADS      reads text, prints the output of causal attention
peers.py loadtxt FILE                                   reads text
"""

import sys
import time


def attention(np, q, k, v, causal):
    scores = q @ k.T
    scores *= 1 / np.sqrt(np.asarray(q.shape[1], q.dtype))
    if causal:
        scores[np.triu_indices(len(q), 1)] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores @ v


def attention_in_strips(np, q, k, v, causal, rows=256):
    output = np.empty((len(q), v.shape[1]), q.dtype)
    for i in range(0, len(q), rows):
        end = min(i + rows, len(q))
        keys = end if causal else len(k)  # none of the others is seen
        scores = q[i:end] @ k[:keys].T
        scores *= 1 / np.sqrt(np.asarray(q.shape[1], q.dtype))
        if causal:
            scores[:, i:][np.triu_indices(end - i, 1)] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        output[i:end] = scores @ v[:keys]
    return output


def attention_in_torch(torch, q, k, v, causal):
    scores = q @ k.T / q.shape[1] ** 0.5
    if causal:
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu_(1), -torch.inf)
    return torch.softmax(scores, 1) @ v


def sdpa(torch, q, k, v, causal):
    name = "scaled_dot_product_attention"
    attend = getattr(torch.nn.functional, name, None) or getattr(torch.nn.functional, "_" + name, None)
    if attend is None:
        sys.exit("this torch has no " + name)
    result = attend(q[None], k[None], v[None], None, 0.0, is_causal=causal) if attend.__name__ == name else attend(
        q[None], k[None], v[None], None, 0.0, False, causal)
    return result


def seconds(work):
    work()
    times = []
    while len(times) < 3 or (sum(times) < 0.5 and len(times) < 1000):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def kernel(name, kind, n, d, is_causal, threads):
    import numpy as np

    random = np.random.default_rng(1)
    q, k, v = (random.uniform(-1, 1, (n, d)).astype("f4" if kind == "float" else "f8") for _ in range(3))
    if name in ("numpy", "strips"):
        attend = attention if name == "numpy" else attention_in_strips
        return seconds(lambda: attend(np, q, k, v, is_causal))
    import torch

    torch.set_num_threads(threads)
    q, k, v = (torch.from_numpy(x) for x in (q, k, v))
    attend = attention_in_torch if name == "torch" else sdpa
    with torch.no_grad():
        return seconds(lambda: attend(torch, q, k, v, is_causal))


def print_steps(paths):
    import numpy as np

    q, k, v = (np.loadtxt(path, ndmin=2) for path in paths)

    def show(name, x):
        print(name)
        np.savetxt(sys.stdout, x, "%9.4f", "")

    show("Q", q)
    show("K", k)
    show("V", v)
    scores = q @ k.T
    show("scores", scores)
    scaled = scores / np.sqrt(q.shape[1])
    show("scaled", scaled)
    mask = np.where(np.tri(len(q), len(k), len(k) - len(q)) > 0, 0, -np.inf)
    show("M", mask)
    masked = scaled + mask
    show("masked", masked)
    e = np.exp(masked - masked.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1, keepdims=True)
    show("weights", weights)
    show("output", weights @ v)


def print_output(name, paths, threads):
    import numpy as np

    q, k, v = (np.loadtxt(path, ndmin=2) for path in paths)
    if name == "text-torch":
        import torch

        torch.set_num_threads(threads)
        output = attention_in_torch(torch, *(torch.from_numpy(x) for x in (q, k, v)), True).numpy()
    else:
        output = (attention if name == "text" else attention_in_strips)(np, q, k, v, True)
    np.savetxt(sys.stdout, output, "%.4f")


def main(name, *words):
    if name == "blas":
        import numpy  # noqa: F401, maps its library

        with open("/proc/self/maps") as maps:
            files = {line.split("/")[-1].strip() for line in maps if "blas" in line}
        print(" ".join(sorted(files)) or "unknown")
    elif name == "gemm":
        import numpy as np

        a = np.random.default_rng(1).uniform(-1, 1, (2048, 2048)).astype("f4" if words[0] == "float" else "f8")
        a @ a
        times = []
        for _ in range(4):
            start = time.perf_counter()
            a @ a
            times.append(time.perf_counter() - start)
        print(f"{2 * 2048**3 / min(times):.0f}")
    elif name == "steps":
        print_steps(words[:3])
    elif name == "loadtxt":
        import numpy as np

        print(np.loadtxt(words[0]).shape)
    elif name.startswith("text"):
        print_output(name, words[:3], int(words[3]))
    else:
        kind, n, d, mask, threads = words
        print(f"{kernel(name, kind, int(n), int(d), mask == 'causal', int(threads)):.6f}")


main(*sys.argv[1:])
