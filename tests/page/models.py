"""Checkpoints for the tests of pages: any names, any number of layers and heads."""
import json
import os
import random
import struct


def numbers(rng, n):
    """n bfloat16 numbers of either sign between 2^-9 and 1/8."""
    raw = bytearray(rng.randbytes(2 * n))
    raw[1::2] = bytes(raw[1::2]).translate(bytes(0x3b + i % 3 | i & 0x80 for i in range(256)))
    return raw


def write(folder, layers, heads, width, broken=None, silent=None, kv_heads=None):
    """A llama without feed-forwards' weights mattering; layer `broken` holds a NaN, layer 0's head `silent` writes nothing."""
    d = heads * width
    kv = (kv_heads or heads) * width
    rng = random.Random(1)
    tensors = {}
    shapes = {'q_proj': (d, d), 'k_proj': (kv, d), 'v_proj': (kv, d), 'o_proj': (d, d)}
    for layer in range(layers):
        for name, shape in shapes.items():
            raw = numbers(rng, shape[0] * shape[1])
            if layer == broken and name == 'k_proj':
                raw[2:4] = b'\xc0\x7f'
            if layer == 0 and silent is not None and name == 'o_proj':
                for row in range(d):
                    begin = 2 * (row * d + silent * width)
                    raw[begin:begin + 2 * width] = bytes(2 * width)
            tensors[f'model.layers.{layer}.self_attn.{name}.weight'] = (shape, raw)
    header, data = {}, bytearray()
    for name, (shape, raw) in tensors.items():
        header[name] = {'dtype': 'BF16', 'shape': list(shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    os.makedirs(folder, exist_ok=True)
    with open(f'{folder}/model.safetensors', 'wb') as out:
        out.write(struct.pack('<Q', len(text)) + text + data)
    config = {'model_type': 'llama', 'hidden_size': d, 'num_hidden_layers': layers, 'num_attention_heads': heads,
              'num_key_value_heads': kv_heads or heads, 'head_dim': width, 'intermediate_size': 8, 'vocab_size': 16,
              'tie_word_embeddings': True}
    with open(f'{folder}/config.json', 'w', encoding='utf-8') as out:
        json.dump(config, out)
    return folder


def write_running(path, layers=2, heads=3, width=4, vocab=10, longest=8):
    """A model of llama2.c that runs: its header, then float32 numbers in the order of run.c."""
    d, hidden = heads * width, 2 * heads * width
    sizes = [vocab * d, layers * d, 4 * layers * d * d, layers * d, 3 * layers * d * hidden, d, longest * width]
    rng = random.Random(1)
    with open(path, 'wb') as out:
        out.write(struct.pack('<7i', d, hidden, layers, heads, heads, vocab, longest))
        out.write(struct.pack(f'<{sum(sizes)}f', *(rng.gauss(0, .5) for _ in range(sum(sizes)))))
