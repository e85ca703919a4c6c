"""Some measurements of an audit in numpy, structured: forms of heads stay factors. One layer, double
precision. Prints a line for each: its name, its seconds, one number that the audit prints, too.

    numpy_audit.py LAYER.safetensors N_HEADS

Exits with 77 where there is no numpy."""
import json
import struct
import sys
import time

try:
    import numpy as np
    from numpy.linalg import cholesky, eigvalsh, svd
except ImportError:
    sys.exit(77)

path, n_heads = sys.argv[1], int(sys.argv[2])


def load():
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and len(entry["shape"]) == 2:
            begin, end = entry["data_offsets"]
            found[name.split(".")[-2]] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return found["query"].T, found["key"].T, found["value"].T, found["dense"]


WEIGHTS = [np.array(w, dtype=np.float64) for w in load()]  # Q, K, V, O: all [d_model][n_heads*d_head]


def of_heads(w):
    return np.moveaxis(w.reshape(w.shape[0], n_heads, -1), 1, 0)


def roots(gram):
    return np.sqrt(np.maximum(eigvalsh(gram)[..., ::-1], 0))


def components(values, share=.9):
    return int(np.searchsorted(np.cumsum(values ** 2) / np.sum(values ** 2), share) + 1)


def heads():
    grams = [np.swapaxes(h, 1, 2) @ h for h in map(of_heads, WEIGHTS)]
    q, k, v, o = map(cholesky, grams)
    qk = svd(np.swapaxes(q, 1, 2) @ k, compute_uv=False)
    svd(np.swapaxes(v, 1, 2) @ o, compute_uv=False), roots(grams[0]), roots(grams[1])
    return components(qk[0])


def sum_of_forms(left, right):
    return svd(cholesky(left.T @ left).T @ cholesky(right.T @ right), compute_uv=False)


def unfolding(left, right):
    """The values of [W_1 .. W_H]: those of left's heads, each times the triangle of its right one."""
    r = of_heads(right)
    wide = of_heads(left) @ cholesky(np.swapaxes(r, 1, 2) @ r)
    wide = np.moveaxis(wide, 0, 1).reshape(left.shape)
    return roots(wide @ wide.T)


def layers():
    q, k, v, o = WEIGHTS
    roots(q.T @ q), roots(k.T @ k), unfolding(q, k), unfolding(k, q), sum_of_forms(v, o)
    return components(sum_of_forms(q, k))


def blocks(gram):
    return gram.reshape(n_heads, -1, n_heads, gram.shape[1] // n_heads)


def similarity():
    grams = [w.T @ w for w in WEIGHTS]
    largest = 0
    for left, right in ((grams[0], grams[1]), (grams[2], grams[3])):
        inner = (blocks(left) * blocks(right)).sum(axis=(1, 3))
        norms = np.sqrt(np.diag(inner))
        largest = max(largest, np.abs(inner / np.outer(norms, norms) - np.eye(n_heads)).max())
    i, j = np.tril_indices(n_heads, -1)
    for w in WEIGHTS:
        bases = np.linalg.qr(of_heads(w))[0] if np.lib.NumpyVersion(np.__version__) >= "1.22.0" \
            else np.stack([np.linalg.qr(h)[0] for h in of_heads(w)])
        np.arccos(np.clip(svd(np.swapaxes(bases[i], 1, 2) @ bases[j], compute_uv=False), 0, 1))
    return float(largest)


for measure in (heads, layers, similarity):
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        number = measure()
        seconds.append(time.perf_counter() - begin)
    print(measure.__name__, sorted(seconds)[1], number, flush=True)
