// attnledger in WebAssembly: the program, the system that it sees, and questions to it. This file imports
// nothing, so that a page can hold it.

const ERRNO = {
  EACCES: 2, EAGAIN: 6, EBADF: 8, EBUSY: 10, EEXIST: 20, EFBIG: 22, EINVAL: 28, EIO: 29, EISDIR: 31, ELOOP: 32,
  EMFILE: 33, ENAMETOOLONG: 37, ENOENT: 44, ENOSPC: 51, ENOSYS: 52, ENOTDIR: 54, ENOTEMPTY: 55, ENXIO: 60,
  EPERM: 63, EPIPE: 64, EROFS: 69, EXDEV: 75,
};
const KIND = { unknown: 0, block: 1, character: 2, folder: 3, file: 4, pipe: 6, link: 7 };
const encoder = new TextEncoder(), decoder = new TextDecoder();

// The exit status of the program, as WASI has it: an exception.
class Exit {
  constructor(status) {
    this.status = status;
  }
}

const failed = (code) => Object.assign(new Error(code), { code });

// ---- files in memory, as far as the program asks for them: in the words of Node's fs ----

class MemoryFiles {
  constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_NOFOLLOW: 0, O_NONBLOCK: 0 };

  constructor(files) {
    this.files = new Map();
    this.folders = new Set(['/', '/tmp']);
    this.open = new Map();
    for (const [name, content] of Object.entries(files))
      this.files.set(this.place(name), { bytes: typeof content === 'string' ? encoder.encode(content) : new Uint8Array(content), given: true });
    for (const name of this.files.keys())
      for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1))
        this.folders.add(name.slice(0, at));
  }

  // "a//./b/../c" is "/a/c".
  place(path) {
    const parts = [];
    for (const part of path.split('/'))
      if (part === '..')
        parts.pop();
      else if (part && part !== '.')
        parts.push(part);
    return '/' + parts.join('/');
  }

  find(path) {
    const file = this.files.get(this.place(path));
    if (!file)
      throw failed(this.folders.has(this.place(path)) ? 'EISDIR' : 'ENOENT');
    return file;
  }

  openSync(path, flags) {
    const place = this.place(path);
    if (flags & this.constants.O_CREAT && !this.files.has(place)) {
      if (this.folders.has(place))
        throw failed('EISDIR');
      this.files.set(place, { bytes: new Uint8Array() });
    } else if (flags & this.constants.O_EXCL)
      throw failed('EEXIST');
    const file = this.find(path);
    if (flags & this.constants.O_TRUNC)
      file.bytes = new Uint8Array();
    const fd = 3 + this.open.size;
    this.open.set(fd, file);
    return fd;
  }

  closeSync() {}

  fsyncSync() {}

  readSync(fd, out, at, n, position) {
    const from = this.open.get(fd).bytes.subarray(position, position + n);
    out.set(from, at);
    return from.length;
  }

  writeSync(fd, from, at, n, position) {
    const file = this.open.get(fd);
    if (position + n > file.bytes.length)
      this.ftruncateSync(fd, position + n);
    file.bytes.set(from.subarray(at, at + n), position);
    return n;
  }

  ftruncateSync(fd, length) {
    const file = this.open.get(fd), bytes = new Uint8Array(length);
    bytes.set(file.bytes.subarray(0, length));
    file.bytes = bytes;
  }

  stats(file) {
    const is = (value) => () => value;
    return { dev: 1n, ino: 0n, nlink: 1n, size: BigInt(file ? file.bytes.length : 0), mtimeNs: 0n, atimeNs: 0n, ctimeNs: 0n,
      isFile: is(!!file), isDirectory: is(!file), isSymbolicLink: is(false), isFIFO: is(false), isSocket: is(false),
      isCharacterDevice: is(false), isBlockDevice: is(false) };
  }

  fstatSync(fd) {
    return this.stats(this.open.get(fd));
  }

  statSync(path) {
    return this.stats(this.folders.has(this.place(path)) ? null : this.find(path));
  }

  lstatSync(path) {
    return this.statSync(path);
  }

  readdirSync(path) {
    const place = this.place(path), prefix = place === '/' ? place : place + '/', names = new Set();
    if (!this.folders.has(place))
      throw failed('ENOENT');
    for (const name of [...this.files.keys(), ...this.folders])
      if (name.startsWith(prefix) && name !== prefix)
        names.add(name.slice(prefix.length).split('/')[0]);
    return [...names];
  }

  mkdirSync(path) {
    if (this.folders.has(this.place(path)) || this.files.has(this.place(path)))
      throw failed('EEXIST');
    this.folders.add(this.place(path));
  }

  rmdirSync(path) {
    this.folders.delete(this.place(path));
  }

  unlinkSync(path) {
    this.find(path);
    this.files.delete(this.place(path));
  }

  renameSync(from, to) {
    const file = this.find(from);
    this.files.delete(this.place(from));
    this.files.set(this.place(to), { bytes: file.bytes });
  }

  readlinkSync(path) {
    this.statSync(path);
    throw failed('EINVAL');
  }

  // What the program wrote.
  written() {
    const out = {};
    for (const [name, file] of this.files)
      if (!file.given)
        out[name.slice(1)] = file.bytes;
    return out;
  }
}

// ---- WASI (preview 1), by such files ----

function kindOf(info) {
  return info.isFile() ? KIND.file : info.isDirectory() ? KIND.folder : info.isSymbolicLink() ? KIND.link
    : info.isCharacterDevice() ? KIND.character : info.isFIFO() || info.isSocket() ? KIND.pipe : KIND.unknown;
}

// The imports of the program; `state.memory` is its memory once it is instantiated.
function systemOf(state, { args, env, host, read, write, isTerminal }) {
  const view = () => new DataView(state.memory.buffer);
  const bytes = (at, n) => new Uint8Array(state.memory.buffer, at, n);
  const setSize = (at, value) => view().setUint32(at, Number(value), true);
  const setLong = (at, value) => view().setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
  const opened = [{ stream: 0 }, { stream: 1 }, { stream: 2 }, { path: '/', isPreopened: true, isFolder: true }];
  const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);

  const get = (fd) => {
    if (!opened[fd])
      throw failed('EBADF');
    return opened[fd];
  };
  const pathOf = (fd, at, n) => {
    const folder = get(fd).path, name = decoder.decode(bytes(at, n));
    return folder.endsWith('/') ? folder + name : `${folder}/${name}`;
  };
  const sizesOf = (list) => (n, total) => {
    setSize(n, list.length);
    setSize(total, list.reduce((sum, text) => sum + encoder.encode(text).length + 1, 0));
  };
  const putAll = (list) => (pointers, at) => {
    for (const text of list) {
      const encoded = encoder.encode(text + '\0');
      setSize(pointers, at);
      bytes(at, encoded.length).set(encoded);
      pointers += 4;
      at += encoded.length;
    }
  };
  const putInfo = (at, info) => {
    bytes(at, 64).fill(0);
    setLong(at, info.dev);
    setLong(at + 8, info.ino);
    view().setUint8(at + 16, kindOf(info));
    setLong(at + 24, info.nlink);
    setLong(at + 32, info.size);
    setLong(at + 40, info.atimeNs);
    setLong(at + 48, info.mtimeNs);
    setLong(at + 56, info.ctimeNs);
  };
  // Moves bytes by pieces [pointer, length] of memory until one is not moved whole.
  const move = (pieces, n, out, one) => {
    let done = 0;
    for (let i = 0; i < n; i++) {
      const at = view().getUint32(pieces + 8 * i, true), length = view().getUint32(pieces + 8 * i + 4, true);
      const moved = length ? one(bytes(at, length), done) : 0;
      done += moved;
      if (moved < length)
        break;
    }
    setSize(out, done);
    return done;
  };
  // Pipes and devices have no positions.
  const at = (file, position) => (file.isFile ? position : null);
  const readFile = (file, position) => (to, done) => host.readSync(file.fd, to, 0, to.length, at(file, position + done));
  const writeFile = (file, position) => (from, done) => host.writeSync(file.fd, from, 0, from.length, at(file, position + done));

  const calls = {
    args_sizes_get: sizesOf(args),
    args_get: putAll(args),
    environ_sizes_get: sizesOf(environment),
    environ_get: putAll(environment),
    clock_res_get: (clock, out) => setLong(out, 1000000n),
    clock_time_get: (clock, precision, out) => setLong(out, Math.round(1e6 * (clock ? performance.now() : Date.now()))),
    // of names of temporary files alone; Node 18 has no global crypto
    random_get: (at, n) => void bytes(at, n).forEach((_, i, out) => (out[i] = 256 * Math.random())),
    proc_exit: (status) => {
      throw new Exit(status);
    },

    fd_prestat_get: (fd, out) => {
      if (!get(fd).isPreopened)
        throw failed('EBADF');
      setSize(out, 0);
      setSize(out + 4, get(fd).path.length);
    },
    fd_prestat_dir_name: (fd, at, n) => bytes(at, n).set(encoder.encode(get(fd).path)),
    fd_fdstat_get: (fd, out) => {
      const { stream, isFolder } = get(fd), terminal = stream !== undefined && isTerminal(stream);
      bytes(out, 24).fill(0);
      view().setUint8(out, isFolder ? KIND.folder : terminal ? KIND.character : stream === undefined ? KIND.file : KIND.unknown);
      setLong(out + 8, terminal ? 0b1001010n : -1n);  // a terminal is what can't be sought
      setLong(out + 16, -1n);
    },
    fd_fdstat_set_flags: () => {},
    fd_filestat_get: (fd, out) => {
      const { stream, isFolder, path, fd: file } = get(fd);
      putInfo(out, isFolder ? host.statSync(path, { bigint: true }) : host.fstatSync(stream ?? file, { bigint: true }));
    },
    fd_filestat_set_size: (fd, length) => host.ftruncateSync(get(fd).fd, Number(length)),
    fd_sync: (fd) => host.fsyncSync(get(fd).fd),
    fd_close: (fd) => {
      if (get(fd).fd !== undefined)
        host.closeSync(get(fd).fd);
      opened[fd] = undefined;
    },
    fd_seek: (fd, offset, whence, out) => {
      const file = get(fd);
      if (file.fd === undefined)
        throw failed('EINVAL');
      const from = whence === 0 ? 0 : whence === 1 ? file.position : Number(host.fstatSync(file.fd, { bigint: true }).size);
      file.position = from + Number(offset);
      setLong(out, file.position);
    },
    fd_read: (fd, pieces, n, out) => {
      const file = get(fd);
      if (file.stream !== undefined)
        move(pieces, n, out, (to) => read(file.stream, to));
      else
        file.position += move(pieces, n, out, readFile(file, file.position));
    },
    fd_pread: (fd, pieces, n, offset, out) => void move(pieces, n, out, readFile(get(fd), Number(offset))),
    fd_write: (fd, pieces, n, out) => {
      const file = get(fd);
      if (file.stream !== undefined)
        move(pieces, n, out, (from) => write(file.stream, from));
      else
        file.position += move(pieces, n, out, writeFile(file, file.position));
    },
    fd_pwrite: (fd, pieces, n, offset, out) => void move(pieces, n, out, writeFile(get(fd), Number(offset))),
    fd_readdir: (fd, at, length, cookie, out) => {
      const folder = get(fd), buffer = bytes(at, length);
      if (cookie === 0n)
        folder.names = ['.', '..', ...host.readdirSync(folder.path)].map((name) => encoder.encode(name));
      let used = 0;
      for (let i = Number(cookie); i < folder.names.length && used < length; i++) {
        const name = folder.names[i], entry = new Uint8Array(24 + name.length), fields = new DataView(entry.buffer);
        fields.setBigUint64(0, BigInt(i + 1), true);
        fields.setUint32(16, name.length, true);
        entry.set(name, 24);
        buffer.set(entry.subarray(0, length - used), used);
        used += Math.min(entry.length, length - used);
      }
      setSize(out, used);
    },

    path_open: (fd, lookup, at, n, how, rights, inherited, flags, out) => {
      const path = pathOf(fd, at, n), c = host.constants;
      const writes = (rights & 64n) !== 0n, reads = (rights & 2n) !== 0n;
      const info = how & 1 ? null : (lookup & 1 ? host.statSync : host.lstatSync).call(host, path, { bigint: true });
      const file = { path, position: 0, isFolder: info ? info.isDirectory() : false, isFile: info ? info.isFile() : true };
      if (how & 2 && !file.isFolder)
        throw failed('ENOTDIR');
      if (file.isFolder && writes)
        throw failed('EISDIR');
      if (!file.isFolder)
        file.fd = host.openSync(path, (writes ? reads ? c.O_RDWR : c.O_WRONLY : c.O_RDONLY) | (how & 1 ? c.O_CREAT : 0)
          | (how & 4 ? c.O_EXCL : 0) | (how & 8 ? c.O_TRUNC : 0) | (lookup & 1 ? 0 : c.O_NOFOLLOW ?? 0)
          | (flags & 4 ? c.O_NONBLOCK ?? 0 : 0));
      let free = 3;
      while (opened[free])
        free++;
      opened[free] = file;
      setSize(out, free);
    },
    path_filestat_get: (fd, lookup, at, n, out) => putInfo(out, (lookup & 1 ? host.statSync : host.lstatSync).call(host, pathOf(fd, at, n), { bigint: true })),
    path_create_directory: (fd, at, n) => void host.mkdirSync(pathOf(fd, at, n)),
    path_remove_directory: (fd, at, n) => host.rmdirSync(pathOf(fd, at, n)),
    path_unlink_file: (fd, at, n) => host.unlinkSync(pathOf(fd, at, n)),
    path_rename: (fd, at, n, toFd, toAt, toN) => host.renameSync(pathOf(fd, at, n), pathOf(toFd, toAt, toN)),
    path_readlink: (fd, at, n, to, room, out) => {
      const link = encoder.encode(host.readlinkSync(pathOf(fd, at, n))).subarray(0, room);
      bytes(to, link.length).set(link);
      setSize(out, link.length);
    },
  };

  // Every call answers with an error's number; what is never called isn't there.
  return (name) => (...parameters) => {
    if (!calls[name])
      return ERRNO.ENOSYS;
    try {
      calls[name](...parameters);
      return 0;
    } catch (error) {
      if (error instanceof Exit || !error.code)
        throw error;
      return ERRNO[error.code] ?? ERRNO.EIO;
    }
  };
}

// Runs the program once; the result is its exit status. `system`: args, env, host (files), read, write, isTerminal.
export async function execute(module, system) {
  const state = {}, call = systemOf(state, system), imports = {};
  for (const { name } of WebAssembly.Module.imports(module))
    imports[name] = call(name);
  const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
  state.memory = exports.memory;
  try {
    exports._start();
    return 0;
  } catch (error) {
    if (error instanceof Exit)
      return error.status;
    throw error;
  }
}

// ---- questions ----

export class AttnledgerError extends Error {
  constructor(message, status) {
    super(message);
    this.name = 'AttnledgerError';
    this.status = status;
  }
}

// The words of a command line, with the program's name or without: "count 'my model.json'" is two.
function split(line) {
  const words = line.match(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g) ?? [];
  return words.slice(Number(words[0] === 'attnledger')).map((word) => word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
    (all, single, double, escaped) => single ?? double?.replace(/\\(.)/g, '$1') ?? escaped));
}

// Whole numbers beyond 2^53 become BigInt.
function parse(json) {
  const text = json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g,
    (token) => (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"\\u0001${token}"` : token));
  return JSON.parse(text, (key, value) => (typeof value === 'string' && value[0] === '\u0001' ? BigInt(value.slice(1)) : value));
}

// What a compiled attnledger.wasm answers.
export function attnledger(module) {
  async function run(words, { files = {} } = {}) {
    const host = new MemoryFiles(files), said = ['', '', ''], decoders = said.map(() => new TextDecoder());
    const status = await execute(module, {
      args: ['attnledger', ...(typeof words === 'string' ? split(words) : words)],
      env: { PWD: '/' },
      host,
      read: () => 0,
      write: (stream, from) => {
        said[stream] += decoders[stream].decode(from, { stream: true });
        return from.length;
      },
      isTerminal: () => false,
    });
    return { status, stdout: said[1], stderr: said[2], files: host.written() };
  }

  async function ask(words, options) {
    const asked = typeof words === 'string' ? split(words) : words;
    const { status, stdout, stderr } = await run([...asked, '-f', 'json'], options);
    if (status > 1)
      throw new AttnledgerError(stderr.trim(), status);
    return parse(stdout);
  }

  return { ask, run };
}
