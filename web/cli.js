#!/usr/bin/env node
// The command line in Node: the same program, with this machine's files.
import fs from 'node:fs';
import { isatty } from 'node:tty';
import { execute } from './core.js';

// A pipe that is full says so: the write is tried again.
function write(stream, from) {
  for (;;)
    try {
      return fs.writeSync(stream, from);
    } catch (error) {
      if (error.code !== 'EAGAIN')
        throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
}

function read(stream, to) {
  try {
    return fs.readSync(stream, to);
  } catch (error) {
    if (error.code === 'EOF')
      return 0;
    throw error;
  }
}

const { COLUMNS, ...env } = process.env;
if (process.stdout.columns)
  env.COLUMNS = process.stdout.columns;
process.exitCode = await execute(await WebAssembly.compile(fs.readFileSync(new URL('./attnledger.wasm', import.meta.url))), {
  args: ['attnledger', ...process.argv.slice(2)],
  env: { ...env, PWD: process.cwd() },
  host: fs,
  read,
  write,
  isTerminal: isatty,
});
