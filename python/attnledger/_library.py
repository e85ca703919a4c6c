"""libattnledger by ctypes, which leaves the GIL to others while a question is answered: the structs of
attnledger.h, and how a question is asked."""
import contextlib
import ctypes
import functools
import os
import pathlib
import sys
import time
from ctypes import POINTER, Structure, byref, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_void_p

Progress = ctypes.CFUNCTYPE(c_bool, c_void_p, c_char_p, c_size_t, c_size_t)


class Failure(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]


class Array(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_char_p), ("n_dims", c_size_t), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("data", c_void_p)]


class Arrays(Structure):
    _fields_ = [("name", c_char_p), ("items", POINTER(Array)), ("n", c_size_t), ("config", c_char_p)]


class Bytes(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("length", c_size_t)]


class Options(Structure):
    _fields_ = [("checkpoints", POINTER(Arrays)), ("n_checkpoints", c_size_t), ("files", POINTER(Bytes)),
                ("n_files", c_size_t), ("progress", Progress), ("context", c_void_p), ("page", c_char_p)]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("unit", c_char_p), ("value", c_char_p), ("is_number", c_bool),
                ("text", c_char_p), ("table", c_char_p), ("key", c_char_p), ("row", c_size_t)]


FUNCTIONS = {
    "al_version": (c_char_p, []),
    "al_ask_with": (c_bool, [c_size_t, POINTER(c_char_p), POINTER(Options), POINTER(c_void_p), POINTER(Failure)]),
    "al_answer_free": (None, [c_void_p]),
    "al_answer_is_no": (c_bool, [c_void_p]),
    "al_answer_lead": (POINTER(Value), [c_void_p]),
    "al_answer_json": (c_char_p, [c_void_p]),
    "al_answer_screen": (c_char_p, [c_void_p]),
    "al_answer_file": (c_bool, [c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_void_p), POINTER(c_size_t)]),
    "al_answer_arrays": (c_bool, [c_void_p, c_size_t, POINTER(POINTER(Array)), POINTER(c_size_t), POINTER(Failure)]),
}


class Error(Exception):
    """A question without an answer: the line that the program would print, and `status`, one of enum
    al_status in attnledger.h (2: wrong input, 3: the system failed)."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


@contextlib.contextmanager
def environment(**variables):
    """Sets variables that aren't set."""
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


@functools.lru_cache(maxsize=None)
def library():
    # Its own BLAS keeps to one thread, since the library cuts the work itself; OpenMP's threads don't spin.
    with environment(OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive"):
        loaded = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libattnledger.so")))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def version():
    return library().al_version().decode()


class Bar:
    """Progress by tqdm, where that is installed; work of less than a second shows none."""
    bar = None

    def __init__(self):
        self.begun = time.monotonic()

    def __call__(self, step, done, n):
        if self.bar is None:
            if time.monotonic() < self.begun + 1:
                return
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self.bar = tqdm(leave=False)
        self.bar.total = n or None
        self.bar.set_postfix_str(step, refresh=False)
        if done < self.bar.n:  # the next part of the work
            self.bar.n = self.bar.last_print_n = done
        self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()


class Watch:
    """What the library calls before each step. An exception, such as that of Ctrl-C, ends the work."""

    def __init__(self):
        self.make = sys.modules[__package__].progress
        self.show = self.raised = None

    def __call__(self, context, step, done, n):
        try:
            if self.make and not self.show:
                self.show = self.make()
            if self.show:
                self.show(step.decode(errors="replace"), done, n)
        except BaseException as raised:  # pylint: disable=broad-exception-caught
            self.raised = raised
        return self.raised is None

    def close(self):
        close = getattr(self.show, "close", None)
        if close:
            close()
        if self.raised is not None:
            raised, self.raised = self.raised, None
            raise raised


class Handle:
    """An answer of the library's, which is freed with this."""
    free = None

    def __init__(self, pointer):
        self.pointer = pointer
        self.free = library().al_answer_free

    def __del__(self):
        if self.free:
            self.free(self.pointer)


def encode(text):
    if "\0" in text:
        raise Error(f"{text!r}: found a NUL, which no word has")
    return text.encode("utf-8", "surrogateescape")


def ask(words, options):
    """The handle of the answer to a question of these words."""
    failure, out, watch = Failure(), c_void_p(), Watch()
    options.progress = Progress(watch)
    array = (c_char_p * len(words))(*map(encode, words))
    answered = library().al_ask_with(len(words), array, byref(options), byref(out), byref(failure))
    handle = Handle(out.value) if answered else None
    watch.close()
    if not answered:
        raise Error(failure.message.decode(errors="replace"), failure.status)
    return handle
