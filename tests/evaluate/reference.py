#!/usr/bin/env python3
"""Losses and embeddings without each head, with their standard errors, in float64: an independent program.

    reference.py make               writes ../data/tiny-bert, a BERT with its head for masked tokens
    reference.py expected           prints what `evaluate` finds on TOKENS, for `expected` here
    reference.py tokens             prints TOKENS

It follows transformers (modeling_bert.py, BertForMaskedLM) and knows nothing of the catalog. Standard errors
are the jackknife's; of the loss a bootstrap over sequences is printed too. Needs numpy; the tests don't.
"""
import json, math, os, struct, sys
import numpy as np

D, HEADS, LAYERS, FEED, VOCAB, POSITIONS, MASK = 12, 3, 2, 20, 17, 19, 4
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tiny-bert")
TOKENS = [[2, 7, 9, 16, 5, 3], [2, 8, 8, 14, 6, 11, 12, 5, 10, 13, 9, 16, 3], [2, 15, 3], [2, 10, 12, 7, 3],
          [2, 9, 5, 13, 3, 11, 14, 6, 3], [2, 3]]  # fmt: skip
CONFIG = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": VOCAB, "hidden_size": D,
          "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": FEED,
          "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "hidden_act": "gelu"}  # fmt: skip
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "eats", "fish", "house", "in", "old", "red",
         "the", "tree", "sees"]  # fmt: skip


# ---- the model ----

def shapes():
    e, p = "bert.embeddings.", "cls.predictions."
    yield e + "word_embeddings.weight", (VOCAB, D)
    yield e + "position_embeddings.weight", (POSITIONS, D)
    yield e + "token_type_embeddings.weight", (2, D)
    norms = [e + "LayerNorm", p + "transform.LayerNorm"]
    linears = [(p + "transform.dense", D, D)]
    for i in range(LAYERS):
        l = f"bert.encoder.layer.{i}."
        linears += [(l + "attention.self." + n, D, D) for n in ("query", "key", "value")]
        linears += [(l + "attention.output.dense", D, D), (l + "intermediate.dense", FEED, D), (l + "output.dense", D, FEED)]
        norms += [l + "attention.output.LayerNorm", l + "output.LayerNorm"]
    for name, rows, cols in linears:
        yield name + ".weight", (rows, cols)
        yield name + ".bias", (rows,)
    for name in norms:
        yield name + ".weight", (D,)
        yield name + ".bias", (D,)
    yield p + "bias", (VOCAB,)


def make():
    rng, header, data = np.random.default_rng(3), {}, b""
    for name, shape in shapes():
        x = rng.normal(size=shape) * 0.6 + (1 if "LayerNorm.weight" in name else 0)
        raw = x.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(FOLDER, exist_ok=True)
    with open(f"{FOLDER}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i in range(5)],
        "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }  # fmt: skip
    for name, content in (("config.json", CONFIG), ("tokenizer.json", tokenizer)):
        with open(f"{FOLDER}/{name}", "w") as file:
            json.dump(content, file)
            file.write("\n")


def load():
    raw = open(f"{FOLDER}/model.safetensors", "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    return {name: np.frombuffer(raw[8 + n:][slice(*t["data_offsets"])], "<f4").astype(float).reshape(t["shape"])
            for name, t in json.loads(raw[8:8 + n]).items()}  # fmt: skip


gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))


def norm(w, name, x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def run(w, ids, without=None):
    """The last hidden states; `without`: a layer and heads whose outputs are zero."""
    e = "bert.embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:len(ids)]
    x = norm(w, e + "LayerNorm", x + w[e + "token_type_embeddings.weight"][0])
    for i in range(LAYERS):
        l, width, out = f"bert.encoder.layer.{i}.", D // HEADS, np.zeros_like(x)
        q, k, v = (linear(w, l + "attention.self." + n, x) for n in ("query", "key", "value"))
        for h in range(HEADS):
            at = slice(h * width, (h + 1) * width)
            p = np.exp(q[:, at] @ k[:, at].T / math.sqrt(width))
            if without is None or i != without[0] or h not in without[1]:
                out[:, at] = p / p.sum(1, keepdims=True) @ v[:, at]
        x = norm(w, l + "attention.output.LayerNorm", x + linear(w, l + "attention.output.dense", out))
        y = linear(w, l + "output.dense", gelu(linear(w, l + "intermediate.dense", x)))
        x = norm(w, l + "output.LayerNorm", x + y)
    return x


# ---- what is measured of a sequence: a sum, and of how many numbers ----

def masked_positions(n):
    return [] if n < 3 else list(range(min(3, (n - 1) // 2), n - 1, 7))


def masked_loss(w, ids, without=None):
    at, p = masked_positions(len(ids)), "cls.predictions."
    masked = [MASK if i in at else t for i, t in enumerate(ids)]
    x = norm(w, p + "transform.LayerNorm", gelu(linear(w, p + "transform.dense", run(w, masked, without))))
    logits = x @ w["bert.embeddings.word_embeddings.weight"].T + w[p + "bias"]
    return sum(np.log(np.exp(logits[i]).sum()) - logits[i, ids[i]] for i in at), len(at)


def embedding(w, ids, without=None):
    mean = run(w, ids, without).mean(0)
    return mean / np.linalg.norm(mean)


# ---- means and their errors ----

def estimate(units):
    sums, n = (np.array([u[i] for u in units if u[1] > 0], float) for i in (0, 1))
    left = (sums.sum() - sums) / (n.sum() - n)
    return sums.sum() / n.sum(), math.sqrt((len(n) - 1) * left.var())


def bootstrap(units, draws=20000):
    sums, n = (np.array([u[i] for u in units if u[1] > 0], float) for i in (0, 1))
    drawn = np.random.default_rng(1).integers(len(n), size=(draws, len(n)))
    return (sums[drawn].sum(1) / n[drawn].sum(1)).std()


def change(before, after):
    return estimate([(a[0] - b[0], b[1]) for a, b in zip(after, before)])


def expected():
    w = load()
    whole = [masked_loss(w, ids) for ids in TOKENS]
    print("loss %.9g %.9g" % estimate(whole))
    print("# a bootstrap over sequences: %.3g" % bootstrap(whole))
    print("tokens", *("%.9g" % (masked_loss(w, ids)[0]) for ids in TOKENS))
    for layer in range(LAYERS):
        moved = {}
        for heads in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
            moved[heads] = np.array([1 - embedding(w, ids) @ embedding(w, ids, (layer, heads)) for ids in TOKENS])
            loss = [masked_loss(w, ids, (layer, heads)) for ids in TOKENS]
            numbers = estimate([(x, 1) for x in moved[heads]]) + change(whole, loss)
            if len(heads) == 2:
                beyond = moved[heads] - moved[heads[:1]] - moved[heads[1:]]
                numbers += estimate([(x, 1) for x in beyond])
            print(f"{layer}." + "+".join(map(str, heads)), *("%.9g" % x for x in numbers))


if sys.argv[1:] == ["make"]:
    make()
elif sys.argv[1:] == ["tokens"]:
    for ids in TOKENS:
        print(*ids)
elif sys.argv[1:] == ["expected"]:
    expected()
else:
    sys.exit(__doc__)
