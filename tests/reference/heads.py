"""A checkpoint of two layers of six heads whose queries and keys share a space, made up from a formula: for mathematics."""
import array
import json
import math
import random
import struct

N_LAYERS, N_HEADS, WIDTH, SHARED = 2, 6, 48, 12
D_HEAD = WIDTH // N_HEADS


def made(name, n_rows, n_columns):
    draw, most = random.Random(name).random, math.sqrt(3 / n_columns)
    return [[most * (2 * draw() - 1) for _ in range(n_columns)] for _ in range(n_rows)]


def sharing(name):
    """Twelve directions for all heads, and half as much of each head's own"""
    left, right, own = made(name + ' mixing', WIDTH, SHARED), made(name + ' shared', SHARED, WIDTH), made(name, WIDTH, WIDTH)
    return [[sum(a * right[k][j] for k, a in enumerate(row)) + own[i][j] / 2 for j in range(WIDTH)]
            for i, row in enumerate(left)]


def tensors():
    """{name: rows}, [out][in]"""
    found = {}
    for layer in range(N_LAYERS):
        prefix = 'encoder.layer.%d.attention.' % layer
        for part, make in (('self.query', sharing), ('self.key', sharing), ('self.value', None), ('output.dense', None)):
            name = prefix + part + '.weight'
            found[name] = make(name) if make else made(name, WIDTH, WIDTH)
            found[prefix + part + '.bias'] = [[0.0] * WIDTH]
    return found


def write(path):
    header, data = {}, b''
    for name, rows in tensors().items():
        values = array.array('f', (x for row in rows for x in row)).tobytes()
        shape = [WIDTH] if name.endswith('bias') else [WIDTH, WIDTH]
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)
