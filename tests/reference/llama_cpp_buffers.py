#!/usr/bin/env python3
"""Writes llama_cpp_buffers.json: the buffers that llama.cpp allocates for the shapes of gguf_shapes.py, by its own log.

    llama_cpp_buffers.py OUT.json

Needs Node and npm: the package node-llama-cpp brings llama.cpp compiled, for the CPU.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import gguf_shapes

PACKAGE = '3.22.1'
FORMATS = 'f16', 'q8_0', 'q4_0'
ASK = r'''
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
const lines = [], logger = (_, text) => lines.push(...text.split("\n").filter((line) => /buffer size|n_ubatch/.test(line)));
const llama = await getLlama({gpu: false, logLevel: LlamaLogLevel.debug, build: "never", logger});
const model = await llama.loadModel({modelPath: process.argv[2]});
console.log(JSON.stringify({release: llama.llamaCppRelease.release, log: lines}));
for (const setting of JSON.parse(process.argv[3])) {
	lines.length = 0;
	const context = await model.createContext({...setting, batchSize: 512});
	for (let i = 0; i < 100 && !lines.some((line) => /sched_reserve.*compute/.test(line)); i++) // the log comes later
		await new Promise((resolve) => setTimeout(resolve, 100));
	await context.dispose();
	console.log(JSON.stringify({log: lines}));
}
process.exit(0);
'''


def install(home, script):
    subprocess.run(['npm', 'install', '--silent', '--no-save', '--ignore-scripts', 'node-llama-cpp@' + PACKAGE], cwd=home, check=True)
    with open(home + '/ask.mjs', 'w') as file:
        file.write(script)


def settings(name):
    for tokens in (1024,) if name == 'gpt2' else (2048, 8192):
        for dtype in FORMATS:
            quantized = {'experimentalKvCache%sType' % part: dtype.upper() for part in ('Key', 'Value') if dtype != 'f16'}
            yield {'tokens': tokens, 'dtype': dtype, 'flash': True}, {'contextSize': tokens, 'flashAttention': True, **quantized}
        yield {'tokens': tokens, 'dtype': 'f16', 'flash': False}, {'contextSize': tokens, 'flashAttention': False}


def figures(log, pattern):
    return [float(number) for line in log for number in re.findall(pattern, line)]


def ask(home, path, name):
    chosen = list(settings(name))
    out = subprocess.run(['node', 'ask.mjs', path, json.dumps([setting for _, setting in chosen])], cwd=home, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    first, *logs = [json.loads(line) for line in out.splitlines() if line.startswith('{"')]
    weights = figures(first['log'] + logs[0]['log'], r'model buffer size = +([\d.]+) MiB')[-1]
    for (asked, _), found in zip(chosen, logs):
        log = found['log']
        yield dict({'model': name}, **asked, step=int(figures(log, r'n_ubatch += (\d+)')[-1]), weights=weights,
                   cache=round(sum(figures(log, r'KV buffer size = +([\d.]+) MiB')), 2),
                   compute=figures(log, r'sched_reserve: +CPU compute buffer size = +([\d.]+) MiB')[-1])
    ask.release = first['release']


def main():
    with tempfile.TemporaryDirectory() as home:
        install(home, ASK)
        rows = []
        for name, model in gguf_shapes.MODELS.items():
            path = home + '/model.gguf'
            gguf_shapes.write(path, model)
            rows += ask(home, path, name)
            os.remove(path)
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'node-llama-cpp': PACKAGE, 'llama.cpp': ask.release}}, indent=1)[:-2] + ',\n "rows": [\n')
        file.write(',\n'.join(json.dumps(row) for row in rows) + '\n]}\n')


if __name__ == '__main__':
    main()
