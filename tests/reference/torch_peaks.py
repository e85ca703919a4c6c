#!/usr/bin/env python3
"""Training's peak against what PyTorch allocated: tests/reference/torch_memory.json.

    torch_peaks.py ATTNLEDGER

Prints measured and derived peaks and fails where they differ by more than 5 %, or their median by more than 0.5 %.
"""
import json
import statistics
import subprocess
import sys
import tempfile

GIB = 1 << 30
RECIPES = {'bf16': 'bf16', 'f32': 'fp32', 'autocast': 'autocast', 'fsdp': 'fsdp'}
OPTIMIZERS = {'adamw': None, 'adamw fused': 'adamw-fused', 'adamw loop': 'adamw-loop', 'sgd': 'sgd',
              'adamw8bit bitsandbytes': 'adamw8bit', 'adamw8bit torchao': 'adamw8bit',
              'adamw8bit paged bitsandbytes': 'paged-adamw8bit', 'adamw in backward': 'adamw-in-backward'}
ADAPTED = {'q_proj': 'query', 'k_proj': 'key', 'v_proj': 'value', 'o_proj': 'output'}


def options(s):
    recipe = RECIPES[s['precision']]
    if s.get('lora'):
        recipe = 'qlora' if s.get('nf4') else 'lora'
        yield from ('--set', 'rank=%d' % s.get('rank', 16))
    yield from ('--recipe', recipe, '--seq', str(s['seq']), '--batch', str(s['batch']))
    if s.get('lora', 'all-linear') != 'all-linear':
        yield from ('--adapters', ','.join(ADAPTED[n] for n in s['lora'].split(',')))
    if OPTIMIZERS[s['optimizer']]:
        yield from ('--optimizer', OPTIMIZERS[s['optimizer']])
    yield from ('--recompute', 'full' if s.get('checkpointing') else 'none')
    if s['attention'] == 'eager':
        yield from ('--attention', 'eager')
    if s.get('fsdp') or s.get('ddp'):
        yield from ('--dp', str(s.get('fsdp') or 8))
    if s.get('compile'):
        yield '--compile'


def derived(program, model, s):
    out = subprocess.run([program, 'memory', model, '--train', '-f', 'json', *options(s)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)['tables'][0]['totals'][0]['bytes']


def write_config(path, name, config):
    if name == 'bert-base':  # its head is that of AutoModelForMaskedLM
        config = {**config, 'architectures': ['BertForMaskedLM']}
    with open(path, 'w') as file:
        json.dump(config, file)


def main():
    with open('tests/reference/torch_memory.json') as file:
        measured = json.load(file)
    off = []
    with tempfile.TemporaryDirectory() as folder:
        for name, config in measured['configs'].items():
            write_config('%s/%s.json' % (folder, name), name, config)
        for setting in measured['settings']:
            s, result = setting['setting'], setting['result']
            if s['use'] != 'train' or 'error' in result or s.get('lora_dropout'):
                continue
            peak = max(result['peaks'][phase] for phase in ('forward', 'backward', 'optimizer'))
            ours = derived(sys.argv[1], '%s/%s.json' % (folder, s['model']), s)
            off.append(ours / peak - 1)
            print('measured %7.3f GiB, reserved %7.3f, derived %7.3f, %+5.1f %%: %s' % (
                peak / GIB, result['reserved'] / GIB, ours / GIB, 100 * off[-1],
                ' '.join(str(v) for k, v in s.items() if k not in ('use', 'trace'))))
    median, worst = statistics.median(map(abs, off)), max(map(abs, off))
    print('of %d peaks the median is off by %.2f %%, the worst by %.1f %%' % (len(off), 100 * median, 100 * worst))
    sys.exit(len(off) < 60 or median > .005 or worst > .05)


main()
