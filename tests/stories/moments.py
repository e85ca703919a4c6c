#!/usr/bin/env python3
"""A calibration of stories15M on sequences 0 to 15, in four folds, computed in float64 by numpy alone:

    moments.py MODEL.bin TOKENS.npy CALIBRATION.safetensors

Ends with 1 where a fold's sum differs by more than 1e-6 of the largest of its kind (distances, of which
roots are taken near zero: 1e-4; logits and what heads attend to, which are float32: 1e-5)."""
import json
import struct
import sys

import numpy as np

model, tokens, calibration = sys.argv[1:]
data = open(model, "rb").read()
D, F, L, H, KV, V, T = struct.unpack("7i", data[:28])
numbers = np.frombuffer(data, "<f4", offset=28).astype(float)
at = 0


def take(*shape):
    global at
    n = int(np.prod(shape))
    at += n
    return numbers[at - n : at].reshape(shape)


embedding = take(V, D)
norm1, wq, wk, wv, wo = take(L, D), take(L, D, D), take(L, D, D), take(L, D, D), take(L, D, D)
norm2, w1, w2, w3 = take(L, D), take(L, F, D), take(L, D, F), take(L, F, D)
d = D // H
sequences = np.load(tokens)[:16]
N = sequences.shape[1]


def rms(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


angles = np.arange(N)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
turns = np.exp(1j * angles)[:, None, :]


def rotate(x):
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


def entropy(p):
    return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(-1)


FOLDS = 4
sums = [
    {"inputs": np.zeros((D + 1, D + 1)), "heads": np.zeros((D, D)), "norms": np.zeros(H),
     "entropies": np.zeros(H), "distances": np.zeros((H, H)), "logits": np.zeros((H, H)),
     **{name: np.zeros(H) for name in ("self", "previous", "first", "duplicates", "successors", "spans")}}
    for _ in range(L * FOLDS)
]  # fmt: skip
sampled = [(s + 1) * N // 16 - 1 for s in range(16)]
query, key = np.arange(N)[:, None], np.arange(N)[None, :]
for number, sequence in enumerate(sequences):
    equal = (sequence[:, None] == sequence[None, :]) & (key < query)
    looks = {"self": key == query, "previous": key == query - 1, "first": (key == 0) & (query > 0),
             "duplicates": equal, "successors": np.roll(equal, 1, 1) & (key > 0) & (key < query),
             "spans": query - key}  # fmt: skip
    x = embedding[sequence]
    for layer in range(L):
        into = sums[layer * FOLDS + number % FOLDS]
        h = rms(x, norm1[layer])
        q, k, v = ((h @ w[layer].T).reshape(N, H, d) for w in (wq, wk, wv))
        scores = np.einsum("qhd,khd->hqk", rotate(q), rotate(k)) / np.sqrt(d)
        scores += np.triu(np.full((N, N), -np.inf), 1)
        a = np.exp(scores - scores.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        o = np.einsum("hqk,khd->qhd", a, v)
        one = np.hstack([h, np.ones((N, 1))])
        into["inputs"] += one.T @ one
        into["heads"] += o.reshape(N, D).T @ o.reshape(N, D)
        into["norms"] += np.sqrt((o * o).sum(-1)).sum(0)
        into["entropies"] += entropy(a).sum(-1)
        some = a[:, sampled]
        mixed = entropy((some[:, None] + some[None]) / 2)
        alone = entropy(some)
        divergence = mixed - (alone[:, None] + alone[None]) / 2
        into["distances"] += np.sqrt(np.maximum(divergence, 0)).sum(-1)
        for name, weight in looks.items():
            into[name] += (a * weight).sum((1, 2))
        for at in sampled[1:] if sampled[0] == 0 else sampled:
            into["logits"] += np.cov(scores[:, at, : at + 1], bias=True)
        x = x + o.reshape(N, D) @ wo[layer].T
        h = rms(x, norm2[layer])
        gate = h @ w1[layer].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w3[layer].T)) @ w2[layer].T

stored = open(calibration, "rb").read()
n = struct.unpack("<Q", stored[:8])[0]
header = json.loads(stored[8 : 8 + n])
bad = 0
for layer in range(L):
    for kind in sums[0]:
        entry = header[f"layers.{layer}.{kind}"]
        first, end = entry["data_offsets"]
        dtype = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        found = np.frombuffer(stored[8 + n + first : 8 + n + end], dtype).reshape(entry["shape"])
        expected = [into[kind] for into in sums[layer * FOLDS : (layer + 1) * FOLDS]]
        expected = np.array([m[np.tril_indices(len(m))] if m.ndim == 2 else m for m in expected])
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        if not difference <= (1e-4 if kind == "distances" else 1e-5 if kind in looks or kind == "logits" else 1e-6):
            print(f"layers.{layer}.{kind}: differs by {difference:.3g} of the largest")
            bad = 1
sys.exit(bad)
