#!/usr/bin/env python3
"""all-MiniLM-L6-v2 twice over, as 12 layers of 12 heads, in which heads are planted.

    plant.py MODEL FOLDER   reads MODEL/model.fp16.safetensors; FOLDER gets the planted model

Prints each planted head as "LAYER twin HEAD HEAD" or "LAYER silent HEAD"."""
import json
import math
import os
import random
import struct
import sys

D_HEAD, D_MODEL, N_LAYERS = 32, 384, 6

# Groups of heads that become copies of their first, and the noise of each copy relative to the
# deviation of its numbers.
COPIES = [(1, [4, 9], .01), (3, [7, 2], .35), (4, [0, 11], .25), (5, [1, 3, 8], .1), (7, [5, 3], .5), (8, [2, 6, 10], .5),
          (9, [2, 6, 10], .1), (11, [0, 9], .05)]
# Heads whose W_O is scaled.
SILENT = [(2, 7, .02), (10, 1, .05)]


class Weights:
    """Tensors of a safetensors file by name, as stored; each layer's are used for two layers."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            size = struct.unpack('<Q', file.read(8))[0]
            header = json.loads(file.read(size))
            data = file.read()
        self.entries, self.bytes = {}, {}
        for name, entry in header.items():
            if name != '__metadata__':
                self.add(name, entry, data[slice(*entry['data_offsets'])])

    def add(self, name, entry, data):
        copies = [name]
        if 'encoder.layer.' in name:
            before, rest = name.split('encoder.layer.')
            layer, rest = rest.split('.', 1)
            copies.append(f'{before}encoder.layer.{int(layer) + N_LAYERS}.{rest}')
        for copy in copies:
            self.entries[copy], self.bytes[copy] = entry, data

    def names(self, layer, end):
        return [name for name in self.bytes if f'encoder.layer.{layer}.attention.' in name and name.endswith(end)]

    def numbers(self, name):
        return list(struct.unpack(f'<{len(self.bytes[name]) // 2}e', self.bytes[name]))

    def set_numbers(self, name, numbers):
        self.bytes[name] = struct.pack(f'<{len(numbers)}e', *numbers)

    def write(self, path):
        header, place = {}, 0
        for name in sorted(self.bytes):
            end = place + len(self.bytes[name])
            header[name] = dict(self.entries[name], data_offsets=[place, end])
            place = end
        text = json.dumps(header).encode()
        text += b' ' * (-len(text) % 8)
        with open(path, 'wb') as file:
            file.write(struct.pack('<Q', len(text)) + text + b''.join(self.bytes[name] for name in sorted(self.bytes)))


def rows_of(head):
    """A head's rows in a projection, [heads*width][D] or [heads*width]."""
    return lambda n: range(head * D_HEAD * (n // D_MODEL), (head + 1) * D_HEAD * (n // D_MODEL))


def columns_of(head):
    """The same in the columns of W_O, [D][heads*width]."""
    return lambda n: [row * D_MODEL + head * D_HEAD + i for i in range(D_HEAD) for row in range(n // D_MODEL)]


def deviation(numbers):
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))


def copy_head(weights, name, place_of, first, copies, noise):
    numbers = weights.numbers(name)
    source = [numbers[i] for i in place_of(first)(len(numbers))]
    scale = noise * deviation(source)
    for copy in copies:
        for i, x in zip(place_of(copy)(len(numbers)), source):
            numbers[i] = x + random.gauss(0, scale)
    weights.set_numbers(name, numbers)


def plant(weights):
    random.seed(1)
    for layer, (first, *copies), noise in COPIES:
        for end in 'query', 'key', 'value':
            for name in weights.names(layer, f'self.{end}.weight') + weights.names(layer, f'self.{end}.bias'):
                copy_head(weights, name, rows_of, first, copies, noise)
        for name in weights.names(layer, 'output.dense.weight'):
            copy_head(weights, name, columns_of, first, copies, noise)
        for copy in copies:
            print(layer, 'twin', *sorted((first, copy)))
    for layer, head, factor in SILENT:
        for name in weights.names(layer, 'output.dense.weight'):
            numbers = weights.numbers(name)
            for i in columns_of(head)(len(numbers)):
                numbers[i] *= factor
            weights.set_numbers(name, numbers)
        print(layer, 'silent', head)


def main(model, folder):
    weights = Weights(os.path.join(model, 'model.fp16.safetensors'))
    plant(weights)
    os.makedirs(folder, exist_ok=True)
    weights.write(os.path.join(folder, 'model.safetensors'))
    with open(os.path.join(model, 'config.json'), encoding='utf-8') as file:
        config = json.load(file)
    config['num_hidden_layers'] = 2 * N_LAYERS
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as file:
        json.dump(config, file)


if __name__ == '__main__':
    main(*sys.argv[1:])
