#!/usr/bin/env python3
"""Training's peak against what PyTorch allocated and reserved: tests/reference/torch_memory.json, measured on a device,
and torch_fake.json, by tensors without data.

    torch_peaks.py ATTNLEDGER

Prints measured and derived memory. Fails where what is allocated differs by more than 5 %, or by more than 0.3 % in the
median, or what is reserved by more than 10 % in a fifth of the settings.
"""
import json
import statistics
import subprocess
import sys
import tempfile

import agreement

GIB = 1 << 30
RECIPES = {'bf16': 'bf16', 'f32': 'fp32', 'autocast': 'autocast', 'fsdp': 'fsdp'}
OPTIMIZERS = {'adamw': None, 'adamw fused': 'adamw-fused', 'adamw loop': 'adamw-loop', 'sgd': 'sgd',
              'adamw8bit bitsandbytes': 'adamw8bit', 'adamw8bit torchao': 'adamw8bit',
              'adamw8bit paged bitsandbytes': 'paged-adamw8bit', 'adamw in backward': 'adamw-in-backward'}
ADAPTED = {'q_proj': 'query', 'k_proj': 'key', 'v_proj': 'value', 'o_proj': 'output'}


def adapters(s):
    yield from ('--set', 'rank=%d' % s.get('rank', 16))
    if s['lora'] != 'all-linear':
        yield from ('--adapters', ','.join(ADAPTED[n] for n in s['lora'].split(',')))
    if s.get('lora_dropout'):
        yield '--adapter-dropout'


def recomputation(s):
    how = s.get('recompute', 'full' if s.get('checkpointing') else 'none')
    yield from ('--recompute', 'full', '--recompute-every', how) if how.isdigit() else ('--recompute', how)


def options(s):
    recipe = RECIPES[s['precision']]
    if s.get('lora'):
        recipe = 'qlora' if s.get('nf4') else 'lora'
        yield from adapters(s)
    yield from ('--recipe', recipe, '--seq', str(s['seq']), '--batch', str(s['batch']))
    if OPTIMIZERS[s['optimizer']]:
        yield from ('--optimizer', OPTIMIZERS[s['optimizer']])
    yield from recomputation(s)
    if s['attention'] == 'eager':
        yield from ('--attention', 'eager')
    if s.get('fsdp') or s.get('ddp'):
        yield from ('--dp', str(s.get('fsdp') or 8))
    if s.get('tp'):
        yield from ('--tp', str(s['tp']), '--sp')
    if s.get('loss'):
        yield from ('--loss', s['loss'])
    if s.get('compile'):
        yield '--compile'


def derived(program, model, s):
    out = subprocess.run([program, 'memory', model, '--train', '-f', 'json', *options(s)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [row['bytes'] for row in json.loads(out)['tables'][0]['totals']]


def write_config(path, name, config):
    if name == 'bert-base':  # its head is that of AutoModelForMaskedLM
        config = {**config, 'architectures': ['BertForMaskedLM']}
    with open(path, 'w') as file:
        json.dump(config, file)


def read(name):
    with open('tests/reference/%s.json' % name) as file:
        return json.load(file)


def is_of_step(s):
    """Is what was reserved that of the steps? Quantizing whole matrices first needs more."""
    return not (s.get('nf4') and s['model'] == 'llama-8b')


def compare(program, folder, settings):
    """Off by which share: allocated, reserved."""
    for setting in settings:
        s, result = setting['setting'], setting['result']
        if s['use'] != 'train' or 'error' in result:
            continue
        measured = max(result['peaks'][phase] for phase in ('forward', 'backward', 'optimizer')), result['reserved']
        ours = derived(program, '%s/%s.json' % (folder, s['model']), s)
        off = [a / b - 1 for a, b in zip(ours, measured)]
        print('allocated %7.3f GiB, derived %7.3f, %+5.1f %%; reserved %7.3f, derived %7.3f, %+5.1f %%: %s' % (
            measured[0] / GIB, ours[0] / GIB, 100 * off[0], measured[1] / GIB, ours[1] / GIB, 100 * off[1],
            ' '.join('%s=%s' % (k, v) for k, v in s.items() if k != 'use')))
        yield off[0], off[1] if is_of_step(s) else None


def main():
    measured, fake = read('torch_memory'), read('torch_fake')
    with tempfile.TemporaryDirectory() as folder:
        for name, config in {**measured['configs'], **fake['configs']}.items():
            write_config('%s/%s.json' % (folder, name), name, config)
        off = list(compare(sys.argv[1], folder, measured['settings'] + fake['settings']))
    allocated = [abs(a) for a, _ in off]
    reserved = [abs(r) for _, r in off if r is not None]
    median, near = statistics.median(allocated), sum(r <= .1 for r in reserved) / len(reserved)
    print('of %d peaks the median is off by %.2f %%, the worst by %.1f %%; of %d reserved the median by %.1f %%, the worst '
          'by %.1f %%, and %.0f %% are within 10 %%' % (
              len(off), 100 * median, 100 * max(allocated), len(reserved), 100 * statistics.median(reserved),
              100 * max(reserved), 100 * near))
    judge = agreement.versions(measured['versions'], 'torch', 'transformers') + ', on an H200 and with FakeTensorMode'
    is_said = [
        agreement.holds('bytes allocated at the peak of a training step', judge, len(allocated), sum(a <= .01 for a in allocated),
                        'within 1 %%; the median is off by %.2f %%, the worst by %.1f %%' % (100 * median, 100 * max(allocated))),
        agreement.holds('bytes reserved in training', judge, len(reserved), sum(r <= .1 for r in reserved),
                        "within 10 %%; the worst is off by %.1f %%: how PyTorch's allocator splits blocks depends on the order of "
                        'all tensors' % (100 * max(reserved)))]
    sys.exit(len(off) < 85 or median > .003 or max(allocated) > .05 or near < .8 or not all(is_said))


main()
