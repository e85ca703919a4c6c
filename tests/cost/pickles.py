"""Zip archives and pickles: a megabyte that unpacks to a thousand, and one that copies itself."""
import struct
import zlib

MIB = 1 << 20
NPY = b"{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"


def deflate(parts):
    """(the parts deflated, their bytes, their checksum); a part may be (bytes, how often)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed, n, checksum = [], 0, 0

    def add(block, times):
        nonlocal n, checksum
        packed.append(packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH))
        packed.extend(packed[-1:] * (times - 1))  # what follows a full flush doesn't depend on what was before it
        n += len(block) * times
        for _ in range(times):
            checksum = zlib.crc32(block, checksum)

    for part, times in (part if isinstance(part, tuple) else (part, 1) for part in parts):
        at_once = max(1, MIB // max(1, len(part)))
        if times >= at_once:
            add(part * at_once, times // at_once)
        if times % at_once:
            add(part * (times % at_once), 1)
    return b''.join(packed) + packer.flush(), n, checksum


def archive(members, times=1):
    """A zip archive of (name, parts); `times`: its list of members holds each so often."""
    body, directory, n_members = bytearray(), bytearray(), 0
    for name, parts in members:
        data, n, checksum = deflate(parts)
        facts = struct.pack('<HHHHHIIIHH', 20, 0, 8, 0, 0, checksum, len(data), n, len(name), 0)
        for _ in range(times):
            directory += b'PK\1\2' + struct.pack('<H', 20) + facts + struct.pack('<HHHII', 0, 0, 0, 0, len(body)) + name
            n_members += 1
        body += b'PK\3\4' + facts + name + data
    n_listed = min(n_members, 65535)
    return bytes(body + directory) + b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, n_listed, n_listed, len(directory), len(body), 0)


def header(shape, padded=0):
    """Of an array of numpy."""
    text = NPY % shape + b' ' * padded + b'\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) + text


def pickled(*parts, storage=64):
    """A file of torch.save with that pickle."""
    return 'd.pt', archive([(b'x/data.pkl', [b'\x80\2', *parts]), (b'x/byteorder', [b'little']),
                            (b'x/data/0', [bytes(storage)])]), ['inspect @/d.pt']


def legacy(*parts):
    """One of before 1.6: a magic number, the protocol, facts of the machine, the objects."""
    return 'd.pt', b''.join([b'\x80\2\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\x03.\x80\2}X\r\0\0\0little_endian\x88s.\x80\2',
                             *(part[0] * part[1] if isinstance(part, tuple) else part for part in parts)]), ['inspect @/d.pt']


def text(word):
    return b'X' + struct.pack('<I', len(word)) + word


def tensor(shape=b')', strides=b')'):
    return (b'ctorch._utils\n_rebuild_tensor_v2\n((' + text(b'storage') + b'ctorch\nFloatStorage\n' + text(b'0')
            + text(b'cpu') + b'K\1tQK\0' + shape + strides + b'\x89ccollections\nOrderedDict\n)RtR')


def dicts_in_dicts(depth, width):
    """Each dict holds the one before it under `width` names."""
    parts = [b'}' + text(b't') + tensor() + b's' + b'q\0']
    for _ in range(depth):
        parts.append(b'}(' + b''.join(text(b'%d' % i) + b'h\0' for i in range(width)) + b'uq\0')
    return parts


def named(prefix, n, value):
    """`n` entries of a dict."""
    return b''.join(text(prefix + b'%d' % i) + value for i in range(n))


DOCUMENTS = {
    # one value a byte
    'empty dicts': lambda: pickled((b'}', 64 * MIB - 3), b'.'),
    'empty dicts, a thousand to one': lambda: pickled((b'}', 900 * MIB), b'.'),
    'empty lists': lambda: pickled((b']', 64 * MIB - 3), b'.'),
    'empty tuples': lambda: pickled((b')', 64 * MIB - 3), b'.'),
    'nothings': lambda: pickled((b'N', 64 * MIB - 3), b'.'),
    'marks': lambda: pickled((b'(', 64 * MIB - 3), b'.'),
    'marks and tuples': lambda: pickled((b'(t', 32 * MIB - 2), b'.'),
    'tuples in tuples': lambda: pickled(b')', (b'\x85', 64 * MIB - 4), b'.'),
    'a long list': lambda: pickled(b'](', (b'N', 64 * MIB - 8), b'e.'),
    'memos': lambda: pickled(b'}', (b'\x94', 64 * MIB - 4), b'.'),
    'memo from afar': lambda: pickled(b'}r\xf0\xff\xff\x03', (b'N0', 32 * MIB - 8), b'.'),
    'one value often': lambda: pickled(b'}q\0', (b'h\0', 32 * MIB - 8), b'.'),
    'short texts': lambda: pickled((b'U\1a', 20 * MIB), b'.'),
    'long texts': lambda: pickled((text(b'a' * 60 * 1024), 1000), b'.'),
    'dropped values': lambda: pickled((b'}0', 32 * MIB - 8), b'}.'),
    'one list in many dicts': lambda: pickled(
        b'](', (b'NN\x86', 3 * MIB), b'eq\0', (b'0ccollections\nOrderedDict\nh\0\x85R', MIB), b'.'),
    'names': lambda: pickled((b'ccollections\nOrderedDict\n', 2 * MIB), b'.'),
    'long names of classes': lambda: pickled((b'c' + b'a' * MIB + b'\nb\n0', 8), b'.'),
    'frames': lambda: pickled((b'\x95' + bytes(8), 7 * MIB), b'}.'),
    'not a dict': lambda: pickled(b'].'),
    'no tensors': lambda: pickled(b'}.'),
    'dicts of dicts': lambda: pickled(*dicts_in_dicts(14, 4), b'.'),
    'dicts of dicts, wide': lambda: pickled(*dicts_in_dicts(3, 250), b'.'),
    'dicts of dicts, long names': lambda: pickled(
        b'}', text(b't'), tensor(), b'sq\0', *[b'}' + text(b'k' * MIB) + b'h\0sq\0'] * 15, b'.'),
    'a dict within itself': lambda: pickled(b'}q\0' + text(b'a') + b'h\0s' + text(b'b') + b'h\0s.'),
    'names of nothing': lambda: pickled(b'}(' + named(b't', 300000, b'N') + b'u.'),
    'many tensors': lambda: pickled(b'}q\1(' + text(b'a') + tensor() + b'q\2' + named(b't', 400000, b'h\2') + b'u.'),
    'a shape without end': lambda: pickled(b'}' + text(b't') + tensor(b'(' + b'K\1' * MIB + b't', b'(' + b'K\1' * MIB + b't') + b's.'),
    'a shape of many tensors': lambda: pickled(
        b'(' + b'K\1' * 64 + b'tq\1}(' + text(b'a') + tensor(b'h\1', b'h\1') + b'q\2' + named(b't', 400000, b'h\2') + b'u.'),
    'wrapped names': lambda: pickled(b'}(' + named(b'module._orig_mod.' * 200, 2000, tensor()) + b'u.'),
    'old file of empty dicts': lambda: legacy((b'}', 900000), b'.'),
    'old file of memos': lambda: legacy(b'}', (b'\x94', 900000), b'.'),
    'old file of one list': lambda: legacy(b'](' + b'NN\x86' * 100000 + b'eq\0',
                                           (b'0ccollections\nOrderedDict\nh\0\x85R', 20000), b'.'),
    # archives
    'zeros': lambda: ('d.npz', archive([(b'a.npy', [header(b'(225000000,)'), (bytes(1000), 900000)])]),
                      ['inspect @/d.npz', 'inspect @/d.npz --values', 'audit @/d.npz --heads 1']),
    'many matrices of zeros': lambda: ('d.npz', archive([
        (b'encoder.layer.%d.attention.%s.weight.npy' % (i // 4, (b'self.query', b'self.key', b'self.value', b'output.dense')[i % 4]),
         [header(b'(1000, 1000)'), (bytes(1000), 4000)]) for i in range(180)]),
        ['inspect @/d.npz --values', 'reconcile @/d.npz --heads 10', 'audit @/d.npz --heads 10 --null 0']),
    'many headers': lambda: ('d.npz', archive([(b'%d.npy' % i, [header(b'(0,)', 65000)]) for i in range(4000)]),
                             ['inspect @/d.npz']),
    'many members': lambda: ('d.npz', archive([(b'%d' % i, [b'']) for i in range(11000)]), ['inspect @/d.npz']),
    'one member often': lambda: ('d.npz', archive([(b'a.npy', [header(b'(0,)')])], 16000), ['inspect @/d.npz']),
    'empty archive': lambda: ('d.npz', archive([]), ['inspect @/d.npz']),
    'archive of archives': lambda: ('d.npz', archive([(b'a.npz', [archive([(b'a.npy', [header(b'(0,)')])])])]), ['inspect @/d.npz']),
    'many ends': lambda: ('d.npz', archive([(b'a.npy', [header(b'(0,)')])]) + b'PK\5\6' * 10000, ['inspect @/d.npz']),
}
