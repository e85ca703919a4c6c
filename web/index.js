// Questions to attnledger in Node, Deno, Bun and browsers.
import { attnledger } from './core.js';

export { AttnledgerError } from './core.js';

const place = new URL('./attnledger.wasm', import.meta.url);
let engine;

async function compile() {
  if (place.protocol === 'file:' && globalThis.process?.versions?.node) {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(place));
  }
  return WebAssembly.compile(await (await fetch(place)).arrayBuffer());
}

const load = () => (engine ??= compile().then(attnledger));

export const ask = async (words, options) => (await load()).ask(words, options);
export const run = async (words, options) => (await load()).run(words, options);
