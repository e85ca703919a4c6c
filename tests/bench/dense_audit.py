"""The measurements of an audit as numpy makes them natural, with every head's form W_Q W_K^T dense: one
layer, double precision (nulls in single). Prints a line for each: its name, its seconds, one number that
the audit prints too.

    dense_audit.py LAYER.safetensors N_HEADS

Exits with 77 where there is no numpy."""
import json
import struct
import sys
import time

try:
    import numpy as np
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


Q, K, V, O = (np.array(w, dtype=np.float64) for w in load())   # all [d_model][n_heads*d_head]
d_model, d_head = Q.shape[0], Q.shape[1] // n_heads


def heads_of(w):
    return np.moveaxis(w.reshape(w.shape[0], n_heads, d_head), 1, 0)


def svdvals(a):
    return np.linalg.svd(a, compute_uv=False)


def components(values, share=.9):
    return int(np.searchsorted(np.cumsum(values ** 2) / np.sum(values ** 2), share) + 1)


def forms(left, right):
    return heads_of(left) @ np.swapaxes(heads_of(right), 1, 2)


def heads():
    qk, vo = forms(Q, K), forms(V, O)
    values = [svdvals(t) for t in qk]
    for i in range(n_heads):
        svdvals(vo[i]), svdvals(heads_of(Q)[i]), svdvals(heads_of(K)[i])
    return components(values[0])


def layer_values(q, k, v, o):
    qk = forms(q, k)
    return [svdvals(q), svdvals(k), svdvals(q @ k.T), svdvals(np.concatenate(list(qk), axis=1)),
            svdvals(np.concatenate([t.T for t in qk], axis=1)), svdvals(v @ o.T)]


def layers():
    return components(layer_values(Q, K, V, O)[2])


def independent(rng, w):
    out = np.empty(w.shape, np.float32)
    for i in range(n_heads):
        part = slice(i * d_head, (i + 1) * d_head)
        u, r = np.linalg.qr(rng.standard_normal((d_model, d_head), dtype=np.float32))
        out[:, part] = u * np.sign(np.diag(r)) @ np.linalg.qr(w[:, part].astype(np.float32))[1]
    return out


def nulls():
    rng = np.random.default_rng(0)
    draws = [layer_values(*(independent(rng, w) for w in (Q, K, V, O))) for _ in range(4)]
    return float(np.mean([components(values[2]) for values in draws]))


def similarity():
    cosines = []
    for left, right in ((Q, K), (V, O)):
        flat = forms(left, right).reshape(n_heads, -1)
        flat /= np.linalg.norm(flat, axis=1)[:, None]
        cosines.append(flat @ flat.T)
    for w in (Q, K, V, O):
        bases = [np.linalg.qr(head)[0] for head in heads_of(w)]
        for i in range(n_heads):
            for j in range(i):
                np.arccos(np.clip(svdvals(bases[i].T @ bases[j]), 0, 1))
    return float(max(np.abs(c - np.eye(n_heads)).max() for c in cosines))


def pca():
    for left, right in ((V, O), (Q, K)):
        flat = forms(left, right).reshape(n_heads, -1)
        flat -= flat.mean(axis=0)
        values = np.linalg.eigvalsh(flat @ flat.T)[::-1]
    return float(values[0] / values.sum())


def share(t, groups, width):
    """The best common key of each group: the leading eigenvectors of the sum of T^T T."""
    left = 0
    for group in groups:
        values = np.linalg.eigvalsh(sum(t[i].T @ t[i] for i in group))
        left += values[:-width].sum()
    return np.sqrt(left / (t ** 2).sum())


def mean_error(t, left, right, groups):
    k = heads_of(right).copy()
    for group in groups:
        k[group] = k[group].mean(axis=0)
    return np.linalg.norm(t - heads_of(left) @ np.swapaxes(k, 1, 2)) / np.linalg.norm(t)


def multiples(w):
    out = np.empty_like(w)
    for j in range(d_head):
        u, s, vt = np.linalg.svd(w[:, j::d_head], full_matrices=False)
        out[:, j::d_head] = s[0] * np.outer(u[:, 0], vt[0])
    return out


def cp_error(t, rank, n_sweeps=20):
    """Alternating least squares from the largest singular triples of all heads."""
    triples = []
    for i in range(n_heads):
        u, s, vt = np.linalg.svd(t[i], full_matrices=False)
        triples += [(s[r], i, u[:, r], vt[r]) for r in range(d_head)]
    triples = sorted(triples, key=lambda triple: -triple[0])[:rank]
    a = np.stack([s * u for s, _, u, _ in triples], axis=1)
    c = np.stack([v for _, _, _, v in triples], axis=1)
    m = np.zeros((n_heads, rank))
    for r, (_, i, _, _) in enumerate(triples):
        m[i, r] = 1
    before, norm = np.inf, (t ** 2).sum()
    for _ in range(n_sweeps):
        right = t @ c
        a = np.linalg.solve((m.T @ m) * (c.T @ c), np.einsum("idr,ir->rd", right, m)).T
        m = np.linalg.solve((a.T @ a) * (c.T @ c), np.einsum("idr,dr->ri", right, a)).T
        left = np.swapaxes(t, 1, 2) @ a
        rhs = np.einsum("idr,ir->dr", left, m)
        gram = (m.T @ m) * (a.T @ a)
        c = np.linalg.solve(gram, rhs.T).T
        error = np.sqrt(max(norm - 2 * (rhs * c).sum() + (gram * (c.T @ c)).sum(), 0) / norm)
        if abs(before - error) < 1e-4 * before:
            break
        before = error
    return error


def conversion():
    qk, ov = forms(Q, K), forms(O, V)
    order = np.random.default_rng(0).permutation(n_heads)
    for n_groups in (g for g in range(1, n_heads) if n_heads % g == 0):
        neighbours = np.arange(n_heads).reshape(n_groups, -1)
        for t, left, right in ((ov, O, V), (qk, Q, K)):
            mean_error(t, left, right, neighbours)
            found = share(t, neighbours, d_head)
            if n_groups > 1:
                share(t, order.reshape(n_groups, -1), d_head)
        if n_groups == 1:
            one_key = found
    for i in range(n_heads):
        grams = [t[i].T @ t[i] / (t ** 2).sum() for t in (qk, ov)]
        basis = np.linalg.eigh(grams[0] + grams[1])[1][:, -d_head:]
        [np.trace(g) - np.trace(basis.T @ g @ basis) for g in grams]
    grams = [sum(t[i].T @ t[i] for i in range(n_heads)) / (t ** 2).sum() for t in (qk, ov)]
    basis = np.linalg.eigh(grams[0] + grams[1])[1][:, ::-1]
    for rank in (d_model // 2, d_model // 4, d_model // 8):
        [1 - np.trace(basis[:, :rank].T @ g @ basis[:, :rank]) for g in grams]
    q, k, v = multiples(Q), multiples(K), multiples(V)
    np.linalg.norm(qk - forms(q, k)), np.linalg.norm(ov - forms(O, v))
    cp_error(qk, d_head)
    for t in (qk, ov):
        for i in range(n_heads):
            svdvals(t[i])
    return float(one_key)


for measure in (heads, layers, nulls, similarity, pca, conversion):
    begin = time.perf_counter()
    number = measure()
    print(measure.__name__, time.perf_counter() - begin, number, flush=True)
