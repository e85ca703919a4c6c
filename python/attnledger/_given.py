"""What Python has in memory, as the library reads it: tensors, files and configs under names that words of the
question refer to. Numbers aren't copied, unless they are elsewhere than in this machine's memory."""
import contextlib
import ctypes
import json
import math
import numbers
import operator
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_uint8, c_uint16, c_uint64, c_void_p

from ._library import Array, Arrays, Bytes, Error, Options, encode


class Checkpoint:
    """Weights (a torch module, or a dict of arrays by their names), with a config and a tokenizer where these
    don't come with them: a dict, a path, or what transformers has."""

    def __init__(self, weights, config=None, tokenizer=None):
        self.weights, self.config, self.tokenizer = weights, config, tokenizer


@contextlib.contextmanager
def about(name):
    """What goes wrong with a value that has this name."""
    try:
        yield
    except (Error, TypeError, ValueError, BufferError, RuntimeError) as error:
        raise Error(f"{name}: {error}") from error


def wrong(value, expected):
    return Error(f"found a value of type {type(value).__name__}, expected {expected}")


# ---- one array ----

class Buffer(Structure):
    """Python's Py_buffer."""
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", c_void_p), ("internal", c_void_p)]

    def __del__(self):
        if self.obj:
            ctypes.pythonapi.PyBuffer_Release(byref(self))


class DLTensor(Structure):
    """The beginning of DLPack's DLManagedTensor."""
    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


STRIDED = 0x1C  # PyBUF_STRIDES | PyBUF_FORMAT
ON_CPU = (1, 3)  # kDLCPU, and pinned by CUDA
BY_CODE = {(2, 64): "F64", (2, 32): "F32", (2, 16): "F16", (4, 16): "BF16", (10, 8): "F8_E4M3", (12, 8): "F8_E5M2",
           **{(code, bits): f"{'IU'[code]}{bits}" for code in (0, 1) for bits in (8, 16, 32, 64)}, (6, 8): "BOOL"}
BY_FORMAT = {**dict.fromkeys("dfe", 2), **dict.fromkeys("bhilq", 0), **dict.fromkeys("BHILQ", 1), "?": 6}
# Numbers that neither protocol of numpy has: the names of ml_dtypes.
BY_NAME = {"bfloat16": ("u2", "BF16"), "float8_e4m3fn": ("u1", "F8_E4M3"), "float8_e5m2": ("u1", "F8_E5M2")}

ctypes.pythonapi.PyCapsule_GetPointer.restype = c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]


def by_buffer(value, dtype):
    view = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(value), byref(view), STRIDED)
    kind = (view.format or b"B").decode().lstrip("@=<")
    dtype = dtype or BY_CODE.get((BY_FORMAT.get(kind), 8 * view.itemsize))
    if dtype is None:
        raise Error(f"found numbers of the format {kind!r}, expected floats or integers in this machine's byte order")
    shape, strides = view.shape[:view.ndim], view.strides[:view.ndim]
    if any(stride < 0 or stride % view.itemsize for stride in strides):
        copy = by_buffer(memoryview(value).tobytes(), None)
        return dtype, shape, None, *copy[3:]
    return dtype, shape, [stride // view.itemsize for stride in strides], view.buf, view


def by_dlpack(value):
    if value.__dlpack_device__()[0] not in ON_CPU:
        if not hasattr(value, "cpu"):
            raise Error("found an array on another device, expected one in memory")
        value = value.cpu()
    capsule = (value.detach() if hasattr(value, "detach") else value).__dlpack__()
    tensor = DLTensor.from_address(ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor"))
    dtype = BY_CODE.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise Error(f"found numbers of DLPack's type ({tensor.code}, {tensor.bits}), expected floats or integers")
    strides = tensor.strides[:tensor.ndim] if tensor.strides else None
    return dtype, tensor.shape[:tensor.ndim], strides, (tensor.data or 0) + tensor.byte_offset, capsule


def is_array(value):
    return hasattr(value, "__dlpack__") or isinstance(value, memoryview) or hasattr(value, "typecode")


def open_array(value):
    """dtype, shape, strides in elements (None: in order), address, and what keeps it alive."""
    as_bits, dtype = BY_NAME.get(str(getattr(value, "dtype", "")), (None, None))
    if as_bits:
        value = value.view(as_bits)
    try:
        memoryview(value)
    except (TypeError, ValueError):
        return by_dlpack(value)
    return by_buffer(value, dtype)


def npy(value):
    """The bytes of numpy's file of an array."""
    if callable(getattr(value, "contiguous", None)):
        value = value.contiguous()
    dtype, shape, _, address, kept = open_array(value)
    if dtype[0] not in "FIU" or "_" in dtype:
        raise Error(f"found numbers of the type {dtype}, expected integers or floats that numpy has")
    width = int(dtype[1:]) // 8
    data = (memoryview(value).tobytes() if isinstance(kept, Buffer)
            else ctypes.string_at(address, width * math.prod(shape)))
    header = repr({"descr": f"<{dtype[0].lower()}{width}", "fortran_order": False, "shape": tuple(shape)}) + "\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + data


# ---- models ----

def plain_number(value):
    """A number of numpy's as JSON has it."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def config_text(config):
    """The text of a config.json: of a dict, of transformers' config, or the text itself."""
    if hasattr(config, "to_json_string"):
        return config.to_json_string()
    if isinstance(config, dict):
        try:
            return json.dumps(config, default=plain_number)
        except (TypeError, ValueError) as error:
            raise Error(f"a config, or a dict of arrays: {error}") from error
    if not isinstance(config, (str, os.PathLike)):
        raise wrong(config, "a dict, a path or the text of a JSON file")
    if isinstance(config, os.PathLike) or not config.lstrip().startswith("{"):
        try:
            with open(config, encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise Error(f"{os.fspath(config)}: can't read: {getattr(error, 'strerror', None) or error}") from error
    return config


def tokenizer_text(tokenizer):
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
    return tokenizer.to_str() if hasattr(tokenizer, "to_str") else config_text(tokenizer)


def as_saved(module, tensors):
    """The tensors that a module of transformers would save: one of those that share their numbers, and by the
    names of files, which aren't always those of the module."""
    found = [getattr(sys.modules.get(f"transformers.{file}"), name, None) for file, name in (
        ("modeling_utils", "remove_tied_weights_from_state_dict"), ("core_model_loading", "revert_weight_conversion"))]
    if hasattr(module, "save_pretrained") and all(found):
        remove_tied, revert = found
        tensors = revert(module, remove_tied(dict(tensors), module))
    return tensors


def config_of(module):
    """That of a module of transformers, as it is saved."""
    if not hasattr(getattr(module, "config", None), "to_json_string"):
        return None
    config = json.loads(module.config.to_json_string())
    config["architectures"] = [type(module).__name__]
    config.setdefault("dtype", str(module.dtype).split(".")[-1])
    return config


def is_weights(value):
    """A module, a dict of arrays, or a Checkpoint."""
    return (isinstance(value, Checkpoint) or hasattr(value, "state_dict")
            or isinstance(value, dict) and any(map(is_array, value.values())))


# ---- all that a question has ----

class Given:
    """Words for values, and what they name."""

    def __init__(self, taken=()):
        self.names, self.arrays, self.files, self.kept = set(taken), [], [], []

    def name(self, wanted):
        """A name that nothing else has: config.json, config-2.json."""
        name, n = wanted, 1
        stem, ending = os.path.splitext(wanted)
        while name in self.names:
            n += 1
            name = f"{stem}-{n}{ending}"
        self.names.add(name)
        return name

    def file(self, name, content):
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogateescape")
        _, _, _, address, view = by_buffer(content, None)
        self.kept.append(view)
        self.files.append(Bytes(encode(name), address, view.len))
        return name

    def array(self, name, value):
        with about(name):
            dtype, shape, strides, address, kept = open_array(value)
        self.kept.append(kept)
        numbers = c_int64 * len(shape)
        return Array(encode(name), dtype.encode(), len(shape), numbers(*shape),
                     None if strides is None else numbers(*strides), address)

    def weights(self, value, name):
        """The word of a checkpoint in memory."""
        given = value if isinstance(value, Checkpoint) else Checkpoint(value)
        module, tensors, config = given.weights, given.weights, given.config
        if hasattr(module, "state_dict"):
            name = type(module).__name__
            tensors = as_saved(module, module.state_dict())
            config = config or config_of(module)
        if not hasattr(tensors, "items"):
            raise Error(f"{name}: {wrong(tensors, 'a module or a dict of arrays')}")
        for key, tensor in tensors.items():
            if not isinstance(key, str) or isinstance(tensor, (list, tuple)):
                raise Error(f"{name}: found {key!r}: {type(tensor).__name__}, expected names and arrays")
        name = self.name(name)
        items = [self.array(key, tensor) for key, tensor in tensors.items() if is_array(tensor)]
        array = (Array * len(items))(*items)
        self.kept.append((array, tensors))
        with about(f"{name}/config.json"):
            text = encode(config_text(config)) if config else None
        self.arrays.append(Arrays(encode(name), array, len(items), text))
        if given.tokenizer is not None:
            with about(f"{name}/tokenizer.json"):
                self.file(f"{name}/tokenizer.json", tokenizer_text(given.tokenizer))
        return name

    def answer(self, files, name):
        """The word of what another answer holds: its first file, or the folder that this is in."""
        if not files:
            raise Error(f"{name}: found an answer that holds no files")
        name, root = self.name(name), next(iter(files)).split("/")[0]
        for path, content in files.items():
            if path.split("/")[0] == root:
                self.file(name + path[len(root):], content)
        return name

    def lines(self, values, name):
        """A file with a line for each text, or each sequence of tokens."""
        if all(isinstance(value, str) for value in values):
            broken = next((text for text in values if "\n" in text or "\r" in text), None)
            if broken is not None:
                raise Error(f"{name}: {broken[:40]!r} ... has more than one line, and each line is a sequence: "
                            "split it, or pass its tokens")
            return self.file(self.name(f"{name}.txt"), "\n".join(values) + "\n")
        rows = values if any(hasattr(row, "__iter__") for row in values) else [values]
        with about(name):
            text = "".join(" ".join(str(operator.index(token)) for token in row) + "\n" for row in rows)
        return self.file(self.name(f"{name}.txt"), text)

    def word(self, value, name):
        """The word of the question that stands for a value."""
        if isinstance(value, str):
            return value
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        if hasattr(value, "files") and hasattr(value, "tables"):
            return self.answer(value.files, name)
        if is_weights(value):
            return self.weights(value, name)
        if isinstance(value, (bytes, bytearray)) or isinstance(value, memoryview) and value.format == "B":
            return self.file(self.name(name), value)
        with about(name):
            if isinstance(value, dict) and not value:
                raise Error("found an empty dict")
            if isinstance(value, dict) or hasattr(value, "to_json_string"):
                return self.file(self.name("config.json"), config_text(value))
            if is_array(value):
                return self.file(self.name(f"{name}.npy"), npy(value))
            if not isinstance(value, numbers.Number):
                raise wrong(value, "a text, a path, a number, or a model, a config or arrays in memory")
        return str(value)

    def options(self, page):
        return Options(checkpoints=(Arrays * len(self.arrays))(*self.arrays), n_checkpoints=len(self.arrays),
                       files=(Bytes * len(self.files))(*self.files), n_files=len(self.files), page=page and encode(page))
