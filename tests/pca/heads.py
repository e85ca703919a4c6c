#!/usr/bin/env python3
"""Reference for `attnledger pca MODEL --tokens FILE`: the heads' outputs of a model in float64
numpy, with nothing of attnledger's, and what oracle.py makes of them. Not run by the tests: its
values are in tests/stories/expected-pca and tests/minilm/expected-pca.

    heads.py stories15M.bin TOKENS [KEPT]      llama2.c's format; also the loss with layers in place
    heads.py FOLDER TOKENS                     a BERT in safetensors
"""
import json
import math
import os
import struct
import sys

import numpy as np
import oracle


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, causal):
    """[tokens][heads][width] of each; the heads' outputs, side by side."""
    scores = np.einsum("thd,shd->hts", q, k) / math.sqrt(q.shape[2])
    if causal:
        scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
    return np.einsum("hts,shd->thd", softmax(scores), v).reshape(len(q), -1)


class Llama:
    def __init__(self, path):
        data = open(path, "rb").read()
        d, hidden, self.n_layers, self.heads, kv, vocab, positions = struct.unpack("<7i", data[:28])
        assert vocab > 0 and kv == self.heads
        at = 28

        def take(*shape):
            nonlocal at
            n = math.prod(shape)
            at += 4 * n
            return np.frombuffer(data, "<f4", n, at - 4 * n).astype(np.float64).reshape(shape)

        n = self.n_layers
        self.embedding, self.before = take(vocab, d), take(n, d)
        self.q, self.k, self.v, self.o = (take(n, d, d) for _ in range(4))
        self.feed, self.w1, self.w2, self.w3 = take(n, d), take(n, hidden, d), take(n, d, hidden), take(n, hidden, d)
        self.last = take(d)

    @staticmethod
    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight

    def turn(self, x):
        x = x.reshape(len(x), self.heads, -1, 2)
        angles = np.arange(len(x))[:, None] * 10000.0 ** (-2.0 * np.arange(x.shape[2]) / (2 * x.shape[2]))
        turned = (x[..., 0] + 1j * x[..., 1]) * np.exp(1j * angles)[:, None]
        return np.stack([turned.real, turned.imag], -1).reshape(len(x), self.heads, -1)

    def run(self, ids, look):
        """look(layer, outputs, W_O outputs) returns the attention's addition."""
        x = self.embedding[ids]
        for i in range(self.n_layers):
            h = self.norm(x, self.before[i])
            value = (h @ self.v[i].T).reshape(len(x), self.heads, -1)
            o = attend(self.turn(h @ self.q[i].T), self.turn(h @ self.k[i].T), value, True)
            x = x + look(i, o, o @ self.o[i].T)
            h = self.norm(x, self.feed[i])
            gate = h @ self.w1[i].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ self.w3[i].T)) @ self.w2[i].T
        return x

    def losses(self, ids, look):
        p = softmax(self.norm(self.run(ids, look), self.last) @ self.embedding.T)
        return -np.log(p[np.arange(len(ids) - 1), ids[1:]])


class Bert:
    def __init__(self, folder):
        name = next(n for n in os.listdir(folder) if n.endswith(".safetensors"))
        data = open(os.path.join(folder, name), "rb").read()
        n = struct.unpack("<Q", data[:8])[0]
        kinds = {"F16": "<f2", "F32": "<f4"}
        self.w = {}
        for key, t in json.loads(data[8:8 + n]).items():
            if key != "__metadata__" and t["dtype"] in kinds:
                a, b = t["data_offsets"]
                self.w[key] = np.frombuffer(data[8 + n + a:8 + n + b], kinds[t["dtype"]]).astype(np.float64).reshape(t["shape"])
        config = json.load(open(os.path.join(folder, "config.json")))
        self.n_layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.epsilon = config["layer_norm_eps"]

    def norm(self, x, name):
        centered = x - x.mean(-1, keepdims=True)
        return centered / np.sqrt((centered ** 2).mean(-1, keepdims=True) + self.epsilon) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def run(self, ids, look):
        e = "embeddings."
        x = self.w[e + "word_embeddings.weight"][ids] + self.w[e + "position_embeddings.weight"][:len(ids)]
        x = self.norm(x + self.w[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
        erf = np.vectorize(math.erf)
        for i in range(self.n_layers):
            p = "encoder.layer.%d." % i
            q, k, v = (self.linear(x, p + "attention.self." + n).reshape(len(x), self.heads, -1) for n in ("query", "key", "value"))
            o = attend(q, k, v, False)
            x = self.norm(x + look(i, o, self.linear(o, p + "attention.output.dense")), p + "attention.output.LayerNorm")
            h = self.linear(x, p + "intermediate.dense")
            x = self.norm(x + self.linear(h * (1 + erf(h / math.sqrt(2))) / 2, p + "output.dense"), p + "output.LayerNorm")
        return x


def record(model, sequences):
    seen = [([], []) for _ in range(model.n_layers)]

    def look(layer, o, z):
        seen[layer][0].append(o)
        seen[layer][1].append(z)
        return z

    for ids in sequences:
        model.run(ids, look)
    return [tuple(np.concatenate(part) for part in layer) for layer in seen]


def fit(o, z, heads, architecture, kept):
    """y -> W_O' of the first components, with an intercept; a function of the heads' outputs."""
    u = oracle.features(o, heads, architecture)
    vectors = oracle.principal(u)[1][:, :kept]
    design = np.einsum("tkw,km->tmw", u, vectors).reshape(len(u), -1)
    design = np.c_[design, np.ones(len(u))]
    return design @ np.linalg.lstsq(design, z, rcond=None)[0]


def show_losses(model, sequences, seen, kept):
    for architecture in "direct", "average", "nonlinear":
        fits = [fit(o, z, model.heads, architecture, kept) for o, z in seen]
        for only in range(model.n_layers):
            at, losses = 0, []
            for ids in sequences:
                # up to the layer that has one, the model is itself: so are that layer's features
                losses.append(model.losses(ids, lambda i, o, z: fits[i][at:at + len(ids)] if i == only else z))
                at += len(ids)
            print("loss", "layers.%d" % only, architecture, kept, "%.9g" % np.concatenate(losses).mean())


def main():
    model = (Bert if os.path.isdir(sys.argv[1]) else Llama)(sys.argv[1])
    sequences = [np.array(line.split(), int) for line in open(sys.argv[2]) if line.strip()]
    seen = record(model, sequences)
    for i, (o, z) in enumerate(seen):
        for architecture in "direct", "average", "nonlinear":
            u = oracle.features(o, model.heads, architecture)
            for k, value in enumerate(oracle.principal(u)[0]):
                print("value", "layers.%d" % i, architecture, k + 1, "%.9g" % value)
    if len(sys.argv) > 3:
        show_losses(model, sequences, seen, int(sys.argv[3]))


if __name__ == "__main__":
    main()
