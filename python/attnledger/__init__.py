"""attnledger: counts and audits the attention of transformers.

A function for each command of the program, with its options as keyword arguments, gives an Answer:

    import attnledger as al
    al.cache("llama-3-8b", seq="128k").value          # 17179869184
    al.audit(model)                                   # a torch module, a dict of arrays, a folder
"""
from ._answer import Answer, Table, ask
from ._functions import *
from ._functions import __all__ as _commands
from ._given import Checkpoint
from ._library import Bar, Error, version

#: What makes the callable (step, done, n) that long work calls before each step; None: nothing.
progress = Bar

for _class in Answer, Bar, Checkpoint, Error, Table:
    _class.__module__ = __name__
__all__ = ["Answer", "Bar", "Checkpoint", "Error", "Table", "ask", *_commands]


def __getattr__(name):
    if name == "__version__":  # the library is loaded where it's needed first
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
