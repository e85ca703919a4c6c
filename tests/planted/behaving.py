#!/usr/bin/env python3
"""Writes ../data/planted-heads, a GPT-2 of two layers whose heads are built by hand, each to attend to one thing:

    layer 0: 0 the previous token    1 itself             2 earlier equal tokens
    layer 1: 0 induction             1 the first token    2 all alike

The residual stream has a dimension for each token, for each position, and for the token before, which head 0 of layer 0
copies there and head 0 of layer 1 finds there: what that then copies is what the model predicts.

    behaving.py
"""
import json
import os
import struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data', 'planted-heads')
VOCAB, POSITIONS, HEADS, LAYERS, D_FF = 10, 20, 3, 2, 2
TOKEN, POSITION = 0, VOCAB  # where these begin in the residual stream
BEFORE = POSITION + POSITIONS  # the token before, then what the other heads copy
D_HEAD = VOCAB + POSITIONS
WIDTH = HEADS * D_HEAD
SHARP = 4
# A norm makes numbers of two that are 1 among zeros.
MEAN = 2 / WIDTH
NORMED = (1 - MEAN) / (MEAN - MEAN ** 2) ** .5


def zeros(rows, cols):
    return [[0.0] * cols for _ in range(rows)]


class Layer:
    def __init__(self):
        self.qkv, self.bias = zeros(WIDTH, 3 * WIDTH), [0.0] * (3 * WIDTH)
        self.out = zeros(WIDTH, WIDTH)

    def match(self, head, pairs):
        """Adds to the logits `size` where the query's residual has dimension q and the key's has k."""
        for at, (q, k, size) in enumerate(pairs):
            self.qkv[q][head * D_HEAD + at] = size
            self.qkv[k][WIDTH + head * D_HEAD + at] = 1.0

    def copy(self, head, to, size):
        """The token that is attended to, written to dimensions from `to` on."""
        for token in range(VOCAB):
            self.qkv[TOKEN + token][2 * WIDTH + head * D_HEAD + token] = 1.0
            self.out[head * D_HEAD + token][to + token] = size / NORMED


def plant():
    first, second = Layer(), Layer()
    same = [(TOKEN + i, TOKEN + i, SHARP) for i in range(VOCAB)]
    here = [(POSITION + i, POSITION + i, SHARP) for i in range(POSITIONS)]
    first.match(0, [(POSITION + i, POSITION + i - 1, SHARP) for i in range(1, POSITIONS)])
    first.match(1, here)
    first.match(2, same + [(q, k, -2 * size) for q, k, size in here])
    second.match(0, [(TOKEN + i, BEFORE + i, SHARP) for i in range(VOCAB)])
    second.qkv[POSITION][WIDTH + D_HEAD] = second.bias[D_HEAD] = SHARP
    first.copy(0, BEFORE, 1)
    for head in 1, 2:
        first.copy(head, BEFORE + head * VOCAB, .25)
    second.copy(0, TOKEN, 2)
    for head in 1, 2:
        second.copy(head, BEFORE + (head + 2) * VOCAB, .25)
    return first, second


def tensors():
    yield 'wte.weight', [[float(j == TOKEN + i) for j in range(WIDTH)] for i in range(VOCAB)]
    yield 'wpe.weight', [[float(j == POSITION + i) for j in range(WIDTH)] for i in range(POSITIONS)]
    for number, layer in enumerate(plant()):
        yield f'h.{number}.attn.c_attn.weight', layer.qkv
        yield f'h.{number}.attn.c_attn.bias', layer.bias
        yield f'h.{number}.attn.c_proj.weight', layer.out
        yield f'h.{number}.attn.c_proj.bias', [0.0] * WIDTH
        for norm in 'ln_1', 'ln_2':
            yield f'h.{number}.{norm}.weight', [1.0] * WIDTH
            yield f'h.{number}.{norm}.bias', [0.0] * WIDTH
        for name, n, m in ('c_fc', WIDTH, D_FF), ('c_proj', D_FF, WIDTH):
            yield f'h.{number}.mlp.{name}.weight', zeros(n, m)
            yield f'h.{number}.mlp.{name}.bias', [0.0] * m
    yield 'ln_f.weight', [1.0] * WIDTH
    yield 'ln_f.bias', [0.0] * WIDTH


def main():
    header, data = {}, b''
    for name, numbers in tensors():
        is_matrix = isinstance(numbers[0], list)
        flat = [x for row in numbers for x in row] if is_matrix else numbers
        own = struct.pack(f'<{len(flat)}e', *flat)
        header[name] = {'dtype': 'F16', 'shape': [len(numbers), len(numbers[0])] if is_matrix else [len(numbers)],
                        'data_offsets': [len(data), len(data) + len(own)]}
        data += own
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    os.makedirs(FOLDER, exist_ok=True)
    with open(f'{FOLDER}/model.safetensors', 'wb') as out:
        out.write(struct.pack('<Q', len(text)) + text + data)
    with open(f'{FOLDER}/config.json', 'w', encoding='utf-8') as out:
        json.dump({'model_type': 'gpt2', 'architectures': ['GPT2LMHeadModel'], 'vocab_size': VOCAB, 'n_positions': POSITIONS,
                   'n_embd': WIDTH, 'n_layer': LAYERS, 'n_head': HEADS, 'n_inner': D_FF, 'activation_function': 'gelu_new',
                   'layer_norm_epsilon': 1e-5, 'bos_token_id': 0}, out, indent=1)
        out.write('\n')


if __name__ == '__main__':
    main()
