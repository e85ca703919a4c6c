#!/usr/bin/env python3
"""The error that remains where `compress --imatrix` quantizes a made-up model, against that of llama.cpp's ggml: weighted_errors.json.

    weighted.py ATTNLEDGER
"""
import array
import functools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import agreement
import gguf_shapes

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 1.02  # times ggml's root mean square
MODEL = gguf_shapes.decoder('llama', 1, 256, 4, 2, 64, 512, 320, dtype='F32')
FORMATS = 'q8_0', 'q6_k', 'q5_k', 'q4_k', 'q5_1', 'q5_0', 'q4_1', 'q4_0'
WEIGHTS = {  # of the columns' squared errors
    'blk.0.attn_q.weight': ('alike', lambda draw: 1.0),
    'blk.0.attn_v.weight': ('a third of them 0', lambda draw: float(draw() > 1 / 3)),
    'blk.0.attn_output.weight': ('over four orders of magnitude', lambda draw: math.exp(9.2 * draw())),
    'blk.0.ffn_down.weight': ('squares of normal numbers', lambda draw: (draw() + draw() + draw() + draw() - 2) ** 2 * 3)}


@functools.cache
def made(name, shape):
    """About normal, with a few that are far out"""
    rng = random.Random(name)
    return array.array('f', (rng.gauss(0, .02 if rng.random() < .99 else .1) for _ in range(math.prod(shape))))


def numbers(name, shape):
    return made(name, tuple(shape))


def weights(name, n):
    draw = random.Random(name).random
    return array.array('f', (WEIGHTS[name][1](draw) for _ in range(n)))


def error(name, rows):
    """Of rows of numbers, the root of the weighted squares' share"""
    exact, n = numbers(name, MODEL['tensors'][name][::-1]), MODEL['tensors'][name][0]
    of = weights(name, n)
    lost = sum(of[i % n] * (a - b) ** 2 for i, (a, b) in enumerate(zip(rows, exact)))
    return math.sqrt(lost / sum(of[i % n] * a * a for i, a in enumerate(exact)))


def write_imatrix(path):
    pairs = [gguf_shapes.pair('general.type', 'imatrix')]
    tensors = [(name + end, values) for name in WEIGHTS for end, values in (
        ('.in_sum2', weights(name, MODEL['tensors'][name][0])), ('.counts', array.array('f', [1])))]
    head, data = b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(pairs)) + b''.join(pairs), b''
    for name, values in tensors:
        head += gguf_shapes.text(name) + struct.pack('<IQIQ', 1, len(values), 0, len(data))
        data += values.tobytes() + bytes(-len(values) * 4 % 32)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % 32) + data)


def tensors_of(path):
    """Where each tensor of a file in F32 begins, by its list, which ends the header"""
    with open(path, 'rb') as file:
        data = file.read()
    infos = {}
    for name, shape in MODEL['tensors'].items():
        at = data.index(gguf_shapes.text(name)) + 8 + len(name)
        infos[name] = struct.unpack_from('<IQ', data, at + 4 + 8 * len(shape))
        end = at + 16 + 8 * len(shape)
    begin = -(-end // 32) * 32
    for name, (_, at) in infos.items():
        values = array.array('f')
        values.frombytes(data[begin + at:begin + at + 4 * math.prod(MODEL['tensors'][name])])
        yield name, values


def compress(program, folder, *words):
    subprocess.run([os.path.abspath(program), 'compress', *words, '--method', 'identity', '-q'], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def errors(program, folder, name):
    """Of each tensor, by the program's own reader, whose numbers another test holds against ggml's"""
    compress(program, folder, 'source.gguf', '--dtype', name, '--imatrix', 'squares', '-o', 'copy.gguf')
    compress(program, folder, 'copy.gguf', '--dtype', 'f32', '-o', 'read.gguf')
    return {tensor: error(tensor, rows) for tensor, rows in tensors_of(folder + '/read.gguf') if tensor in WEIGHTS}


def main():
    with open(HERE + '/weighted_errors.json') as file:
        vector = json.load(file)
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        gguf_shapes.write(folder + '/source.gguf', MODEL, numbers)
        write_imatrix(folder + '/squares')
        for name, expected in vector['errors'].items():
            ours = errors(sys.argv[1], folder, name)
            ratios[name] = [ours[tensor] / expected[tensor] for tensor in WEIGHTS]
    is_same = all(abs(ratio - 1) < 1e-4 for ratio in ratios.pop('q8_0'))
    found = [ratio for row in ratios.values() for ratio in row]
    near, same = sum(ratio <= MOST for ratio in found), len(WEIGHTS) * is_same
    is_said = agreement.holds('weighted error of quantization with an importance matrix', agreement.versions(
        vector['made_by'], 'llama.cpp') + ', on a CPU', len(found) + len(WEIGHTS), near + same,
        'root mean square %.2f to %.3f times; q8_0 the same' % (min(found), max(found)))
    return 0 if near == len(found) and is_same and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
