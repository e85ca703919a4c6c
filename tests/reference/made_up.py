"""Models of made-up numbers, which depend on the tensors' names and nothing else."""
import array
import functools
import json
import math
import random
import struct


@functools.cache # many models have tensors of one name and shape
def made(name, shape):
    """In float32. Norms' weights are about a half, biases about 0; a matrix keeps the size of what it multiplies; states decay
    so slowly that they keep many tokens, since what is read of a single one can be close to 0. A number that isn't in a list
    is a half: xIELU's constant."""
    draw, n = random.Random(name).random, math.prod(shape)
    if not shape:
        return array.array('f', [.5])
    middle, most = 0, math.sqrt(3 / shape[-1])
    if len(shape) < 2:
        middle, most = .5 if name.endswith('weight') else -3 if name.endswith('A_log') else 0, .3
    return array.array('f', [middle + most * (2 * draw() - 1) for _ in range(n)])


def numbers(name, shape):
    return made(name, tuple(shape))


def tokens(n, vocab):
    """The first four of the vocabulary may be special."""
    draw = random.Random('tokens').random
    return [4 + int(draw() * (vocab - 4)) for _ in range(n)]


def write_model(folder, config, tensors):
    """tensors: [name, shape] in the order of the file"""
    header, data = {}, bytearray()
    for name, shape in tensors:
        values = numbers(name, shape).tobytes()
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(folder + '/config.json', 'w') as file:
        json.dump(config, file)
    with open(folder + '/model.safetensors', 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)
