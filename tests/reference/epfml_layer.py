#!/usr/bin/env python3
"""Writes epfml_layer.json: what epfml's collaborative layer gives, in float64, with the file that `compress --for epfml` writes.

    epfml_layer.py OUT.json

ATTNLEDGER in the environment names the program, else it is build/attnledger; EPFML a checkout of epfml/collaborative-attention, else
it is cloned.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import torch

import heads
from collaborative import RANKS, compress, hidden

URL = 'https://github.com/epfml/collaborative-attention'


def load(folder):
    """The module, and the commit's date"""
    path = os.environ.get('EPFML')
    if not path:
        path = folder + '/epfml'
        subprocess.run(['git', 'clone', '-q', '--depth', '1', URL, path], check=True)
    spec = importlib.util.spec_from_file_location('epfml', path + '/src/collaborative_attention/collaborative_attention.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, subprocess.run(['git', '-C', path, 'log', '-1', '--format=%cs'], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.strip()


def run(module, tensors, rank):
    layer = module.CollaborativeAttention(heads.WIDTH, heads.WIDTH, rank, heads.WIDTH, heads.N_HEADS, False, 0.0, True, False)
    state = {name.replace('self.', '').replace('output.', ''): torch.tensor(rows, dtype=torch.float64) for name, rows in tensors.items()}
    layer.double().eval().load_state_dict({name: x[0] if name.endswith('.bias') else x for name, x in state.items()})
    with torch.no_grad():
        out = layer(torch.tensor([hidden()], dtype=torch.float64))
    return (out[0] if isinstance(out, tuple) else out)[0].tolist()


def main():
    program, outputs = os.environ.get('ATTNLEDGER', 'build/attnledger'), {}
    with tempfile.TemporaryDirectory() as folder:
        module, date = load(folder)
        for rank in RANKS:
            outputs[rank] = run(module, compress(program, folder, rank, '--for', 'epfml'), rank)
            os.remove(folder + '/out.safetensors')
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'epfml/collaborative-attention': date}, 'outputs': outputs}) + '\n')


if __name__ == '__main__':
    main()
