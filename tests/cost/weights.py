"""Files of tensors: what can be said in a megabyte, deflated or not."""
import json
import struct

BERT = 'tests/data/small-bert.safetensors'


def safetensors(entries, data=None):
    header = json.dumps(entries).encode()
    end = max([entry['data_offsets'][1] for entry in entries.values() if 'data_offsets' in entry], default=0)
    return len(header).to_bytes(8, 'little') + header + (bytes(end) if data is None else data)


def npy(header):
    return b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header


def llama2c(vocab, positions):
    """A model of zeros, as llama2.c stores it."""
    width, hidden, layers = 4, 6, 2
    n = (2 * width + 4 * width * width + 3 * width * hidden) * layers + (vocab + 1) * width + 2 * positions
    return struct.pack('<7i', width, hidden, layers, 2, 2, vocab, positions) + bytes(4 * n)


def calibration(n_modules):
    numbers = {'inputs': 3, **dict.fromkeys(('heads', 'sums', 'norms', 'entropies', 'distances', 'logits', 'self', 'previous',
                                             'first', 'duplicates', 'successors', 'spans'), 1)}
    entries = {'__metadata__': {'attnledger.calibration': '2', 'attnledger.source': '0' * 16}}
    at = 0
    for name in ('sequences', 'queries', 'queries.later', 'queries.repeated'):
        entries[name] = {'dtype': 'U64', 'shape': [1], 'data_offsets': [at, at + 8]}
        at += 8
    for name in (f'm{i}.{kind}' for i in range(n_modules) for kind in numbers):
        n = numbers[name.partition('.')[2]]
        entries[name] = {'dtype': 'F64', 'shape': [1, n], 'data_offsets': [at, at + 8 * n]}
        at += 8 * n
    return safetensors(entries, struct.pack('<4Q', 1, 1, 1, 1) + struct.pack('<d', 1) * ((at - 32) // 8))


AUDIT = f'audit {BERT} --heads 4'

DOCUMENTS = {
    'many tensors stored': ('d.safetensors', safetensors({
        f't{i}': {'dtype': 'F32', 'shape': [0], 'data_offsets': [0, 0]} for i in range(14000)}),
        ['inspect @/d.safetensors', 'reconcile @/d.safetensors bert-base', 'audit @/d.safetensors --heads 4']),
    'many modules': ('d.safetensors', safetensors({
        f'encoder.layer.{i // 3}.attention.self.{("query", "key", "value")[i % 3]}.weight':
        {'dtype': 'F32', 'shape': [1, 1], 'data_offsets': [4 * i, 4 * i + 4]} for i in range(6600)}),
        ['inspect @/d.safetensors', 'reconcile @/d.safetensors --heads 1', 'audit @/d.safetensors --heads 1 --null 0']),
    'deep shape': ('d.safetensors', safetensors({'t': {
        'dtype': 'F32', 'shape': [1] * 200000, 'data_offsets': [0, 4]}}), ['inspect @/d.safetensors']),
    'long metadata': ('d.safetensors', safetensors({'__metadata__': {f'k{i}': 'v' * 20 for i in range(20000)}}),
                      ['inspect @/d.safetensors']),
    'many shards': ('model.safetensors.index.json', {'metadata': {}, 'weight_map': {
        f't{i}': f'model-{i}.safetensors' for i in range(18000)}}, ['inspect @', 'count @']),
    'npy brackets': ('d.npy', npy(b'{' * 60000), [f'audit {BERT} --heads 4 --calibration @/d.npy']),
    'heads in rows': ('d.npy', npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (200, 1200), }\n") + bytes(960000),
                      ['pca @/d.npy --heads 12', 'pca @/d.npy --heads 1200', 'pca @/d.npy --heads 1 --target @/d.npy']),
    'many calibrated modules': ('d.safetensors', calibration(700), ['merge @/d.safetensors @/d.safetensors -o @/o']),
    'imatrix without end': ('d.dat', struct.pack('<i', 1 << 30) + bytes(900000), [AUDIT + ' --calibration @/d.dat']),
    'imatrix of many entries': ('d.dat', struct.pack('<i', 40000) + b''.join(
        struct.pack('<i', 5) + b'%05d' % i + struct.pack('<iif', 1, 1, 1) for i in range(40000)), [AUDIT + ' --calibration @/d.dat']),
    'imatrix of a long name': ('d.dat', struct.pack('<ii', 1, 900000) + b'n' * 900000, [AUDIT + ' --calibration @/d.dat']),
    'llama2.c of large sizes': ('d.bin', struct.pack('<7i', *[1 << 24] * 2, 1 << 12, 1, 1, 1 << 24, 1 << 24), ['inspect @/d.bin', 'count @/d.bin']),
    'shapes of zeros': ('d.safetensors', safetensors({f't{i}': {'dtype': 'F32', 'shape': [0, (1 << 62) - i], 'data_offsets': [0, 0]}
                                                      for i in range(10000)}), ['inspect @/d.safetensors', 'inspect @/d.safetensors --values']),
    'name of a tensor': ('d.safetensors', safetensors({'t' * 900000: {'dtype': 'F32', 'shape': [], 'data_offsets': [0, 4]}}),
                         ['inspect @/d.safetensors']),
    'names that begin alike': ('d.safetensors', safetensors({'t' * 800 + str(i): {'dtype': 'F32', 'shape': [0], 'data_offsets': [0, 0]}
                                                             for i in range(1000)}), ['inspect @/d.safetensors']),
    'escapes': ('d.safetensors', safetensors({'\u0001' * 140000: {'dtype': 'F32', 'shape': [], 'data_offsets': [0, 4]}}),
                ['inspect @/d.safetensors']),
    'config of a header': ('d.safetensors', safetensors({'__metadata__': {'config': '[' * 800000}, 't': {'dtype': 'F32', 'shape': [], 'data_offsets': [0, 4]}}), ['inspect @/d.safetensors']),
    'token ids': ('ids.npy', npy(b"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 240000), }\n") + bytes(960000),
                  ['evaluate @/m.bin --tokens @/ids.npy -q'], {'m.bin': llama2c(300, 64)}),
    'lines of token ids': ('ids.txt', '1\n' * 450000, ['evaluate @/m.bin --tokens @/ids.txt -q'], {'m.bin': llama2c(300, 64)}),
}
