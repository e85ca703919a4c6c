import type { Answer, Options, Run } from './core.js';

export { AttnledgerError } from './core.js';
export type { Answer, Column, Exact, Options, Row, Run, Table, Value } from './core.js';

/** Answers a command line, as one text or word by word. */
export function ask(words: string | string[], options?: Options): Promise<Answer>;

/** Runs a command line as it is. */
export function run(words: string | string[], options?: Options): Promise<Run>;
