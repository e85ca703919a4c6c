#!/usr/bin/env python3
"""Writes weighted_errors.json: the error of ggml's quantization with an importance matrix, of made-up numbers (weighted.py).

    weighted_errors.py OUT.json

Needs Node and npm, as llama_cpp_buffers.py does.
"""
import ctypes
import glob
import json
import sys
import tempfile

import weighted
from llama_cpp_buffers import PACKAGE, install

CODES = {'q4_0': 2, 'q4_1': 3, 'q5_0': 6, 'q5_1': 7, 'q8_0': 8, 'q4_k': 12, 'q5_k': 13, 'q6_k': 14}
NAMES = {'q4_k': 'q4_K', 'q5_k': 'q5_K', 'q6_k': 'q6_K'}


def error(ggml, name, tensor):
    n, rows = weighted.MODEL['tensors'][tensor]
    numbers, weights = weighted.numbers(tensor, [rows, n]), weighted.weights(tensor, n)
    blocks, out = ctypes.create_string_buffer(4 * n * rows), (ctypes.c_float * (n * rows))()
    ggml.ggml_quantize_chunk(CODES[name], (ctypes.c_float * len(numbers))(*numbers), blocks, ctypes.c_int64(0), ctypes.c_int64(rows),
                             ctypes.c_int64(n), (ctypes.c_float * n)(*weights))
    getattr(ggml, 'dequantize_row_' + NAMES.get(name, name))(blocks, out, ctypes.c_int64(n * rows))
    return float('%.6g' % weighted.error(tensor, out))


def main():
    with tempfile.TemporaryDirectory() as home:
        install(home, '')
        base, = glob.glob(home + '/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libggml-base.so')
        ggml = ctypes.CDLL(base)
        with open(home + '/node_modules/node-llama-cpp/llama/binariesGithubRelease.json') as file:
            release = json.load(file)['release']
        found = {name: {tensor: error(ggml, name, tensor) for tensor in weighted.WEIGHTS} for name in weighted.FORMATS}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'node-llama-cpp': PACKAGE, 'llama.cpp': release}, 'errors': found}, indent=1) + '\n')


if __name__ == '__main__':
    main()
