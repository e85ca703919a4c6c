#!/usr/bin/env python3
"""Writes gguf_parser.json: what gguf-parser says of the GGUF shapes of gguf_shapes.py: parameters, and bytes of the KV cache.

    gguf_parser.py OUT.json

Needs Go, whose module proxy has the library.
"""
import json
import os
import subprocess
import sys
import tempfile

import gguf_shapes

MODULE, VERSION = 'github.com/gpustack/gguf-parser-go', 'v0.28.2'
TOKENS = 8192
ASK = r'''package main

import (
	"encoding/json"
	"os"
	"strconv"

	parser "github.com/gpustack/gguf-parser-go"
)

func main() {
	file, err := parser.ParseGGUFFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	tokens, _ := strconv.Atoi(os.Args[2])
	estimate := file.EstimateLLaMACppRun(parser.WithLLaMACppContextSize(int32(tokens)), parser.WithLLaMACppOffloadLayers(0))
	var cache uint64
	for _, device := range estimate.Devices {
		cache += uint64(device.KVCache.Sum())
	}
	json.NewEncoder(os.Stdout).Encode(map[string]uint64{"parameters": uint64(file.Metadata().Parameters), "cache": cache})
}
'''


def main():
    answers = {}
    with tempfile.TemporaryDirectory() as home:
        def go(*words):
            subprocess.run(['go', *words], cwd=home, check=True, env=dict(os.environ, GOFLAGS='-mod=mod -modcacherw', GOPATH=home + '/go'))

        with open(home + '/main.go', 'w') as file:
            file.write(ASK)
        go('mod', 'init', 'ask')
        go('get', '%s@%s' % (MODULE, VERSION))
        go('build', '-o', 'ask', '.')
        for name, model in gguf_shapes.MODELS.items():
            gguf_shapes.write(home + '/model.gguf', model)
            tokens = min(TOKENS, model['keys']['context_length'])
            out = subprocess.run([home + '/ask', home + '/model.gguf', str(tokens)], check=True, stdout=subprocess.PIPE, text=True).stdout
            answers[name] = dict(json.loads(out), tokens=tokens)
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'gguf-parser': VERSION[1:]}, 'answers': answers}, indent=1) + '\n')


if __name__ == '__main__':
    main()
