#!/usr/bin/env python3
"""An independent forward pass in float64, family by family, for tests/forward/families.c.

    reference.py WRITE_TINY CASE...     prints nothing; writes "expected" into each CASE

WRITE_TINY is build/tests/forward/write-tiny, which writes a case's checkpoint. Each function follows
the reference implementation of its family (transformers, modeling_NAME.py; llama2.c, run.c) and
knows nothing of the catalog. Needs numpy.
"""
import json, math, struct, subprocess, sys, tempfile
import numpy as np


def load(folder):
    data = open(folder + "/model.safetensors", "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    out = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        a, b = t["data_offsets"]
        out[name] = np.frombuffer(data[8 + n + a:8 + n + b], "<f4").astype(np.float64).reshape(t["shape"])
    return out


# ---- pieces: x is [tokens][width] ----

def erf(x):
    return np.vectorize(math.erf)(x)

def gelu(x): return 0.5 * x * (1 + erf(x / math.sqrt(2)))
def gelu_tanh(x): return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
def silu(x): return x / (1 + np.exp(-x))
def relu(x): return np.maximum(x, 0)

ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "silu": silu, "relu": relu}

def layer_norm(x, weight, bias, eps):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * weight + (0 if bias is None else bias)

def rms_norm(x, weight, eps):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps) * weight

def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def linear(w, name, x):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y

def heads(x, n):
    return x.reshape(x.shape[0], n, -1).transpose(1, 0, 2)      # [head][token][width]

def attend(q, k, v, mask, scale, cap=None, bias=0, sinks=None):
    """q [heads][tokens][d], k and v [kv heads][tokens][d]; mask [tokens][tokens] is True where seen;
    bias [heads][tokens][tokens] is added to scores; sinks [heads] are one score more of each query."""
    k, v = np.repeat(k, len(q) // len(k), 0), np.repeat(v, len(q) // len(v), 0)
    scores = q @ k.transpose(0, 2, 1) * scale
    if cap:
        scores = cap * np.tanh(scores / cap)
    scores = np.where(mask, scores + bias, -np.inf)
    if sinks is not None:
        scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], scores.shape[:2] + (1,))], -1)
    o = softmax(scores)[..., :v.shape[1]] @ v
    return o.transpose(1, 0, 2).reshape(q.shape[1], -1)

def causal(n, window=None):
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return (j <= i) & (j > i - window if window else True)

def frequencies(c, dim, base, n):
    """As transformers' modeling_rope_utils.py: inverse frequencies and a factor."""
    inv = 1.0 / base ** (np.arange(0, dim, 2) / dim) / c.get("rope_freqs", 1)
    s = c.get("rope_scaling") or c.get("rope_parameters") or {}
    kind = s.get("rope_type", s.get("type", "default"))
    if kind == "default":
        return inv, 1.0
    f = s.get("factor")
    if kind == "linear":
        return inv / f, 1.0
    if kind == "llama3":
        old, low, high = s["original_max_position_embeddings"], s["low_freq_factor"], s["high_freq_factor"]
        wave = 2 * math.pi / inv
        out = np.where(wave > old / low, inv / f, inv)
        smooth = (old / wave - low) / (high - low)
        medium = ~(wave < old / high) & ~(wave > old / low)
        return np.where(medium, (1 - smooth) * out / f + smooth * out, out), 1.0
    if kind == "yarn":
        old = s.get("original_max_position_embeddings") or c["max_position_embeddings"]
        corr = lambda r: dim * math.log(old / (r * 2 * math.pi)) / (2 * math.log(base))
        low, high = corr(s.get("beta_fast", 32)), corr(s.get("beta_slow", 1))
        if s.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, dim - 1)
        if low == high:
            high += 0.001
        ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
        return inv / f * ramp + inv * (1 - ramp), 0.1 * math.log(f) + 1
    assert kind == "longrope", kind
    old = c["original_max_position_embeddings"]
    factor = c["max_position_embeddings"] / old
    ext = np.array(s["long_factor"] if n > old else s["short_factor"])
    return inv / ext, math.sqrt(1 + math.log(factor) / math.log(old)) if factor > 1 else 1.0

def rotate(x, c, base, width=None, interleaved=False):
    """x [heads][tokens][d]; the first `width` of d turn."""
    n, d = x.shape[1], x.shape[2]
    width = d if width is None else width
    if width == 0:
        return x
    inv, factor = frequencies(c, width, base, n)
    angle = np.arange(n)[:, None] * inv[None, :]
    cos, sin = np.cos(angle) * factor, np.sin(angle) * factor
    out = x.copy()
    if interleaved:
        a, b = x[..., 0:width:2], x[..., 1:width:2]
        out[..., 0:width:2], out[..., 1:width:2] = a * cos - b * sin, a * sin + b * cos
    else:
        h = width // 2
        a, b = x[..., :h], x[..., h:width]
        out[..., :h], out[..., h:width] = a * cos - b * sin, b * cos + a * sin
    return out


# ---- decoders like Llama ----

def llama_like(w, c, ids, *, eps, norm=None, offset=0, scale_embedding=False, window=lambda c, i: None,
               rope=lambda c, i: True, base=10000.0, fused=False, qk="", post=False, sandwich=False,
               act="silu", act_key="hidden_act", score=None, cap=None, logit_cap=None, rotary_part=1.0,
               parallel=False, feed=None, interleaved=False, embedding=1, residual=1, attention=None, divisor=1):
    d, H = c["hidden_size"], c["num_attention_heads"]
    K = c.get("num_key_value_heads") or H
    dh = c.get("head_dim") or d // H
    base = base if callable(base) else c.get("rope_theta", base)
    if norm is None:
        norm = lambda name, x: rms_norm(x, w[name + ".weight"] + offset, eps)
    x = w["model.embed_tokens.weight"][ids] * (math.sqrt(d) if scale_embedding else embedding)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        h = x if post else norm(p + "input_layernorm", x)
        if fused:
            qkv = linear(w, p + "self_attn.qkv_proj", h)
            q, k, v = qkv[:, :H * dh], qkv[:, H * dh:(H + K) * dh], qkv[:, (H + K) * dh:]
        else:
            q, k, v = (linear(w, p + f"self_attn.{n}_proj", h) for n in "qkv")
        sinks = w.get(p + "self_attn.sinks")
        if qk == "wide":
            q, k = norm(p + "self_attn.q_norm", q), norm(p + "self_attn.k_norm", k)
        q, k, v = heads(q, H), heads(k, K), heads(v, K)
        if qk == "head":
            q, k = norm(p + "self_attn.q_norm", q), norm(p + "self_attn.k_norm", k)
        if qk == "each" and c.get("qk_layernorm"):
            q = np.stack([layer_norm(q[j], w[p + f"self_attn.q_layernorm.norms.{j}.weight"], None, eps) for j in range(H)])
            k = np.stack([layer_norm(k[j], w[p + f"self_attn.k_layernorm.norms.{j}.weight"], None, eps) for j in range(K)])
        if rope(c, i):
            width = int(dh * c.get("partial_rotary_factor", rotary_part))
            b = base(c, i) if callable(base) else base
            q, k = rotate(q, c, b, width, interleaved), rotate(k, c, b, width, interleaved)
        s = attention or 1 / math.sqrt(score(c) if score else dh)
        a = linear(w, p + "self_attn.o_proj", attend(q, k, v, causal(len(ids), window(c, i)), s, cap and cap(c), 0, sinks))
        def mlp(h):
            if feed and (out := feed(w, c, p, h)) is not None:
                return out
            if fused:
                both = linear(w, p + "mlp.gate_up_proj", h)
                g, u = np.split(both, 2, -1)
            else:
                g, u = linear(w, p + "mlp.gate_proj", h), linear(w, p + "mlp.up_proj", h)
            return linear(w, p + "mlp.down_proj", ACTIVATIONS[c.get(act_key) or act](g) * u)
        if parallel and c.get("use_parallel_residual"):
            x = x + a + mlp(h)
        elif post:
            x = x + norm(p + "post_attention_layernorm", a)
            x = x + norm(p + "post_feedforward_layernorm", mlp(x))
        elif sandwich:
            x = x + norm(p + "post_attention_layernorm", a)
            x = x + norm(p + "post_feedforward_layernorm", mlp(norm(p + "pre_feedforward_layernorm", x)))
        else:
            x = x + a * residual
            x = x + mlp(norm(p + "post_attention_layernorm", x)) * residual
    x = norm("model.norm", x)
    head = "model.embed_tokens.weight" if "lm_head.weight" not in w else "lm_head.weight"
    logits = x @ w[head].T / divisor
    if logit_cap and logit_cap(c):
        logits = logit_cap(c) * np.tanh(logits / logit_cap(c))
    return logits

def tied(w, c, default):
    if c.get("tie_word_embeddings", default):
        w.pop("lm_head.weight", None)

def llama(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=c.get("rms_norm_eps", 1e-6))

def mistral(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-6, window=lambda c, i: c.get("sliding_window", 4096))

def qwen_window(c, i):
    on = c.get("use_sliding_window") and i >= c.get("max_window_layers", 28)
    return c.get("sliding_window", 4096) if on else None

def qwen2(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-6, window=qwen_window)

def qwen3(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-6, window=qwen_window, qk="head")

def smollm3(w, c, ids):
    tied(w, c, True)
    every = c.get("no_rope_layer_interval", 4)
    return llama_like(w, c, ids, eps=1e-6, base=2000000.0, rope=lambda c, i: (i + 1) % every != 0,
                      window=lambda c, i: c.get("sliding_window") if c.get("use_sliding_window") and (i + 1) % every == 0 else None)

def gemma(w, c, ids):
    tied(w, c, True)
    return llama_like(w, c, ids, eps=1e-6, offset=1, scale_embedding=True, act="gelu_pytorch_tanh", act_key="hidden_activation")

def gemma2(w, c, ids):
    tied(w, c, True)
    return llama_like(w, c, ids, eps=1e-6, offset=1, scale_embedding=True, act="gelu_pytorch_tanh",
                      act_key="hidden_activation", sandwich=True, score=lambda c: c.get("query_pre_attn_scalar", 256),
                      cap=lambda c: c.get("attn_logit_softcapping", 50.0), logit_cap=lambda c: c.get("final_logit_softcapping", 30.0),
                      window=lambda c, i: c.get("sliding_window", 4096) if i % 2 == 0 else None)

def gemma3(w, c, ids):
    """modeling_gemma3.py: every sixth layer sees all tokens, and turns by a base of its own."""
    tied(w, c, True)
    is_global = lambda i: (i + 1) % 6 == 0
    return llama_like(w, c, ids, eps=1e-6, offset=1, scale_embedding=True, act="gelu_pytorch_tanh",
                      act_key="hidden_activation", sandwich=True, qk="head", score=lambda c: c["query_pre_attn_scalar"],
                      base=lambda c, i: c["rope_theta"] if is_global(i) else 10000.0,
                      window=lambda c, i: None if is_global(i) else c["sliding_window"])

def granite(w, c, ids, interleaved=False):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-6, interleaved=interleaved, embedding=c["embedding_multiplier"],
                      residual=c["residual_multiplier"], attention=c["attention_multiplier"], divisor=c["logits_scaling"])

def phi3(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-5, fused=True, window=lambda c, i: c.get("sliding_window"))

def olmo2(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-5, post=True, qk="wide")

def stablelm(w, c, ids):
    tied(w, c, False)
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
    return llama_like(w, c, ids, eps=1e-5, norm=norm, qk="each", rotary_part=0.25, parallel=True)

def gated(w, c, gate, up, down, h):
    return linear(w, down, ACTIVATIONS[c.get("hidden_act", "silu")](linear(w, gate, h)) * linear(w, up, h))

def routed(scores, active, normalized, expert):
    """The sum over each token's experts: scores [tokens][experts], expert(e) is its output for all tokens."""
    probabilities, out = softmax(scores), 0
    chosen = np.argsort(-probabilities, axis=-1, kind="stable")[:, :active]
    kept = np.zeros_like(probabilities)
    np.put_along_axis(kept, chosen, np.take_along_axis(probabilities, chosen, -1), -1)
    if normalized:
        kept /= kept.sum(-1, keepdims=True)
    for e in range(scores.shape[1]):
        out = out + kept[:, e:e + 1] * expert(e)
    return out

def mixtral_feed(w, c, p, h):
    p += "block_sparse_moe."
    return routed(linear(w, p + "gate", h), c["num_experts_per_tok"], True,
                  lambda e: gated(w, c, p + f"experts.{e}.w1", p + f"experts.{e}.w3", p + f"experts.{e}.w2", h))

def qwen_feed(w, c, p, h):
    p += "mlp."
    if p + "gate.weight" not in w:
        return None
    names = lambda q: (q + ".gate_proj", q + ".up_proj", q + ".down_proj")
    out = routed(linear(w, p + "gate", h), c["num_experts_per_tok"], c.get("norm_topk_prob", False),
                 lambda e: gated(w, c, *names(p + f"experts.{e}"), h))
    if p + "shared_expert_gate.weight" in w:
        out = out + gated(w, c, *names(p + "shared_expert"), h) / (1 + np.exp(-linear(w, p + "shared_expert_gate", h)))
    return out

def gpt_oss_feed(w, c, p, h):
    p += "mlp."
    def expert(e):
        both = h @ w[p + "experts.gate_up_proj"][e] + w[p + "experts.gate_up_proj_bias"][e]
        gate, up = np.minimum(both[:, ::2], 7), np.clip(both[:, 1::2], -7, 7)
        inner = (up + 1) * gate / (1 + np.exp(-1.702 * gate))
        return inner @ w[p + "experts.down_proj"][e] + w[p + "experts.down_proj_bias"][e]
    return routed(linear(w, p + "router", h), c["num_experts_per_tok"], True, expert)

def mixtral(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-5, base=1000000.0, window=lambda c, i: c.get("sliding_window"), feed=mixtral_feed)

def qwen2_moe(w, c, ids):
    tied(w, c, False)
    window = lambda c, i: c.get("sliding_window", 4096) if c.get("use_sliding_window") and (i + 1) % 2 and i < c.get("max_window_layers", 28) else None
    return llama_like(w, c, ids, eps=1e-6, window=window, feed=qwen_feed)

def qwen3_moe(w, c, ids):
    tied(w, c, False)
    window = lambda c, i: c.get("sliding_window", 4096) if c.get("use_sliding_window") else None
    return llama_like(w, c, ids, eps=1e-6, window=window, qk="head", feed=qwen_feed)

def olmoe(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-5, qk="wide", feed=qwen_feed)

def stacked_feed(w, c, p, h):
    p += "mlp."
    def expert(e):
        gate, up = np.split(h @ w[p + "experts.gate_up_proj"][e].T, 2, -1)
        return silu(gate) * up @ w[p + "experts.down_proj"][e].T
    shared = gated(w, c, *(p + f"shared_expert.{n}_proj" for n in ("gate", "up", "down")), h)
    return routed(linear(w, p + "gate", h), c["num_experts_per_tok"], c.get("norm_topk_prob", True), expert) \
        + shared / (1 + np.exp(-linear(w, p + "shared_expert_gate", h)))

def delta_net(w, c, p, h):
    """modeling_qwen3_next.py, torch_recurrent_gated_delta_rule: token by token."""
    n, K, V = len(h), c["linear_num_key_heads"], c["linear_num_value_heads"]
    dk, dv, each = c["linear_key_head_dim"], c["linear_value_head_dim"], V // K
    split = lambda x, *at: np.split(x.reshape(n, K, -1), np.cumsum(at), -1)
    q, k, v, z = (x.reshape(n, -1) for x in split(linear(w, p + "in_proj_qkvz", h), dk, dk, each * dv))
    b, a = (x.reshape(n, V) for x in split(linear(w, p + "in_proj_ba", h), each))
    x, taps = np.concatenate([q, k, v], -1), w[p + "conv1d.weight"][:, 0]
    padded = np.concatenate([np.zeros((taps.shape[1] - 1, x.shape[1])), x])
    x = silu(sum(padded[j:j + n] * taps[:, j] for j in range(taps.shape[1])))
    q, k, v = (y.reshape(n, -1, d) for y, d in zip(np.split(x, [K * dk, 2 * K * dk], -1), (dk, dk, dv)))
    q, k = (np.repeat(y / np.sqrt((y ** 2).sum(-1, keepdims=True) + 1e-6), each, 1) for y in (q, k))
    decay = np.exp(-np.exp(w[p + "A_log"]) * np.log1p(np.exp(a + w[p + "dt_bias"])))
    beta, state, out = 1 / (1 + np.exp(-b)), np.zeros((V, dk, dv)), []
    for t in range(n):
        state = state * decay[t][:, None, None]
        known = np.einsum("hkv,hk->hv", state, k[t])
        state = state + np.einsum("hk,hv->hkv", k[t], beta[t][:, None] * (v[t] - known))
        out.append(np.einsum("hkv,hk->hv", state, q[t]) / math.sqrt(dk))
    out = rms_norm(np.array(out), w[p + "norm.weight"], 1e-6) * silu(z.reshape(n, V, dv))
    return linear(w, p + "out_proj", out.reshape(n, -1))

def gated_attention(w, c, p, h, norm):
    """The query projection is a head's queries, then its gates."""
    H, K = c["num_attention_heads"], c["num_key_value_heads"]
    q, gate = np.split(heads(linear(w, p + "q_proj", h), H), 2, -1)
    k, v = (heads(linear(w, p + f"{x}_proj", h), K) for x in "kv")
    width = int(q.shape[-1] * .25)
    q, k = (rotate(norm(p + name, x), c, 10000.0, width) for name, x in (("q_norm", q), ("k_norm", k)))
    out = attend(q, k, v, causal(len(h)), 1 / math.sqrt(q.shape[-1]))
    return linear(w, p + "o_proj", out / (1 + np.exp(-gate.transpose(1, 0, 2).reshape(len(h), -1))))

def qwen3_next(w, c, ids):
    tied(w, c, False)
    norm = lambda name, x: rms_norm(x, 1 + w[name + ".weight"], 1e-6)
    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        h = norm(p + "input_layernorm", x)
        x = x + (gated_attention(w, c, p + "self_attn.", h, norm) if (i + 1) % 4 == 0 else delta_net(w, c, p + "linear_attn.", h))
        h = norm(p + "post_attention_layernorm", x)
        x = x + (stacked_feed(w, c, p, h) if p + "mlp.gate.weight" in w
                 else gated(w, c, *(p + f"mlp.{n}_proj" for n in ("gate", "up", "down")), h))
    return norm("model.norm", x) @ w["lm_head.weight"].T

def lfm2(w, c, ids):
    H, K = c["num_attention_heads"], c["num_key_value_heads"]
    norm = lambda name, x: rms_norm(x, w[name + ".weight"], 1e-5)
    def convolution(p, h):
        before, after, x = np.split(linear(w, p + "in_proj", h), 3, -1)
        taps = w[p + "conv.weight"][:, 0]
        x = np.concatenate([np.zeros((taps.shape[1] - 1, x.shape[1])), before * x])
        return linear(w, p + "out_proj", after * sum(x[j:j + len(h)] * taps[:, j] for j in range(taps.shape[1])))
    def attention(p, h):
        q, k, v = (heads(linear(w, p + f"{n}_proj", h), m) for n, m in zip("qkv", (H, K, K)))
        q, k = (rotate(norm(p + name, x), c, 1000000.0) for name, x in (("q_layernorm", q), ("k_layernorm", k)))
        return linear(w, p + "out_proj", attend(q, k, v, causal(len(h)), 1 / math.sqrt(q.shape[-1])))
    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        h = norm(p + "operator_norm", x)
        x = x + (attention(p + "self_attn.", h) if i in c["full_attn_idxs"] else convolution(p + "conv.", h))
        x = x + gated(w, {}, *(p + f"feed_forward.w{n}" for n in "132"), norm(p + "ffn_norm", x))
    return norm("model.embedding_norm", x) @ w["model.embed_tokens.weight"].T

def gpt_oss(w, c, ids):
    tied(w, c, False)
    return llama_like(w, c, ids, eps=1e-5, base=150000.0, window=lambda c, i: c.get("sliding_window", 128) if i % 2 == 0 else None,
                      feed=gpt_oss_feed)

def meta_llama(w, c, ids):
    """llama2.c, run.c: pairs of neighbors turn together."""
    H, K = c["n_heads"], c["n_kv_heads"]
    norm = lambda name, x: rms_norm(x, w[name + ".weight"], 1e-5)
    x = w["tok_embeddings.weight"][ids]
    for i in range(c["n_layers"]):
        p = f"layers.{i}."
        h = norm(p + "attention_norm", x)
        q, k, v = (heads(linear(w, p + f"attention.w{n}", h), m) for n, m in zip("qkv", (H, K, K)))
        q, k = rotate(q, c, 10000.0, None, True), rotate(k, c, 10000.0, None, True)
        x = x + linear(w, p + "attention.wo", attend(q, k, v, causal(len(ids)), 1 / math.sqrt(q.shape[2])))
        h = norm(p + "ffn_norm", x)
        x = x + linear(w, p + "feed_forward.w2", silu(linear(w, p + "feed_forward.w1", h)) * linear(w, p + "feed_forward.w3", h))
    head = "tok_embeddings.weight" if c.get("tie_word_embeddings") else "output.weight"
    return norm("norm", x) @ w[head].T


# ---- llama.cpp's names of the same ----

GGUF_KEYS = {"hidden_size": "embedding_length", "n_heads": "attention_head_count", "num_attention_heads": "attention_head_count",
             "n_kv_heads": "attention_head_count_kv", "num_key_value_heads": "attention_head_count_kv",
             "n_layers": "block_count", "num_hidden_layers": "block_count", "head_dim": "attention_key_length",
             "tie_word_embeddings": "tie_word_embeddings", "n_head": "attention_head_count", "n_layer": "block_count",
             "sliding_window": "attention_sliding_window", "attn_logit_softcapping": "attn_logit_softcapping",
             "final_logit_softcapping": "final_logit_softcapping", "num_experts_per_tok": "expert_used_count",
             "rope_theta": "rope_freq_base", "rope_scaling": "rope_scaling", "embedding_multiplier": "embedding_scale", "residual_multiplier": "residual_scale",
             "attention_multiplier": "attention_scale", "logits_scaling": "logit_scale"}

def gguf(names, run, undo=lambda name, value: value, **given):
    """`undo`: the converter's change of a tensor; `given`: settings that such GGUF files lack."""
    def with_names(w, c, ids):
        renamed, rotary = {}, {"rope_freqs": w["rope_freqs.weight"]} if "rope_freqs.weight" in w else {}
        for name, value in w.items():
            value = undo(name, value)
            for ours, theirs in names:
                name = name.replace(ours, theirs)
            renamed[name] = value
        return run(renamed, {key: c[of] for key, of in GGUF_KEYS.items() if of in c} | given | rotary, ids)
    return with_names

gguf_llama = gguf([("blk", "layers"), ("attn_norm", "attention_norm"), ("attn_q.", "attention.wq."), ("attn_k.", "attention.wk."),
                   ("attn_v.", "attention.wv."), ("attn_output", "attention.wo"), ("ffn_gate", "feed_forward.w1"),
                   ("ffn_up", "feed_forward.w3"), ("ffn_down", "feed_forward.w2"), ("token_embd", "tok_embeddings"),
                   ("output_norm", "norm")], meta_llama)
qwen_names = [("blk", "model.layers"), ("attn_norm", "input_layernorm"), ("attn_q_norm", "self_attn.q_norm"),
              ("attn_k_norm", "self_attn.k_norm"), ("attn_q.", "self_attn.q_proj."), ("attn_k.", "self_attn.k_proj."),
              ("attn_v.", "self_attn.v_proj."), ("attn_output", "self_attn.o_proj"), ("ffn_norm", "post_attention_layernorm"),
              ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj"),
              ("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output.weight", "lm_head.weight")]


# ---- other decoders ----

def gpt2(w, c, ids):
    n, H, eps = len(ids), c["n_head"], 1e-5
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)
    conv = lambda name, x: x @ w[name + ".weight"] + w[name + ".bias"]
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:n]
    for i in range(c["n_layer"]):
        p = f"transformer.h.{i}."
        q, k, v = (heads(y, H) for y in np.split(conv(p + "attn.c_attn", norm(p + "ln_1", x)), 3, -1))
        x = x + conv(p + "attn.c_proj", attend(q, k, v, causal(n), 1 / math.sqrt(q.shape[2])))
        x = x + conv(p + "mlp.c_proj", gelu_tanh(conv(p + "mlp.c_fc", norm(p + "ln_2", x))))
    return norm("transformer.ln_f", x) @ w["transformer.wte.weight"].T

def gpt_neox(w, c, ids):
    n, H, eps = len(ids), c["num_attention_heads"], 1e-5
    dh = c["hidden_size"] // H
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)
    x = w["gpt_neox.embed_in.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        p = f"gpt_neox.layers.{i}."
        qkv = linear(w, p + "attention.query_key_value", norm(p + "input_layernorm", x)).reshape(n, H, 3 * dh).transpose(1, 0, 2)
        q, k, v = qkv[..., :dh], qkv[..., dh:2 * dh], qkv[..., 2 * dh:]
        width = int(dh * c.get("rotary_pct", 0.25))
        q, k = rotate(q, c, c.get("rotary_emb_base", 10000), width), rotate(k, c, c.get("rotary_emb_base", 10000), width)
        a = linear(w, p + "attention.dense", attend(q, k, v, causal(n), 1 / math.sqrt(dh)))
        mlp = lambda h: linear(w, p + "mlp.dense_4h_to_h", gelu(linear(w, p + "mlp.dense_h_to_4h", h)))
        if c.get("use_parallel_residual", True):
            x = x + a + mlp(norm(p + "post_attention_layernorm", x))
        else:
            x = x + a
            x = x + mlp(norm(p + "post_attention_layernorm", x))
    return norm("gpt_neox.final_layer_norm", x) @ w["embed_out.weight"].T

def opt(w, c, ids):
    n, H, first = len(ids), c["num_attention_heads"], c.get("do_layer_norm_before", True)
    p0 = "model.decoder."
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
    x = w[p0 + "embed_tokens.weight"][ids]
    if p0 + "project_in.weight" in w:
        x = linear(w, p0 + "project_in", x)
    x = x + w[p0 + "embed_positions.weight"][np.arange(n) + 2]
    for i in range(c["num_hidden_layers"]):
        p = p0 + f"layers.{i}."
        h = norm(p + "self_attn_layer_norm", x) if first else x
        q, k, v = (heads(linear(w, p + f"self_attn.{m}_proj", h), H) for m in "qkv")
        x = x + linear(w, p + "self_attn.out_proj", attend(q, k, v, causal(n), 1 / math.sqrt(q.shape[2])))
        if not first:
            x = norm(p + "self_attn_layer_norm", x)
        h = norm(p + "final_layer_norm", x) if first else x
        x = x + linear(w, p + "fc2", relu(linear(w, p + "fc1", h)))
        if not first:
            x = norm(p + "final_layer_norm", x)
    if first:
        x = norm(p0 + "final_layer_norm", x)
    if p0 + "project_out.weight" in w:
        x = linear(w, p0 + "project_out", x)
    return x @ w[p0 + "embed_tokens.weight"].T


def alibi(n_heads, n, most=8):
    """modeling_mpt.py, build_mpt_alibi_tensor; BLOOM's are the same: minus slope times distance."""
    power = 2 ** math.ceil(math.log2(n_heads))
    slopes = 2.0 ** -(np.arange(1, power + 1) * most / power)
    if power != n_heads:
        slopes = np.concatenate([slopes[1::2], slopes[::2]])[:n_heads]
    return slopes[:, None, None] * (np.arange(n)[None, :] - np.arange(n)[:, None])

def bloom(w, c, ids):
    n, H, d = len(ids), c["n_head"], c["hidden_size"]
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)
    x = norm("transformer.word_embeddings_layernorm", w["transformer.word_embeddings.weight"][ids])
    for i in range(c["n_layer"]):
        p = f"transformer.h.{i}."
        qkv = linear(w, p + "self_attention.query_key_value", norm(p + "input_layernorm", x)).reshape(n, H, 3, d // H)
        q, k, v = (qkv[:, :, j].transpose(1, 0, 2) for j in range(3))
        x = x + linear(w, p + "self_attention.dense", attend(q, k, v, causal(n), 1 / math.sqrt(d // H), None, alibi(H, n)))
        h = linear(w, p + "mlp.dense_h_to_4h", norm(p + "post_attention_layernorm", x))
        x = x + linear(w, p + "mlp.dense_4h_to_h", h * 0.5 * (1 + np.tanh(0.79788456 * h * (1 + 0.044715 * h * h))))
    return norm("transformer.ln_f", x) @ w["transformer.word_embeddings.weight"].T

def mpt(w, c, ids):
    n, H = len(ids), c["n_heads"]
    norm = lambda name, x: layer_norm(x, w[name + ".weight"], None, 1e-5)
    x = w["transformer.wte.weight"][ids]
    for i in range(c["n_layers"]):
        p = f"transformer.blocks.{i}."
        q, k, v = (heads(y, H) for y in np.split(linear(w, p + "attn.Wqkv", norm(p + "norm_1", x)), 3, -1))
        x = x + linear(w, p + "attn.out_proj", attend(q, k, v, causal(n), 1 / math.sqrt(q.shape[2]), None, alibi(H, n)))
        x = x + linear(w, p + "ffn.down_proj", gelu(linear(w, p + "ffn.up_proj", norm(p + "norm_2", x))))
    return norm("transformer.norm_f", x) @ w["transformer.wte.weight"].T


# ---- the variants of the papers, from their definitions ----

def seed_heads(w, p, kind, h, c):
    """Queries, keys, values [heads][tokens][width] and the terms added to undivided scores."""
    H, at = c["n_heads"], lambda name: w[p + name]
    plain = lambda m: heads(h @ at("W_" + m) + at("b_" + m), H)
    shared = lambda m: (h @ at("W_" + m) + at("b_" + m))[None]
    if kind == "mqa":
        return plain("Q"), shared("K"), shared("V"), 0
    if kind == "skv":
        return plain("Q"), plain("KV"), plain("KV"), 0
    if kind == "el-att":
        return plain("Q"), heads(h, H), heads(h, H), 0
    if kind == "mhe-add":
        return *(shared(m) + at("e_" + m)[:, None, :] for m in "QKV"), 0
    if kind == "mhe-mul":
        return *(shared(m) * (1 + at("e_" + m)[:, None, :]) for m in "QKV"), 0
    if kind == "collab":
        q = (h @ at("W_Q"))[None] * at("M")[:, None, :]
        return q, (h @ at("W_K"))[None], plain("V"), (h @ at("W_content")).T[:, None, :]
    return plain("Q"), plain("K"), plain("V"), 0

def deacon(w, p, kind, o, H):
    """o [tokens][heads*width]; batch normalization as inference has it, then a projection across heads."""
    x = heads(o, H).transpose(1, 0, 2)                          # [token][head][width]
    if kind == "deacon-nonlinear":
        x = np.concatenate([x] + [x[:, a:a + 1] * x[:, b:b + 1] for a in range(H) for b in range(a, H)], 1)
    flat = (lambda v: v[:, None]) if kind == "deacon-nonlinear" else (lambda v: v.reshape(H, -1))
    g, b, mean, var = (flat(w[p + n]) for n in ("g_norm", "b_norm", "mean_norm", "var_norm"))
    x = (x - mean) / np.sqrt(var + 1e-5) * g + b
    if kind == "deacon-average":
        x = x.mean(-1, keepdims=True)
    y = np.einsum("tfw,fp->tpw", x, w[p + "W_PCA"]) + w[p + "b_PCA"][:, None]
    return y.reshape(len(y), -1)

def seeds(w, c, ids):
    n, H, kind = len(ids), c["n_heads"], c["attention"]
    norm = lambda name, x: rms_norm(x, w[name + ".weight"], 1e-5)
    x = w["tokens.weight"][ids] + w["positions.weight"][:n]
    for i in range(c["n_layers"]):
        p = f"layers.{i}."
        q, k, v, content = seed_heads(w, p + "attention.", kind, norm(p + "attention_norm", x), c)
        scale = 1 / math.sqrt(c["hidden_size"] // H)
        o = attend(q, k, v, causal(n), scale, None, content * scale)
        if kind.startswith("deacon"):
            o = deacon(w, p + "attention.", kind, o, H)
        x = x + o @ w[p + "attention.W_O"] + w[p + "attention.b_O"]
        x = x + linear(w, p + "down", relu(linear(w, p + "up", norm(p + "feed_norm", x))))
    return norm("norm", x) @ w["head.weight"].T


# ---- encoders ----

def t5_bucket(distance, n_buckets, farthest):
    """modeling_t5.py, _relative_position_bucket, both directions, in float32 as there."""
    n = n_buckets // 2
    exact, out = n // 2, (distance > 0) * n
    far = np.abs(distance)
    ratio = np.log(np.maximum(far, 1).astype(np.float32) / np.float32(exact)) / np.float32(math.log(farthest / exact))
    wide = exact + (ratio * np.float32(n - exact)).astype(int)
    return out + np.where(far < exact, far, np.minimum(wide, n - 1))

def t5(w, c, ids):
    n, H = len(ids), c["num_heads"]
    norm = lambda name, x: rms_norm(x, w[name + ".weight"], 1e-6)
    distance = np.arange(n)[None, :] - np.arange(n)[:, None]
    table = w["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    bias = table[t5_bucket(distance, len(table), c.get("relative_attention_max_distance", 128))].transpose(2, 0, 1)
    x = w["shared.weight"][ids]
    for i in range(c["num_layers"]):
        p = f"encoder.block.{i}.layer."
        q, k, v = (heads(linear(w, p + f"0.SelfAttention.{m}", norm(p + "0.layer_norm", x)), H) for m in "qkv")
        x = x + linear(w, p + "0.SelfAttention.o", attend(q, k, v, np.ones((n, n), bool), 1, None, bias))
        h, f = norm(p + "1.layer_norm", x), p + "1.DenseReluDense."
        if c["feed_forward_proj"] == "gated-gelu":
            h = gelu_tanh(linear(w, f + "wi_0", h)) * linear(w, f + "wi_1", h)
        else:
            h = relu(linear(w, f + "wi", h))
        x = x + linear(w, f + "wo", h)
    return norm("encoder.final_layer_norm", x)

def bert_layers(w, x, n_layers, H, name, parts, act, eps):
    norm = lambda n, x: layer_norm(x, w[n + ".weight"], w[n + ".bias"], eps)
    everything = np.ones((len(x), len(x)), bool)
    for i in range(n_layers):
        p = name(i)
        q, k, v = (heads(linear(w, p + parts[m], x), H) for m in "qkv")
        x = norm(p + parts["norm1"], x + linear(w, p + parts["o"], attend(q, k, v, everything, 1 / math.sqrt(q.shape[2]))))
        x = norm(p + parts["norm2"], x + linear(w, p + parts["down"], act(linear(w, p + parts["up"], x))))
    return x

BERT = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "o": "attention.output.dense", "norm1": "attention.output.LayerNorm", "up": "intermediate.dense",
        "down": "output.dense", "norm2": "output.LayerNorm"}

def bert_embeddings(w, p, positions, ids, eps, types=True):
    x = w[p + "word_embeddings.weight"][ids] + w[p + "position_embeddings.weight"][positions]
    if types:
        x = x + w[p + "token_type_embeddings.weight"][0]
    return layer_norm(x, w[p + "LayerNorm.weight"], w[p + "LayerNorm.bias"], eps)

def bert(w, c, ids):
    eps, act = c.get("layer_norm_eps", 1e-12), ACTIVATIONS[c.get("hidden_act", "gelu")]
    x = bert_embeddings(w, "bert.embeddings.", np.arange(len(ids)), ids, eps)
    return bert_layers(w, x, c["num_hidden_layers"], c["num_attention_heads"], lambda i: f"bert.encoder.layer.{i}.", BERT, act, eps)

def bert_collaborative(w, c, ids):
    """epfml/collaborative-attention, CollaborativeAttention.forward: dim_key_query_all/heads divides scores."""
    R, H, eps = c["dim_key_query_all"], c["num_attention_heads"], 1e-12
    norm = lambda n, x: layer_norm(x, w[n + ".weight"], w[n + ".bias"], eps)
    x = bert_embeddings(w, "bert.embeddings.", np.arange(len(ids)), ids, eps)
    for i in range(c["num_hidden_layers"]):
        p = f"bert.encoder.layer.{i}."
        a = p + "attention.self."
        q = linear(w, a + "query", x)[None] * w[a + "mixing"][:, None, :]
        scores = q @ linear(w, a + "key", x).T + linear(w, a + "content_bias", x).T[:, None, :]
        o = softmax(scores / math.sqrt(R / H)) @ heads(linear(w, a + "value", x), H)
        o = o.transpose(1, 0, 2).reshape(len(x), -1)
        x = norm(p + "attention.output.LayerNorm", x + linear(w, p + "attention.output.dense", o))
        x = norm(p + "output.LayerNorm", x + linear(w, p + "output.dense", gelu(linear(w, p + "intermediate.dense", x))))
    return x

def roberta(w, c, ids):
    pad = c.get("pad_token_id", 1)
    mask = (np.array(ids) != pad).astype(int)
    x = bert_embeddings(w, "roberta.embeddings.", np.cumsum(mask) * mask + pad, ids, 1e-12)
    return bert_layers(w, x, c["num_hidden_layers"], c["num_attention_heads"], lambda i: f"roberta.encoder.layer.{i}.", BERT, gelu, 1e-12)

def distilbert(w, c, ids):
    parts = {"q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
             "norm1": "sa_layer_norm", "up": "ffn.lin1", "down": "ffn.lin2", "norm2": "output_layer_norm"}
    x = bert_embeddings(w, "distilbert.embeddings.", np.arange(len(ids)), ids, 1e-12, types=False)
    return bert_layers(w, x, c["n_layers"], c["n_heads"], lambda i: f"distilbert.transformer.layer.{i}.", parts, gelu, 1e-12)

def albert(w, c, ids):
    parts = {"q": "attention.query", "k": "attention.key", "v": "attention.value", "o": "attention.dense",
             "norm1": "attention.LayerNorm", "up": "ffn", "down": "ffn_output", "norm2": "full_layer_layer_norm"}
    p = "albert." if any(n.startswith("albert.") for n in w) else ""
    x = bert_embeddings(w, p + "embeddings.", np.arange(len(ids)), ids, 1e-12)
    x = linear(w, p + "encoder.embedding_hidden_mapping_in", x)
    n, groups, inner = c["num_hidden_layers"], c.get("num_hidden_groups", 1), c.get("inner_group_num", 1)
    for i in range(n):
        g = int(i / (n / groups))
        x = bert_layers(w, x, inner, c["num_attention_heads"],
                        lambda j: f"{p}encoder.albert_layer_groups.{g}.albert_layers.{j}.", parts, gelu_tanh, 1e-12)
    return x


# ---- llama.cpp's names of families above: how its converter made them, undone ----

def turned(name, value):
    """GPT2Model: Conv1D's matrices are turned round."""
    return value.T if value.ndim == 2 and "embd" not in name else value

def without_one(name, value):
    """GemmaModel: 1 is added to the norms' scales."""
    return value - 1 if "norm" in name else value

def as_row(name, value):
    """The shared expert's gate is a vector: a matrix of one row."""
    return value[None] if name.endswith("ffn_gate_inp_shexp.weight") else value

def experts_apart(run):
    """Qwen2MoeModel: the experts' matrices are stacked."""
    def with_names(w, c, ids):
        apart = {}
        for name, value in w.items():
            if ".experts." not in name:
                apart[name] = value
                continue
            for e in range(len(value)):
                apart[name.replace("experts.", f"experts.{e}.")] = value[e]
        return run(apart, c, ids)
    return with_names

gpt2_names = [("blk", "transformer.h"), ("attn_norm", "ln_1"), ("ffn_norm", "ln_2"), ("attn_qkv", "attn.c_attn"), ("attn_output", "attn.c_proj"),
              ("ffn_up", "mlp.c_fc"), ("ffn_down", "mlp.c_proj"), ("token_embd", "transformer.wte"), ("position_embd", "transformer.wpe"),
              ("output_norm", "transformer.ln_f")]
bert_names = [("attn_output_norm", "attention.output.LayerNorm"), ("layer_output_norm", "output.LayerNorm"), ("blk", "bert.encoder.layer"),
              ("attn_q.", "attention.self.query."), ("attn_k.", "attention.self.key."), ("attn_v.", "attention.self.value."),
              ("attn_output.", "attention.output.dense."), ("ffn_up", "intermediate.dense"), ("ffn_down", "output.dense"),
              ("token_embd_norm", "bert.embeddings.LayerNorm"), ("token_embd", "bert.embeddings.word_embeddings"),
              ("position_embd", "bert.embeddings.position_embeddings"), ("token_types", "bert.embeddings.token_type_embeddings")]
phi3_names = [("attn_qkv", "self_attn.qkv_proj"), ("ffn_up", "mlp.gate_up_proj")] + qwen_names
sandwich_names = [("post_attention_norm", "post_attention_layernorm"), ("post_ffw_norm", "post_feedforward_layernorm")]
gemma2_names = sandwich_names + [("ffn_norm", "pre_feedforward_layernorm")] + [n for n in qwen_names if n[0] != "ffn_norm"]
moe_names = [("ffn_gate_inp_shexp", "mlp.shared_expert_gate"), ("ffn_gate_shexp", "mlp.shared_expert.gate_proj"),
             ("ffn_up_shexp", "mlp.shared_expert.up_proj"), ("ffn_down_shexp", "mlp.shared_expert.down_proj"), ("ffn_gate_inp", "mlp.gate"), ("ffn_gate_exps", "mlp.experts.gate_proj"), ("ffn_up_exps", "mlp.experts.up_proj"),
             ("ffn_down_exps", "mlp.experts.down_proj")] + qwen_names

GGUF = {"gguf_llama": gguf_llama, "gguf_qwen2": gguf(qwen_names, qwen2), "gguf_qwen3": gguf(qwen_names, qwen3),
        "gguf_gpt2": gguf(gpt2_names, gpt2, turned), "gguf_bert": gguf(bert_names, bert), "gguf_phi3": gguf(phi3_names, phi3),
        "gguf_olmo2": gguf(sandwich_names + qwen_names, olmo2), "gguf_stablelm": gguf(qwen_names, stablelm, partial_rotary_factor=1.0),
        "gguf_gemma": gguf(qwen_names, gemma, without_one), "gguf_gemma2": gguf(gemma2_names, gemma2, without_one, query_pre_attn_scalar=4),
        "gguf_gemma3": gguf(gemma2_names, gemma3, without_one, query_pre_attn_scalar=4),
        "gguf_granite": gguf(qwen_names, lambda w, c, ids: granite(w, c, ids, interleaved=True)),
        "gguf_qwen3moe": gguf(moe_names, experts_apart(qwen3_moe), norm_topk_prob=True),
        "gguf_qwen2moe": gguf(moe_names, experts_apart(qwen2_moe), as_row, norm_topk_prob=False)}

FAMILIES = {"llama": llama, "meta_llama": meta_llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3, "smollm3": smollm3,
            "gemma": gemma, "gemma2": gemma2, "granite": granite, "phi3": phi3, "olmo2": olmo2, "stablelm": stablelm, "gpt2": gpt2,
            "gpt_neox": gpt_neox, "opt": opt, "bert": bert, "bert-collaborative": bert_collaborative, "roberta": roberta, "xlm-roberta": roberta,
            "distilbert": distilbert, "albert": albert, "bloom": bloom, "mpt": mpt, "t5": t5, "mixtral": mixtral,
            **GGUF, "qwen2_moe": qwen2_moe, "qwen3_moe": qwen3_moe, "olmoe": olmoe, "gpt_oss": gpt_oss, "seeds": seeds,
            "qwen3_next": qwen3_next, "lfm2": lfm2}

def main(write_tiny, cases):
    for path in cases:
        case = json.load(open(path))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([write_tiny, path, folder], check=True)
            config = json.load(open(folder + "/config.json"))
            rows = np.concatenate([FAMILIES[config["model_type"]](load(folder), config, ids) for ids in case["tokens"]])
        case["expected"] = [[float(f"{x:.9g}") for x in row] for row in rows]
        lines = ["  " + json.dumps(k) + ": " + json.dumps(v) for k, v in case.items() if k != "expected"]
        rows = ",\n".join("    " + json.dumps(r) for r in case["expected"])
        with open(path, "w") as out:
            out.write("{\n" + ",\n".join(lines) + ",\n  \"expected\": [\n" + rows + "\n  ]\n}\n")

main(sys.argv[1], sys.argv[2:])
