// Questions to the installed package.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { AttnledgerError, ask, run } from 'attnledger';
import { attnledger } from 'attnledger/core';

const config = readFileSync('config.json');
const value = ({ answer }, name) => answer.values.find((one) => one.name === name).value;

// from memory, as text or bytes, one line or words
const cache = await ask('cache config.json --seq 4096', { files: { 'config.json': config.toString() } });
const same = await ask(['cache', './config.json', '--seq', '4096'], { files: { 'config.json': config } });
assert.equal(value(same, 'bytes'), value(cache, 'bytes'));
assert.equal(value(await ask('cache llama-3-8b --seq 128k'), 'bytes'), 17179869184);
assert.match((await ask("variants 'gqa' --set \"n_heads=8\"")).answer.text, /gqa/);

assert.match((await ask(cache.answer.next[0], { files: { 'config.json': config } })).answer.text, /fits/);

// beyond 2^53
const flops = await ask('sweep llama-3-8b --whole --over seq=1000000000000 --measure flops --batch 1');
assert.equal(typeof Object.values(flops.tables[0].rows[0]).at(-1), 'bigint');

// several at a time
const many = await Promise.all(['gpt2', 'bert-base', 'llama-3-8b'].map((model) => ask(`count ${model}`)));
assert.deepEqual(many.map((answer) => typeof value(answer, 'parameters')), ['number', 'number', 'number']);

// what isn't answered, and what the full program answers
await assert.rejects(ask('cache no-such-model'), (error) => error instanceof AttnledgerError && error.status === 2
  && error.message.startsWith('attnledger cache: '));
await assert.rejects(ask('cache config.json'), /config.json/);
await assert.rejects(ask('audit gpt2'), /this is the light program/);

// files that are written, and no answer as one
const written = await run('count llama-3-8b --report page.html');
assert.equal(written.status, 0);
assert.deepEqual(Object.keys(written.files), ['page.html']);
assert.ok(new TextDecoder().decode(written.files['page.html']).includes('<html'));
assert.equal((await run('fit llama-3.1-405b --device L4 --batch 1')).status, 1);

// the core by itself, with a module that somebody else compiled
const module = await WebAssembly.compile(readFileSync(new URL(import.meta.resolve?.('attnledger/attnledger.wasm')
  ?? './node_modules/attnledger/attnledger.wasm', import.meta.url)));
assert.deepEqual(await attnledger(module).ask('cache gpt2'), await ask('cache gpt2'));
console.log('web: all questions answered');
