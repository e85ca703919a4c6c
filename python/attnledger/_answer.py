"""Questions and answers."""
from __future__ import annotations

import ctypes
import functools
import html
import json
import os
import pathlib
import shlex
import sys
from ctypes import byref
from typing import Any, Dict, Iterable, Iterator

from ._given import BY_CODE, Given, is_array, is_weights, wrong
from ._library import Array, Error, Failure, Handle, ask as ask_library, library

#: The types of numpy and of torch, by the names of safetensors.
NUMPY = {"F64": "f8", "F32": "f4", "F16": "f2", "BOOL": "?",
         **{name: name[0].lower() + str(int(name[1:]) // 8) for name in BY_CODE.values() if name[0] in "IU"}}
TORCH = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool",
         "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
         **{name: ("int" if name[0] == "I" else "uint") + name[1:] for name in BY_CODE.values() if name[0] in "IU"}}


#: The page of an answer in a notebook, which isn't written.
PAGE = "memory.html"


class Table:
    """A table of an answer. `rows` and `totals` are dicts by the columns' keys; `table["bytes"]` is a column, an
    array where numpy is installed."""

    def __init__(self, data):
        self.id, self.title, self.notes = data["id"], data["title"], data["notes"]
        self.rows, self.totals = data["rows"], data["totals"]
        self.columns = {column["key"]: column for column in data["columns"]}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, key: str):
        if key not in self.columns:
            raise KeyError(f"{self.id} has no column {key!r}; it has {', '.join(self.columns)}")
        values = [row[key] for row in self.rows]
        try:
            import numpy
        except ImportError:
            return values
        if None not in values or any(isinstance(value, str) or value and abs(value) > 2**53 for value in values):
            return numpy.array(values)
        return numpy.array([float("nan") if value is None else value for value in values])

    def to_pandas(self):
        import pandas
        return pandas.DataFrame(self.rows, columns=list(self.columns))

    def __repr__(self):
        return f"<{self.title}: {len(self.rows)} rows of {', '.join(self.columns)}>"


class Tables(Dict[str, Table]):
    """Tables by their ids."""

    def __missing__(self, key):
        raise KeyError(f"the answer has no table {key!r}; it has {', '.join(self)}")


class Answer:
    """An answer: a sentence whose numbers are data, tables, and what the program would write into files.

    Integers are exact; other numbers are floats. Printed, an answer is a screen of text."""

    def __init__(self, handle):
        self._handle = handle

    @property
    def json(self) -> str:
        """The answer as the program prints it under -f json."""
        return library().al_answer_json(self._handle.pointer).decode()

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """The same as a dict."""
        return json.loads(self.json)

    @property
    def text(self) -> str:
        """The sentence; "" where the tables are the answer."""
        return self.data["answer"]["text"]

    @property
    def values(self) -> dict[str, Any]:
        """The numbers and names of the sentence, by their names."""
        return {value["name"]: value["value"] for value in self.data["answer"]["values"]}

    def _lead(self):
        lead = library().al_answer_lead(self._handle.pointer)
        return lead.contents if lead else None

    @property
    def value(self) -> Any:
        """The one number that answers; None where no single one does."""
        lead = self._lead()
        if lead is None:
            return None
        value = lead.value.decode()
        return json.loads(value) if lead.is_number else value

    @property
    def unit(self) -> str | None:
        """Its unit; "": a count, a ratio or a name."""
        lead = self._lead()
        return lead and lead.unit.decode()

    @property
    def is_no(self) -> bool:
        """Is the answer a no: a wrong number, nothing fits?"""
        return library().al_answer_is_no(self._handle.pointer)

    @property
    def assumptions(self) -> list[str]:
        return self.data["answer"]["assumptions"]

    @property
    def next(self) -> list[str]:
        """Commands that lead on."""
        return self.data["answer"]["next"]

    @functools.cached_property
    def tables(self) -> Tables:
        return Tables((table["id"], Table(table)) for table in self.data["tables"])

    @property
    def table(self) -> Table:
        """The first table; None: there is none."""
        return next(iter(self.tables.values()), None)

    def _memory(self, address, length):
        """Bytes of the answer's, which live as long as they are looked at."""
        memory = (ctypes.c_char * length).from_address(address or 0) if length else (ctypes.c_char * 0)()
        memory.owner = self._handle
        return memory

    @property
    def files(self) -> dict[str, memoryview]:
        """What the program would write, by its path, as memoryviews."""
        found: dict[str, memoryview] = {}
        name, data, length = ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
        while library().al_answer_file(self._handle.pointer, len(found), byref(name), byref(data), byref(length)):
            found[os.fsdecode(name.value or b"")] = memoryview(self._memory(data.value, length.value)).cast("B")
        return found

    def _tensors(self):
        """Of all files of safetensors: name, type, shape, and bytes."""
        array, n, failure = ctypes.POINTER(Array)(), ctypes.c_size_t(), Failure()
        for i, name in enumerate(self.files):
            if not name.endswith(".safetensors") and "." in name:
                continue
            if not library().al_answer_arrays(self._handle.pointer, i, byref(array), byref(n), byref(failure)):
                raise Error(failure.message.decode(errors="replace"), failure.status)
            for one in array[:n.value]:
                yield one.name.decode(), one.dtype.decode(), one.shape[:one.n_dims], one.data

    @property
    def arrays(self) -> dict[str, Any]:
        """The tensors of what was written, as numpy arrays; bfloat16 needs the package ml_dtypes."""
        import numpy
        found = {}
        for name, dtype, shape, address in self._tensors():
            if dtype not in NUMPY:
                import ml_dtypes
                kind = numpy.dtype(getattr(ml_dtypes, TORCH[dtype]))
            else:
                kind = numpy.dtype(NUMPY[dtype])
            length = kind.itemsize * int(numpy.prod(shape, dtype="u8"))
            found[name] = numpy.frombuffer(self._memory(address, length), dtype=kind).reshape(shape)
        return found

    def state_dict(self) -> dict[str, Any]:
        """The same as torch tensors."""
        import torch
        found = {}
        for name, dtype, shape, address in self._tensors():
            kind = getattr(torch, TORCH[dtype])
            length = kind.itemsize
            for n in shape:
                length *= n
            found[name] = (torch.frombuffer(self._memory(address, length), dtype=kind).reshape(shape) if length
                           else torch.empty(shape, dtype=kind))
        return found

    def write(self, names: Iterable[str] | None = None) -> None:
        """Writes the files, or some of them, as the program would."""
        files = self.files
        for name in files if names is None else names:
            path = pathlib.Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])

    def __str__(self) -> str:
        return library().al_answer_screen(self._handle.pointer).decode(errors="replace").rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self):
        pages = [content for name, content in self.files.items() if name.endswith(".html")]
        if not pages:
            return None
        page = html.escape(bytes(pages[0]).decode())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 36em; border: 0"></iframe>'


# ---- asking ----

def ask_given(words, given):
    """With all tables, as for JSON; in a notebook, with the answer's page."""
    if words and not any(word.startswith(("-f", "--format")) for word in words):
        words = [words[0], "--format=json", *words[1:]]
    page = PAGE if "ipykernel" in sys.modules else None
    return Answer(ask_library(words, given.options(page)))


def ask(*words: str | os.PathLike) -> Answer:
    """The answer to a command line, with the program's name or without: one text, or its words."""
    if len(words) == 1 and isinstance(words[0], str):
        try:
            words = shlex.split(words[0])
        except ValueError as error:
            raise Error(f"{words[0]}: {error}") from error
    words = [os.fspath(word) for word in words]
    return ask_given(words[words[:1] == ["attnledger"]:], Given())


def items_of(value):
    """{"n_heads": 8} is ["n_heads=8"]."""
    return [f"{key}={item}" for key, item in value.items()] if isinstance(value, dict) else value


def option(name, value, kind, given):
    """The words of an option. Its kind: "list" may be given several times, "file" names one."""
    if kind == "flag":
        if is_array(value) or value not in (True, False):
            raise Error(f"{name}: {wrong(value, 'True or False')}")
        return [f"--{name}"] if value else []
    if kind == "file" and isinstance(value, bool):
        raise Error(f"{name}: {wrong(value, 'a path, or what is in memory')}")
    if kind == "list" and isinstance(value, (list, tuple, dict)):
        return [f"--{name}={given.word(item, name)}" for item in items_of(value)]
    if isinstance(value, (list, tuple)) or isinstance(value, dict) and kind is None and not is_weights(value):
        value = given.lines(value, name) if kind == "file" else ",".join(map(str, items_of(value)))
    if kind is None and (is_array(value) or isinstance(value, (bytes, bytearray))):
        raise Error(f"{name}: {wrong(value, 'a text or a number')}")
    return [f"--{name}={given.word(value, name)}"]


def is_default(value, default):
    return value is default or isinstance(value, (str, int, float)) and value == default


def call(command, names, values, kinds, memory=None):
    """The answer of a command. `names` are those of its words, `values` of these and of its options; `memory` is
    the output of one that needs an output, which stays in the answer if none is given."""
    given, words, options = Given(), [], []
    defaults = getattr(sys.modules[f"{__package__}._functions"], command).__kwdefaults__
    for name in names:
        value = values.pop(name)
        for item in value if name == names[0] and isinstance(value, tuple) else [value]:
            if words and "text" in values and (isinstance(item, (list, tuple)) or is_array(item)):
                kind = "text" if isinstance(item, (list, tuple)) and item and isinstance(item[0], str) else "tokens"
                if values[kind] is not None:
                    raise Error(f"{kind}: found twice, expected once")
                values[kind] = item
            elif item is not None:
                words.append(given.word(item, name.rstrip("s")))
    if memory and values["output"] is None:
        values["output"] = memory
    for name, value in values.items():
        if value is not None and value is not False and not is_default(value, defaults[name]):
            spelled = name.rstrip("_").replace("_", "-")
            options += option(spelled, value, "flag" if defaults[name] is False else kinds.get(spelled), given)
    answer = ask_given([command, *options, "--", *words], given)
    answer.write([name for name in answer.files if name.split("/")[0] not in (memory, PAGE)])
    return answer
