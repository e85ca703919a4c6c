/** A number of an answer: a whole number beyond 2^53 is a bigint, so that none is rounded. */
export type Exact = number | bigint;

/** A number or a name of the answer's sentence. */
export interface Value {
  name: string;
  value: Exact | string;
  /** "": a count, a ratio or a name */
  unit: string;
  /** as the sentence shows it */
  text: string;
  /** JSON Pointer to its cell in the answer; null: none */
  cell: string | null;
}

export interface Column {
  key: string;
  title: string;
  unit: string;
}

export type Row = Record<string, Exact | string | boolean | null>;

export interface Table {
  id: string;
  title: string;
  columns: Column[];
  rows: Row[];
  /** sums of rows before them */
  totals: Row[];
  notes: string[];
}

/** What `attnledger ... -f json` prints: see schemas/answer.json. */
export interface Answer {
  /** the version that answered */
  attnledger: string;
  command?: string;
  arguments?: string[];
  answer?: {
    /** the answer in a sentence; "": the tables are the answer */
    text: string;
    values: Value[];
    assumptions: string[];
    /** commands that lead on */
    next: string[];
  };
  tables: Table[];
}

export interface Options {
  /** files by the names that the words have: {"config.json": text} */
  files?: Record<string, string | ArrayBuffer | Uint8Array>;
}

/** What the program did. */
export interface Run {
  /** 0; 1: the answer is no; 2: wrong input; 3: the system failed */
  status: number;
  stdout: string;
  stderr: string;
  /** what it wrote, by name */
  files: Record<string, Uint8Array>;
}

/** A question that isn't answered: the program's line. */
export class AttnledgerError extends Error {
  /** 2: wrong input; 3: the system failed */
  status: number;
}

export interface Attnledger {
  /** Answers a command line, as one text or word by word. */
  ask(words: string | string[], options?: Options): Promise<Answer>;
  /** Runs a command line as it is. */
  run(words: string | string[], options?: Options): Promise<Run>;
}

/** Questions to a compiled attnledger.wasm. */
export function attnledger(module: WebAssembly.Module): Attnledger;
