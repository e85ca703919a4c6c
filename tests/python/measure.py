#!/usr/bin/env python3
"""What Python costs: the time of a call beyond the library's own, and the memory of an audit of 2 GiB of arrays.

    measure.py call|memory
"""
import mmap
import resource
import statistics
import sys
import time
from array import array

import attnledger as al
from attnledger import _library


class Stub:
    """The library, but each question is answered at once, by one answer."""

    def __init__(self, real, pointer):
        self.real, self.pointer = real, pointer

    def al_ask_with(self, n_words, words, options, out, failure):
        out._obj.value = self.pointer
        return True

    def al_answer_free(self, pointer):
        pass

    def __getattr__(self, name):
        return getattr(self.real, name)


def call():
    """Of cache with two options, its number included, in microseconds: at most 50."""
    answer = al.cache("llama-3-8b", seq=8192)
    real, stub = _library.library, Stub(_library.library(), answer._handle.pointer)
    times = []
    modules = [_library, sys.modules["attnledger._answer"]]
    for module in modules:
        module.library = lambda: stub
    for _ in range(2000):
        begin = time.perf_counter()
        value = al.cache("llama-3-8b", seq=8192, batch=2).value
        times.append(1e6 * (time.perf_counter() - begin))
    for module in modules:
        module.library = real
    assert value == answer.value
    print(f"overhead of a call: {statistics.median(times):.1f} us (at most 50)")
    return statistics.median(times) <= 50


def memory():
    """32 layers of four matrices of 2048 x 2048, float32: what audit takes beyond them, at most 256 MiB."""
    layers, width = 32, 2048
    n_bytes = 4 * width * width
    whole = mmap.mmap(-1, layers * 4 * n_bytes)
    seed, numbers = 1, array("f", bytes(4 * width))
    for i in range(width):
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        numbers[i] = (seed >> 33) / 2**31 - 0.5
    row = numbers.tobytes()
    for i in range(layers * 4 * width):
        turn = 4 * (i * 769 % width)
        whole[4 * width * i:4 * width * (i + 1)] = row[turn:] + row[:turn]
    view = memoryview(whole)
    tensors = {f"model.layers.{layer}.self_attn.{role}_proj.weight":
               view[n_bytes * (4 * layer + i):n_bytes * (4 * layer + i + 1)].cast("f", [width, width])
               for layer in range(layers) for i, role in enumerate("qkvo")}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    answer = al.audit(tensors, heads=16, only="heads")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    print(answer.text)
    print(f"audit of {len(view) >> 20} MiB of arrays: {grown:.0f} MiB more at the peak, {time.monotonic() - begin:.1f} s")
    return grown <= 256


sys.exit(0 if {"call": call, "memory": memory}[sys.argv[1]]() else 1)
