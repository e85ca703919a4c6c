#!/usr/bin/env python3
"""Conversions of tiny models in float64, each by its definition, for tests/compress/conversions.c.

    reference.py WRITE_TINY CASE...     prints nothing; writes what comes of each conversion into CASE

WRITE_TINY is build/tests/forward/write-tiny, which writes a case's checkpoint. Knows nothing of the
program's closed forms: a low rank is a singular value decomposition of roots times weights, a fit is
least squares by a pseudo-inverse, and losses are those of the converted model run again. Needs numpy.
"""
import itertools, json, math, shlex, struct, subprocess, sys, tempfile
import numpy as np


# ---- models: pre-norm decoders whose attention is factors of heads ----

def load(folder):
    data = open(folder + "/model.safetensors", "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            out[name] = np.frombuffer(data[8 + n + a:8 + n + b], "<f4").astype(float).reshape(t["shape"])
    return out

def layer_norm(x, g, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b

def rms_norm(x, g, b, eps=1e-6):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps) * g

def split(w, n):
    """[D][n*d] into n of [D][d]"""
    return np.split(w, n, axis=-1)

class Attention:
    """Heads' factors: q, k, v [D][width], o [width][D] and their biases; keys and values of groups."""
    def __init__(self, q, k, v, o, bq, bk, bv, bo, n, n_kv, theta=None, norm=None):
        """`norm`(all queries or all keys, whether they are keys) comes before they are turned"""
        self.n, self.n_kv, self.theta, self.norm = n, n_kv, theta, norm
        self.q, self.k, self.v, self.o = split(q, n), split(k, n_kv), split(v, n_kv), split(o.T, n)
        self.o = [w.T for w in self.o]
        self.bq, self.bk, self.bv = split(bq, n), split(bk, n_kv), split(bv, n_kv)
        self.bo, self.scale = bo, 1 / math.sqrt(self.q[0].shape[1])
        self.behind = lambda y: y

    def copy(self):
        other = object.__new__(Attention)
        other.__dict__ = {k: list(v) if isinstance(v, list) else v for k, v in self.__dict__.items()}
        return other

    def kv(self, head, of):
        return head * len(of) // self.n

    def turn(self, x):
        if not self.theta:
            return x
        d = x.shape[1]
        angle = np.arange(len(x))[:, None] * self.theta ** (-np.arange(0, d, 2) / d)
        a, b = x[:, :d // 2], x[:, d // 2:]
        return np.hstack([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)])

    def heads(self, x):
        """each head's outputs, [tokens][width]"""
        out, seen = [], np.tril(np.ones((len(x), len(x)), bool))
        queries, keys = [x @ w + b for w, b in zip(self.q, self.bq)], [x @ w + b for w, b in zip(self.k, self.bk)]
        if self.norm:
            queries, keys = split(self.norm(np.hstack(queries), False), len(queries)), split(self.norm(np.hstack(keys), True), len(keys))
        for i in range(self.n):
            k, v = self.kv(i, self.k), self.kv(i, self.v)
            s = self.turn(queries[i]) @ self.turn(keys[k]).T * self.scale
            e = np.where(seen, np.exp(s - np.where(seen, s, -np.inf).max(-1, keepdims=True)), 0)
            out.append(e / e.sum(-1, keepdims=True) @ (x @ self.v[v] + self.bv[v]))
        return out

    def put_out(self, outputs):
        return sum(o @ w for o, w in zip(outputs, self.o)) + self.bo

class Model:
    def __init__(self, w, c):
        self.w, self.c, self.layers = w, c, []
        getattr(self, c["model_type"])()

    def gpt2(self):
        w, n, D = self.w, self.c["n_head"], self.c["n_embd"]
        for i in range(self.c["n_layer"]):
            p = f"transformer.h.{i}."
            q, k, v = np.split(w[p + "attn.c_attn.weight"], 3, 1)
            bq, bk, bv = np.split(w[p + "attn.c_attn.bias"], 3)
            norm = [w[p + "ln_1.weight"], w[p + "ln_1.bias"]]
            def mlp(x, p=p):
                h = layer_norm(x, w[p + "ln_2.weight"], w[p + "ln_2.bias"]) @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]
                h = 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
                return h @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
            a = Attention(q, k, v, w[p + "attn.c_proj.weight"], bq, bk, bv, w[p + "attn.c_proj.bias"], n, n)
            self.layers.append((a, norm, layer_norm, mlp))
        self.embed = lambda ids: w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:len(ids)]
        self.head = lambda x: layer_norm(x, w["transformer.ln_f.weight"], w["transformer.ln_f.bias"]) @ w["transformer.wte.weight"].T

    def opt(self):
        w, n, p0 = self.w, self.c["num_attention_heads"], "model.decoder."
        for i in range(self.c["num_hidden_layers"]):
            p = p0 + f"layers.{i}."
            of = {m: (w[p + f"self_attn.{m}_proj.weight"].T, w[p + f"self_attn.{m}_proj.bias"]) for m in ("q", "k", "v", "out")}
            norm = [w[p + "self_attn_layer_norm.weight"], w[p + "self_attn_layer_norm.bias"]]
            def mlp(x, p=p):
                h = layer_norm(x, w[p + "final_layer_norm.weight"], w[p + "final_layer_norm.bias"])
                h = np.maximum(h @ w[p + "fc1.weight"].T + w[p + "fc1.bias"], 0)
                return h @ w[p + "fc2.weight"].T + w[p + "fc2.bias"]
            a = Attention(of["q"][0], of["k"][0], of["v"][0], of["out"][0], of["q"][1], of["k"][1], of["v"][1], of["out"][1], n, n)
            self.layers.append((a, norm, layer_norm, mlp))
        E = w[p0 + "embed_tokens.weight"]
        self.embed = lambda ids: E[ids] + w[p0 + "embed_positions.weight"][np.arange(len(ids)) + 2]
        self.head = lambda x: layer_norm(x, w[p0 + "final_layer_norm.weight"], w[p0 + "final_layer_norm.bias"]) @ E.T

    def qwen3(self):
        """a norm of each head's queries and keys, with the same gain for every head"""
        d = self.c["head_dim"]
        self.llama(norm=lambda x, g: rms_norm(x.reshape(len(x), -1, d), g, 0).reshape(x.shape))

    def olmo2(self):
        """a norm over all heads' queries together, another over all keys; and blocks are normed behind"""
        self.llama(norm=lambda x, g: rms_norm(x, g, 0, 1e-5), eps=1e-5, behind=True)

    def llama(self, norm=None, eps=1e-6, behind=False):
        w, c = self.w, self.c
        n, n_kv = c["num_attention_heads"], c["num_key_value_heads"]
        before = (lambda x, g, b: x) if behind else rms_norm
        for i in range(c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            q, k, v, o = (w[p + f"self_attn.{m}_proj.weight"].T for m in "qkvo")
            gains = None if behind else [w[p + "input_layernorm.weight"], 0]
            def mlp(x, p=p):
                h = before(x, w[p + "post_attention_layernorm.weight"], 0)
                g = h @ w[p + "mlp.gate_proj.weight"].T
                y = (g / (1 + np.exp(-g)) * (h @ w[p + "mlp.up_proj.weight"].T)) @ w[p + "mlp.down_proj.weight"].T
                return rms_norm(y, w[p + "post_feedforward_layernorm.weight"], 0, eps) if behind else y
            zero = lambda m: np.zeros(m.shape[1])
            of_heads = norm and (lambda x, of_keys, p=p: norm(x, w[p + f"self_attn.{'k' if of_keys else 'q'}_norm.weight"]))
            a = Attention(q, k, v, o, zero(q), zero(k), zero(v), zero(o), n, n_kv, 10000.0, of_heads)
            a.behind = (lambda y, p=p: rms_norm(y, w[p + "post_attention_layernorm.weight"], 0, eps)) if behind else (lambda y: y)
            self.layers.append((a, gains or [1, 0], before, mlp))
        self.embed = lambda ids: w["model.embed_tokens.weight"][ids]
        head = w["lm_head.weight"] if "lm_head.weight" in w else w["model.embed_tokens.weight"]
        self.head = lambda x: rms_norm(x, w["model.norm.weight"], 0, eps) @ head.T

    def stream(self, attentions, ids, layer):
        """what goes into a layer, with these attentions before it"""
        x = self.embed(ids)
        for a, (_, norm, f, mlp) in zip(attentions[:layer], self.layers):
            x = x + a.behind(a.put_out(a.heads(f(x, *norm))))
            x = x + mlp(x)
        return x

    def inputs(self, attentions, ids, layer):
        """... and into its attention"""
        _, norm, f, _ = self.layers[layer]
        return f(self.stream(attentions, ids, layer), *norm)

    def logits(self, attentions, ids):
        x = self.embed(ids)
        for a, (_, norm, f, mlp) in zip(attentions, self.layers):
            x = x + a.behind(a.put_out(a.heads(f(x, *norm))))
            x = x + mlp(x)
        z = self.head(x)
        return z - np.log(np.exp(z - z.max(-1, keepdims=True)).sum(-1, keepdims=True)) - z.max(-1, keepdims=True)


# ---- linear algebra by its definitions ----

def root(c):
    values, vectors = np.linalg.eigh(c)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T

def leading(a, rank):
    """the leading right singular vectors, and the squares that the others hold"""
    _, s, vt = np.linalg.svd(a, full_matrices=False)
    return vt[:rank].T, (s[rank:] ** 2).sum(), (s ** 2).sum()

def fit(p, o, w):
    """W' with p W' nearest to o W, and the relative error of it; p, o [tokens][numbers]"""
    new = np.linalg.lstsq(p, o @ w, rcond=1e-6)[0]
    return new, math.sqrt(max(0, ((p @ new - o @ w) ** 2).sum() / ((o @ w) ** 2).sum()))


# ---- conversions of one module; x [tokens][D] its inputs, o its heads' outputs, as they calibrate ----

class Conversion:
    def __init__(self, model, options, calibrating):
        self.model, self.o, self.ids = model, options, calibrating
        self.original = [layer[0] for layer in model.layers]
        self.attentions, self.errors = [], []
        for i in range(len(self.original)):
            a, error = self.convert(i)
            self.attentions.append(a)
            self.errors.append(error)

    def inputs(self, i, attentions=None):
        return [self.model.inputs(attentions or self.original, ids, i) for ids in self.ids]

    def outputs(self, i, ids, a=None):
        return np.vstack([np.hstack((a or self.original[i]).heads(self.model.inputs(self.original, s, i))) for s in ids])

    def judged(self, i, make):
        """squares that the module's output is off by on each of four folds of sequences, of what make(sequences) fits
        to the others and gives on any; and on all, corrected for the fold that fits lack (Burman 1989); relative"""
        W, K = np.vstack(self.original[i].o), min(4, len(self.ids))
        squares = lambda give, ids: ((give(ids) - self.outputs(i, ids) @ W) ** 2).sum()
        whole, folds, more = squares(lambda ids: 0, self.ids), [], squares(make(self.ids), self.ids)
        for k in range(K):
            others = [s for j, s in enumerate(self.ids) if j % K != k]
            give = make(others)
            folds.append(squares(give, self.ids[k::K]))
            more -= (folds[-1] + squares(give, others)) / K
        return sum(folds) / whole, math.sqrt((sum(folds) + more) / whole)

    def judged_directions(self, i, m, W, rank):
        """what directions beyond a rank hold, cross-fitted in the same way"""
        def form(ids):
            all_, self.ids = self.ids, ids
            C = self.measure_of(i, m) * sum(map(len, ids))
            self.ids = all_
            return W.T @ C @ W
        def beyond(F, Z):
            return np.trace(F) - np.trace(Z.T @ F @ Z)
        vectors = lambda F: np.linalg.eigh(F)[1][:, ::-1][:, :rank]
        K, lost = min(4, len(self.ids)), beyond(form(self.ids), vectors(form(self.ids)))
        for k in range(K):
            others, own = form([s for j, s in enumerate(self.ids) if j % K != k]), form(self.ids[k::K])
            judged = beyond(own, vectors(others))
            lost += judged - (judged + beyond(others, vectors(others))) / K
        return lost

    def turn(self, i, head):
        """the mean angle by which the stream behind attention turns if the head puts out nothing"""
        a, angles = self.original[i], []
        for ids in self.ids:
            x, outputs = self.model.stream(self.original, ids, i), a.heads(self.model.inputs(self.original, ids, i))
            h, less = (x + a.behind(a.put_out(o)) for o in (outputs, [o * (j != head) for j, o in enumerate(outputs)]))
            angles.extend(np.arccos((h * less).sum(1) / np.linalg.norm(h, axis=1) / np.linalg.norm(less, axis=1)))
        return np.mean(angles)

    def changed(self, i, convert):
        """for `judged`: a copy's heads with W_O as it is"""
        a = self.original[i].copy()
        convert(a)
        return lambda ids: lambda others: self.outputs(i, others, a) @ np.vstack(self.original[i].o)

    def refitted(self, i, convert):
        """for `judged`: W_O fitted to the heads of a copy that convert(copy) changes by self.ids"""
        def make(ids):
            a, all_, self.ids = self.original[i].copy(), self.ids, ids
            convert(a)
            self.ids = all_
            new = fit(self.outputs(i, ids, a), self.outputs(i, ids), np.vstack(self.original[i].o))[0]
            return lambda others: self.outputs(i, others, a) @ new
        return make

    def measure(self, i, default):
        return self.measure_of(i, self.o.get("measure", default))

    def measure_of(self, i, m):
        x = np.vstack(self.inputs(i))
        if m == "weights":
            return np.eye(x.shape[1])
        if m == "gain":
            return np.diag(self.model.layers[i][1][0] ** 2)
        C = x.T @ x / len(x)
        mean = x.mean(0)
        return {"inputs": C, "weighed": C, "centered": C - np.outer(mean, mean), "diagonal": np.diag(np.diag(C))}[m]

    def convert(self, i):
        a = self.original[i].copy()
        name = self.o["method"].replace("-", "_")
        error = getattr(self, name)(i, a)
        if error is None:
            return a, None
        refit = self.o.get("refit", "auto")
        if refit in ("tokens", "sequential"):
            xs = self.inputs(i, self.attentions + self.original[i:] if refit == "sequential" else None)
            o = np.vstack([np.hstack(self.original[i].heads(x)) for x in xs])
            p = np.vstack([np.hstack(a.heads(x)) for x in xs])
            new, error = fit(p, o, np.vstack(self.original[i].o))
            a.o = np.split(new, np.cumsum([w.shape[0] for w in a.o])[:-1])
        elif refit == "auto" and name in ("ov", "drop") and "calibration" in self.o:
            xs = self.inputs(i)
            o = np.vstack([np.hstack(self.original[i].heads(x)) for x in xs])
            p = np.vstack([np.hstack(a.heads(x)) for x in xs])
            new, _ = fit(p, o, np.vstack(self.original[i].o))
            a.o = np.split(new, np.cumsum([w.shape[0] for w in a.o])[:-1])
            convert = self.dropping if name == "drop" else lambda copy: self.ov(i, copy)
            error = self.judged(i, self.refitted(i, convert))[1]
        return a, error

    def group(self, a, kv):
        per = a.n // len(a.v)
        return range(kv * per, (kv + 1) * per)

    def ov(self, i, a):
        rank, lost, whole = int(self.o["rank"]), 0, 0
        grouped = a.n != len(a.v)
        m = self.o.get("measure", "auto")
        m = m if m != "auto" else ("weights" if "calibration" not in self.o else "inputs" if grouped else "outputs")
        outputs = [np.vstack(h) for h in zip(*(self.original[i].heads(x) for x in self.inputs(i)))]
        for kv in range(len(a.v)):
            O = np.hstack([a.o[h] for h in self.group(a, kv)])
            if m == "outputs":
                R = outputs[kv] / math.sqrt(len(outputs[kv]))
            else:
                R = root(self.measure(i, m)) @ a.v[kv]
            Z, l, all_ = leading(R @ O, rank)
            lost, whole = lost + l, whole + all_
            a.v[kv], a.bv[kv] = a.v[kv] @ O @ Z, a.bv[kv] @ O @ Z
            for j, h in enumerate(self.group(a, kv)):
                D = a.o[h].shape[1]
                a.o[h] = Z[j * D:(j + 1) * D].T
        return math.sqrt(lost / whole)

    def collab(self, i, a):
        """Of cases at full rank, where it is the original."""
        return 0.0

    def kv_latent(self, i, a):
        rank, of = int(self.o["rank"]), self.o.get("of", "values")
        has_data = "calibration" in self.o
        ws = a.k if of == "keys" else a.v
        W = np.hstack(ws)
        default = ("inputs" if a.theta else "centered") if of == "keys" else "weighed"
        m = self.o.get("measure", default if has_data else "weights")
        R = root(self.measure(i, m)) @ W
        K = np.eye(W.shape[1])
        if m == "weighed":
            d = ws[0].shape[1]
            K = np.zeros_like(K)
            for kv in range(len(ws)):
                K[kv * d:(kv + 1) * d, kv * d:(kv + 1) * d] = root(sum(a.o[h] @ a.o[h].T for h in self.group(a, kv)))
        Z, lost, whole = leading(R @ K, rank)
        if has_data and m not in ("weights", "gain"):
            lost = self.judged_directions(i, m, W @ K, rank) / sum(map(len, self.ids))
        new = split(W @ K @ Z @ Z.T @ np.linalg.inv(K), len(ws))
        if of == "keys":
            a.k = new
        else:
            a.v = new
        return math.sqrt(lost / whole)

    def gqa(self, i, a):
        """neighbors, or the groups that lose least by weights where those lose less"""
        before, order = a.copy(), list(range(a.n_kv))
        error = self.share(i, a)
        if self.o.get("of", "both") == "both" and 1 < int(self.o["rank"]) < a.n_kv:
            order, other = self.regroup(i, before), before.copy()
            self.reorder(other, order)
            lost = self.share(i, other)
            if lost < error:
                a.__dict__, error = other.__dict__, lost
        return error

    def share(self, i, a):
        error = self.group_keys(i, a) if self.o.get("of", "both") == "both" else 0
        return math.hypot(error, self.group_values(i, a))

    def reorder(self, a, order):
        """key/value heads in this order, and query heads with them; the model is the same"""
        heads = [h for kv in order for h in range(a.n) if a.kv(h, order) == kv]
        a.q, a.bq, a.o = ([of[h] for h in heads] for of in (a.q, a.bq, a.o))
        a.k, a.bk, a.v, a.bv = ([of[kv] for kv in order] for of in (a.k, a.bk, a.v, a.bv))

    def regroup(self, i, a):
        """of all ways to put the heads into groups of one size the one that loses least by weights"""
        def ways(heads):
            if not heads:
                yield []
            for others in itertools.combinations(heads[1:], a.n_kv // int(self.o["rank"]) - 1):
                group = [heads[0], *others]
                yield from (group + rest for rest in ways([h for h in heads if h not in group]))
        options, self.o = self.o, {"method": "gqa", "rank": self.o["rank"]}
        def cost(order):
            other = a.copy()
            self.reorder(other, order)
            return self.share(i, other)
        order = min(ways(list(range(a.n_kv))), key=cost)
        self.o = options
        return order

    def with_bias(self, i, m, has_bias):
        """the measure of inputs with a 1 behind them, for biases; centered, that is nothing"""
        C = self.measure_of(i, m)
        if not has_bias:
            return C
        x = np.vstack(self.inputs(i))
        out = np.eye(len(C) + 1)
        out[:-1, :-1] = C
        if m == "inputs":
            out[-1, :-1] = out[:-1, -1] = x.mean(0)
        out[-1, -1] = m != "centered"
        return out

    def group_keys(self, i, a):
        """common keys of groups, each plane of rotary ones as one complex column"""
        left, has_data = int(self.o["rank"]), "calibration" in self.o
        has_bias, D = not a.theta, a.k[0].shape[0]
        m = self.o.get("measure", ("inputs" if a.theta else "centered") if has_data else "weights")
        L = root(self.with_bias(i, "inputs" if m == "centered" else m, has_bias))
        R = root(self.with_bias(i, m, has_bias))
        back = np.linalg.pinv(R, rcond=1e-6)
        split_up = lambda w: np.split(w[:, :w.shape[1] // 2] + 1j * w[:, w.shape[1] // 2:], w.shape[1] // 2, 1) if a.theta else [w]
        join_up = lambda parts: np.hstack([p.real for p in parts] + [p.imag for p in parts]) if a.theta else parts[0]
        with_b = lambda w, b: np.vstack([w, b]) if has_bias else w
        Q = [split_up(with_b(a.q[h], a.bq[h])) for h in range(a.n)]
        K = [split_up(with_b(a.k[j], a.bk[j])) for j in range(len(a.k))]
        owner, size, lost, whole = [a.kv(h, a.k) for h in range(a.n)], len(a.k) // left, 0, 0
        k, bk = [], []
        for place in range(left):
            kvs = range(place * size, (place + 1) * size)
            heads = [h for h in range(a.n) if owner[h] in kvs]
            keys, queries = [], {h: [] for h in heads}
            for p in range(len(K[0])):
                q, old = {h: Q[h][p] for h in heads}, {j: K[j][p] for j in kvs}
                A = np.vstack([L @ q[h] @ old[owner[h]].conj().T @ R for h in heads])
                Z = np.linalg.svd(A, full_matrices=False)[2][:old[kvs[0]].shape[1]].conj().T
                new, put = back @ Z, {h: q[h] @ old[owner[h]].conj().T @ R @ Z for h in heads}
                for h in heads:
                    queries[h].append(put[h])
                    form = q[h] @ old[owner[h]].conj().T
                    lost += (abs(L @ (form - put[h] @ new.conj().T) @ R) ** 2).sum()
                    whole += (abs(L @ form @ R) ** 2).sum()
                keys.append(new)
            new = join_up(keys)
            k.append(new[:D])
            bk.append(new[D] if has_bias else np.zeros(new.shape[1]))
            for h in heads:
                new = join_up(queries[h])
                a.q[h] = new[:D]
                a.bq[h] = new[D] if has_bias else a.bq[h]
        a.k, a.bk = k, bk
        return math.sqrt(lost / whole)

    def group_values(self, i, a):
        left, has_data = int(self.o["rank"]), "calibration" in self.o
        C = self.measure(i, "weighed" if has_data else "weights")
        size, d = len(a.v) // left, a.v[0].shape[1]
        lost = whole = 0
        v, bv = [], []
        for place in range(left):
            heads = [h for kv in range(place * size, (place + 1) * size) for h in self.group(a, kv)]
            N = np.hstack([a.v[a.kv(h, a.v)] @ a.o[h] for h in heads])
            Z, l, all_ = leading(root(C) @ N, d)
            lost, whole = lost + l, whole + all_
            v.append(N @ Z)
            bv.append(np.hstack([a.bv[a.kv(h, a.v)] @ a.o[h] for h in heads]) @ Z)
            for j, h in enumerate(heads):
                D = a.o[h].shape[1]
                a.o[h] = Z[j * D:(j + 1) * D].T
        a.v, a.bv = v, bv
        return math.sqrt(lost / whole)

    def gone(self, i, n, cost):
        """the heads that are named, or so many whose `cost`(heads) is least, one after the other"""
        if ":" in self.o["drop"]:
            return [int(h) for l, h in (p.split(":") for p in self.o["drop"].split(",")) if int(l) == i]
        gone = []
        while len(gone) < int(self.o["drop"]):
            gone.append(min((h for h in range(n) if h not in gone), key=lambda h: cost(gone + [h])))
        return gone

    def drop(self, i, a):
        def without(heads):
            def convert(copy):
                for h in heads:
                    copy.v[h], copy.bv[h] = copy.v[h] * 0, copy.bv[h] * 0
            return convert
        def cost(heads):
            refitted, changed = (self.judged(i, make(i, without(heads[-1:])))[1] for make in (self.refitted, self.changed))
            return self.turn(i, heads[-1]) * refitted / changed
        gone = self.gone(i, a.n, cost)
        if not gone:
            return None
        A = [a.q[h] @ a.k[a.kv(h, a.k)].T for h in range(a.n)]
        self.dropping = without(gone)
        self.dropping(a)
        return math.sqrt(sum((A[h] ** 2).sum() for h in gone) / sum((m ** 2).sum() for m in A))

    def merge(self, i, a):
        """each removed head is replaced by the remaining one whose mapped output is nearest"""
        V = [np.vstack([a.v[a.kv(h, a.v)], a.bv[a.kv(h, a.v)]]) for h in range(a.n)]
        A = [np.vstack([a.q[h], a.bq[h]]) @ a.k[a.kv(h, a.k)].T for h in range(a.n)]
        o, scores = V, lambda h, t: ((A[h] - A[t]) ** 2).sum() / sum((m ** 2).sum() for m in A)
        if "calibration" in self.o:
            return self.merge_by_data(i, a)
        whole = (sum(p @ w for p, w in zip(o, a.o)) ** 2).sum()
        maps = {(h, t): np.linalg.lstsq(o[t], o[h], rcond=1e-6)[0] for h in range(a.n) for t in range(a.n)}
        left = lambda h, t: (((o[h] - o[t] @ maps[h, t]) @ a.o[h]) ** 2).sum() / whole + scores(h, t)
        twins = lambda heads: {h: min((t for t in range(a.n) if t not in heads), key=lambda t: left(h, t)) for h in heads}
        gone = self.gone(i, a.n, lambda heads: sum(left(h, t) for h, t in twins(heads).items()))
        if not gone:
            return None
        lost, old = 0, list(a.o)
        for h, t in twins(gone).items():
            a.o[t], lost = a.o[t] + maps[h, t] @ old[h], lost + scores(h, t)
            a.o[h] = a.o[h] * 0
        error = (sum(p @ (new - w) for p, w, new in zip(o, old, a.o)) ** 2).sum() / whole
        return math.sqrt(error + lost)

    def merge_by_data(self, i, a):
        def make(pairs):
            def fitted(ids):
                o, new = np.split(self.outputs(i, ids), a.n, 1), list(self.original[i].o)
                for h, t in pairs.items():
                    new[t] = new[t] + np.linalg.lstsq(o[t], o[h], rcond=1e-6)[0] @ self.original[i].o[h]
                for h in pairs:
                    new[h] = new[h] * 0
                self.merged = new
                return lambda others: self.outputs(i, others) @ np.vstack(new)
            return fitted
        left = {(h, t): self.judged(i, make({h: t}))[0] for h in range(a.n) for t in range(a.n) if h != t}
        twins = lambda heads: {h: min((t for t in range(a.n) if t not in heads), key=lambda t: left[h, t]) for h in heads}
        gone = self.gone(i, a.n, lambda heads: sum(left[pair] for pair in twins(heads).items()))
        if not gone:
            return None
        error = self.judged(i, make(twins(gone)))[1]
        make(twins(gone))(self.ids)
        a.o = self.merged
        return error

    def qk(self, i, a):
        rank, lost, whole = int(self.o["rank"]), 0, 0
        m = self.o.get("measure", "centered" if "calibration" in self.o else "weights")
        L, R = (root(self.measure_of(i, n)) for n in ("inputs" if m == "centered" else m, m))
        for kv in range(len(a.k)):
            heads = [h for h in range(a.n) if a.kv(h, a.k) == kv]
            A = np.vstack([L @ a.q[h] @ a.k[kv].T @ R for h in heads])
            Z, l, all_ = leading(A, rank)
            lost, whole = lost + l, whole + all_
            k, back = a.k[kv], np.linalg.pinv(R, rcond=1e-6)
            a.k[kv], a.bk[kv] = back @ Z, np.zeros(rank)
            for h in heads:
                a.q[h], a.bq[h] = a.q[h] @ k.T @ R @ Z, a.bq[h] @ k.T @ R @ Z
        return math.sqrt(lost / whole)

    def mhe_mul(self, i, a):
        """one query, key and value for all heads, which each scales: of many random starts the best of
        alternating least squares"""
        d, n, has_data = a.q[0].shape[1], a.n, "calibration" in self.o
        m = self.o.get("measure", "centered" if has_data else "weights")
        L, R = (root(self.measure_of(i, s)) for s in ("inputs" if m == "centered" else m, m))
        A = np.stack([L @ a.q[h] @ a.k[a.kv(h, a.k)].T @ R for h in range(n)])
        unfold = [A.reshape(n, -1), A.transpose(1, 0, 2).reshape(A.shape[1], -1), A.transpose(2, 0, 1).reshape(A.shape[2], -1)]
        khatri_rao = lambda x, y: (x[:, None, :] * y[None, :, :]).reshape(-1, d)
        best = None
        for seed in range(8):
            random = np.random.default_rng(seed)
            f, last = [random.standard_normal((size, d)) for size in A.shape], np.inf
            for sweep in range(4000):
                for mode in range(3):
                    x, y = (f[k] for k in range(3) if k != mode)
                    f[mode] = np.linalg.solve(x.T @ x * (y.T @ y), (unfold[mode] @ khatri_rao(x, y)).T).T
                    f[mode] /= np.linalg.norm(f[mode], axis=0) if mode < 2 else 1
                left = np.linalg.norm(unfold[2] - f[2] @ khatri_rao(f[0], f[1]).T)
                if last - left < 1e-12 * last:
                    break
                last = left
            if best is None or left < best[0]:
                best = left, f
        left, (mixing, q, k) = best
        q, k = np.linalg.pinv(L, rcond=1e-6) @ q, np.linalg.pinv(R, rcond=1e-6) @ k
        content = [a.k[a.kv(h, a.k)] @ a.bq[h][:, None] for h in range(n)]
        self.o["rank"] = "1"
        error = math.hypot(left / np.linalg.norm(A), self.group_values(i, a))
        a.q = [np.hstack([q * mixing[h], np.zeros((len(q), 1))]) for h in range(n)]
        a.bq = [np.r_[np.zeros(d), 1.0]] * n
        a.k, a.bk = [np.hstack([k, c]) for c in content], [np.zeros(d + 1)] * n
        return error

    def tucker(self, i, a):
        assert int(self.o["rank"]) == a.q[0].shape[0], "at full rank alone: nothing is lost"
        return 0.0


# ---- results ----

def judge(model, attentions, sequences):
    original = compressed = kl = 0
    n = n_compared = 0
    for ids in sequences:
        a = model.logits([layer[0] for layer in model.layers], ids)
        b = model.logits(attentions, ids)
        for t in range(len(ids) - 1):
            original, compressed, n = original - a[t, ids[t + 1]], compressed - b[t, ids[t + 1]], n + 1
            if t > 0:
                kl, n_compared = kl + (np.exp(a[t]) * (a[t] - b[t])).sum(), n_compared + 1
    return {"original": original / n, "compressed": compressed / n, "kl": kl / n_compared}

def read_options(text):
    words, out = shlex.split(text), {}
    for at, word in enumerate(words):
        if word.startswith("--"):
            out[word[2:]] = words[at + 1] if at + 1 < len(words) and not words[at + 1].startswith("--") else True
    return out

def main(write_tiny, cases):
    for path in cases:
        case = json.load(open(path))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([write_tiny, path, folder], check=True)
            model = Model(load(folder), json.load(open(folder + "/config.json")))
        n = case["calibrating"]
        for c in case["conversions"]:
            done = Conversion(model, read_options(c["options"]), case["tokens"][:n])
            c["errors"] = [float(f"{e:.8g}") for e in done.errors if e is not None]
            c.update({k: float(f"{v:.8g}") for k, v in judge(model, done.attentions, case["tokens"][n:]).items()})
        lines = ["  " + json.dumps(k) + ": " + json.dumps(v) for k, v in case.items() if k not in ("tokens", "conversions")]
        rows = {k: ",\n".join("    " + json.dumps(r) for r in case[k]) for k in ("tokens", "conversions")}
        with open(path, "w") as out:
            out.write("{\n" + ",\n".join(lines + [f'  "{k}": [\n{v}\n  ]' for k, v in rows.items()]) + "\n}\n")

main(sys.argv[1], sys.argv[2:])
