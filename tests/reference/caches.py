#!/usr/bin/env python3
"""`cache --engine transformers` of small models against the caches that transformers makes: transformers_caches.json.

    caches.py COMMANDS
"""
import json
import sys
import tempfile

import agreement
import commands
from tensors import HERE, judge

# What differs, and must.
EXPLAINED = {'falcon 40b': 'keys and values are copied for each head before they are cached',
             'gpt_neo': 'layers with a window keep the whole context'}


def config(folder, name):
    """Its path, of one word"""
    return '%s/%s.json' % (folder, name.replace(' ', '_'))


def derive(program, folder, name, tokens, dtype):
    """Bytes, or a message"""
    return commands.answer(program, 'cache', config(folder, name), '--engine', 'transformers', '--seq', str(tokens),
                           '--dtype', dtype, '-f', 'value')[1].strip()


def compare(program, folder, measured, tokens, dtype):
    """What is wrong, by name"""
    ours = {name: derive(program, folder, name, tokens, dtype) for name in measured}
    return {name: [] if ours[name] == str(n) else ['%d bytes, derived %s' % (n, ours[name])] for name, n in measured.items()}


def kinds(vector):
    """What agreement.md calls a kind of cache, judges besides transformers, [bytes by name, tokens, our format]"""
    yield "bytes of a small model's cache after a prompt and four steps", (), [(vector['bytes'], vector['tokens'], 'f32')]
    yield 'bytes of its StaticCache of as many tokens', (), [(vector['static'], vector['tokens'], 'f32')]
    yield 'bytes of its QuantizedCache after a prompt', ('optimum-quanto', 'hqq'), [
        (found, vector['quantized_prompt'], kind.split()[1]) for kind, found in vector['quantized'].items()]


def agrees(program, folder, vector, what, judges, asked):
    wrong = [(name, lines) for measured, tokens, dtype in asked
             for name, lines in compare(program, folder, measured, tokens, dtype).items()]
    as_explained = [judge(name, lines, EXPLAINED) for name, lines in wrong]
    differ = sorted({name for name, lines in wrong if lines})
    is_said = agreement.holds(what, agreement.versions(vector['made_by'], 'transformers', 'torch', *judges), len(wrong),
                              sum(not lines for _, lines in wrong), '; '.join('%s: %s' % (name, EXPLAINED.get(name)) for name in differ))
    return all(as_explained) and is_said


def main():
    with open(HERE + '/transformers_caches.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_logits.json') as file:
        configs = {case['name']: case['config'] for case in json.load(file)['cases']}
    with tempfile.TemporaryDirectory() as folder:
        for name in vector['bytes']:
            with open(config(folder, name), 'w') as file:
                json.dump(configs[name], file)
        agree = [agrees(sys.argv[1], folder, vector, *kind) for kind in kinds(vector)]
    return 0 if all(agree) and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
