#!/usr/bin/env python3
"""The tensors that transformers saves against those that attnledger expects: transformers_tensors.json.

    tensors.py COMMANDS [N]    N: of every Nth config alone

Each case becomes a folder with a config.json and a safetensors file that is its header alone, the rest a hole.
`reconcile` compares names and shapes, `count` the number of parameters. What differs must be explained in
transformers_differences.json, and what is explained there must differ.
"""
import concurrent.futures
import json
import math
import os
import re
import struct
import sys
import tempfile

import agreement
import commands

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES = {'float32': ('F32', 4), 'int64': ('I64', 8), 'int32': ('I32', 4), 'bool': ('BOOL', 1)}
BRACES = re.compile(r'\{([0-9,-]+)\}')
AGREED = 97  # percent of pairs of a config and a class


def numbers(text):
    for part in text.split(','):
        first, _, last = part.partition('-')
        yield from range(int(first), int(last or first) + 1)


def expanded(name):
    """model.layers.{0-1}.norm as the two names that it stands for"""
    first, *rest = BRACES.split(name)
    names = [first]
    for ranges, text in zip(rest[::2], rest[1::2]):
        names = ['%s%d%s' % (begin, n, text) for begin in names for n in numbers(ranges)]
    return names


def write_header(path, tensors):
    rows, at = [], 0
    for kind, names in tensors.items():
        dtype, _, shape = kind.rpartition(' ')
        code, size = BYTES[dtype or 'float32']
        dims = [int(n) for n in shape.split('x') if n]
        size *= math.prod(dims)
        row = '"%%s": {"dtype": "%s", "shape": %s, "data_offsets": [%%d, %%d]}' % (code, dims)
        for name in (one for name in names for one in expanded(name)):
            rows.append(row % (name, at, at + size))
            at += size
    text = ('{%s}' % ', '.join(rows)).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        file.truncate(8 + len(text) + at)


def ask(program, *words):
    return commands.answer(program, *words, '-f', 'json')


def faults(program, folder):
    """One line for each kind of name that differs, and the totals'. Tensors are listed where some differ."""
    if ask(program, 'reconcile', folder)[0] == 0:
        return []
    status, said = ask(program, 'reconcile', folder, '--tensors')
    if status != 1:
        return [said.strip()]
    kinds = {}
    for row in json.loads(said)['tables'][0]['rows']:
        if row['difference'] in ('missing', 'wrong shape', 'unexpected'):
            kinds.setdefault((re.sub('[0-9]+', '#', row['name']), row['difference']), row)
    return ['%s: %s, expected %s, found %s' % (name, what, row['expected'], row['found'])
            for (name, what), row in kinds.items()]


def compare(program, config, name, of):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/config.json', 'w') as file:
            json.dump(dict(config, architectures=[name]), file)
        write_header(folder + '/model.safetensors', of['tensors'])
        lines = faults(program, folder)
        status, said = ask(program, 'count', folder + '/config.json')
        ours = json.loads(said)['tables'][0]['totals'][0]['parameters'] if status == 0 else None
        if ours != of['parameters']:
            lines.append('%s parameters, expected %s' % (of['parameters'], ours))
        return [line.replace(folder + '/', '') for line in lines]


def pairs(vector, fixtures):
    """Each title, config, class and what transformers has of it; and how many configs aren't there."""
    found, missing = [], 0
    for case in vector['cases']:
        config = case.get('config')
        if not config:
            path = os.path.join(fixtures or '', case['fixture'])
            if not fixtures or not os.path.exists(path):
                missing += 1
                continue
            with open(path) as file:
                config = json.load(file)
        config = {key: value for key, value in config.items() if key != 'quantization_config'}
        found += [('%s %s' % (case['name'], name), config, name, of) for name, of in case['classes'].items()]
    return found, missing


def judge(title, lines, explained):
    """Is it as the explanations have it? Prints what isn't."""
    if bool(lines) == (title in explained):
        return True
    print('%s: %s' % (title, '; '.join(lines[:8]) if lines else 'equal, but its difference is explained'))
    return False


def main():
    program, step = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with open(HERE + '/transformers_tensors.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_differences.json') as file:
        explained = {title for group in json.load(file)['differences'] for title in group['of']}
    vector['cases'] = vector['cases'][::step]
    found, missing = pairs(vector, os.environ.get('ATTNLEDGER_FIXTURES'))
    if missing:
        print('skipped %d configs: no fixtures' % missing)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_lines = list(pool.map(lambda pair: compare(program, *pair[1:]), found))
    as_explained = [judge(pair[0], lines, explained) for pair, lines in zip(found, all_lines)]
    equal = sum(not lines for lines in all_lines)
    print('%d of %d pairs of a config and a class have equal tensors' % (equal, len(found)))
    is_said = missing or step > 1 or agreement.holds(
        'names, shapes and number of the parameters of a config and a class', agreement.versions(vector['made_by'], 'transformers'),
        len(found), equal, 'the others are explained in `tests/reference/transformers_differences.json`')
    is_most = step > 1 or 100 * equal >= AGREED * len(found)
    return 0 if all(as_explained) and is_most and is_said and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
