#!/usr/bin/env python3
"""transformers' caches and peaks of a prompt against what PyTorch allocated: tests/reference/torch_memory.json.

    torch_caches.py ATTNLEDGER

`memory` counts the cache when a prompt was processed, `cache` that of the steps after it: what live memory lost by the
next step, and a token more, tells the difference.
"""
import json
import subprocess
import sys
import tempfile

PEAKS = {'llama-1b': .002, 'llama-8b': .002, 'qwen3-0.6b': .002, 'gemma2': .02}  # sdpa: how far prompts' may be off
SHARE = 1e-3  # scalars of window layers, and what PyTorch's allocator rounds up


def tables(program, *words):
    out = subprocess.run([program, *words, '-f', 'json'], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)['tables'][0]


def at_peak(program, *words):
    rows = tables(program, 'memory', *words)['rows']
    return sum(row['bytes'] for row in rows if row['state'] == 'cache')


def prompt(program, path, setting, result, engine):
    """Where activation functions, experts or eager attention hold more, ours is less."""
    ours = tables(program, 'memory', path, '--engine', engine, '--batch', str(setting['batch']), '--seq',
                  str(setting['seq']))['totals'][0]['bytes']
    off = ours / result['peaks']['prefill'] - 1
    may = PEAKS.get(setting['model']) if setting['attention'] == 'sdpa' else None
    print('%s %s, peak of a prompt: measured %d bytes, derived %d, %+.1f %%' % (
        setting['model'], setting['attention'], result['peaks']['prefill'], ours, 100 * off))
    return off <= .002 and (may is None or abs(off) <= may)


def later(program, *words):
    return tables(program, 'cache', *words)['totals'][0]['bytes']


def compare(program, path, setting, result, engine):
    def words(more):
        return path, '--engine', engine, '--batch', str(setting['batch']), '--seq', str(setting['seq'] + more)

    measured = result['cache']
    after = measured - result['ends']['prefill'] + result['ends']['decode']
    return (('prompt', measured, at_peak(program, *words(0))), ('step', after, later(program, *words(1))))


def main():
    with open('tests/reference/torch_memory.json') as file:
        measured = json.load(file)
    engine = 'transformers@' + measured['versions']['transformers']
    n, failed = 0, False
    with tempfile.TemporaryDirectory() as folder:
        for name, config in measured['configs'].items():
            with open('%s/%s.json' % (folder, name), 'w') as file:
                json.dump(config, file)
        for line in measured['settings']:
            setting, result = line['setting'], line['result']
            if setting['use'] != 'generate':
                continue
            n += 1
            path = '%s/%s.json' % (folder, setting['model'])
            failed |= not prompt(sys.argv[1], path, setting, result, engine)
            for what, bytes_, ours in compare(sys.argv[1], path, setting, result, engine):
                off = abs(ours - bytes_) > SHARE * bytes_
                failed |= off
                print('%s %s after a %s: measured %d bytes, derived %d%s' % (
                    setting['model'], setting['attention'], what, bytes_, ours, ' (differs)' if off else ''))
    sys.exit(failed or n < 8)


main()
