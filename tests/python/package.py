#!/usr/bin/env python3
"""The Python package by itself: values, errors, arrays in memory, calibrations, progress, lifetimes. What needs numpy
is left out without it."""
import array
import contextlib
import fractions
import gc
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import attnledger as al

try:
    import numpy
except ImportError:
    numpy = None

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
LLAMA = DATA / "tiny-llama"
IDS = [[(7 * i + 3 * j) % 17 for j in range(24)] for i in range(8)]


def read_safetensors(path):
    """The tensors of a file of float32, without a copy."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8:8 + length]), memoryview(content)[8 + length:]
    return {name: data[slice(*t["data_offsets"])].cast("f", t["shape"]) for name, t in header.items()
            if name != "__metadata__"}


def tensors():
    return read_safetensors(LLAMA / "model.safetensors")


def config():
    return json.loads((LLAMA / "config.json").read_text())


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Values(unittest.TestCase):
    def test_number(self):
        answer = al.cache("llama-3-8b", seq="128k")
        self.assertEqual((answer.value, answer.unit), (17179869184, "B"))
        self.assertIs(type(answer.value), int)
        self.assertEqual(answer.values["context"], 131072)
        self.assertTrue(answer.text.startswith("Llama 3 8B needs 16.00 GiB"))
        self.assertEqual(answer.next[0].split()[:3], ["attnledger", "fit", "llama-3-8b"])

    def test_large_integers_are_exact(self):
        answer = al.cache("llama-3-8b", seq=2**52, batch=2**50 + 1)
        self.assertEqual(answer.value, 131072 * 2**52 * (2**50 + 1))

    def test_fractions_of_a_byte(self):
        values = al.cache("deepseek-v4-flash", engine="vllm").values
        self.assertEqual(values["bytes_per_token"], fractions.Fraction(115849, 4))

    def test_no(self):
        self.assertTrue(al.fit("llama-3-8b", device="H100", seq="1M").is_no)
        self.assertFalse(al.fit("llama-3-8b", device="H100").is_no)

    def test_options(self):
        self.assertEqual(al.count("gpt2", set={"n_layers": 24}, whole=True).value,
                         al.ask("count gpt2 --set n_layers=24 --whole").value)
        two = al.count("gpt2", variant=["mha", "mqa"], whole=True)
        self.assertEqual(two.text, al.ask("count", "gpt2", "--variant", "mha", "--variant", "mqa", "--whole").text)

    def test_tables(self):
        table = al.list("models").table
        self.assertEqual(table.columns["name"]["title"], "Name")
        self.assertEqual(len(table), len(table.rows))
        self.assertIn("llama-3-8b", table["name"])
        with self.assertRaisesRegex(KeyError, "has no column 'no'; it has name"):
            table["no"]
        with self.assertRaisesRegex(KeyError, "has no table 'no'; it has cache"):
            al.cache("gpt2").tables["no"]

    def test_printed(self):
        answer = al.cache("gpt2")
        program = pathlib.Path(al.__file__).with_name("attnledger")
        printed = subprocess.run([program, "cache", "gpt2"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(f"{answer!r}\n", printed)
        self.assertIsNone(answer._repr_html_())
        self.assertIn("iframe", al.ask("cache gpt2 --report page.html")._repr_html_())

    def test_next(self):
        self.assertEqual(al.ask(al.cache("llama-3-8b").next[0]).values["device"], "H100")

    def test_command_line(self):
        ran = subprocess.run([sys.executable, "-m", "attnledger", "cache", "gpt2", "-f", "value"], capture_output=True,
                             text=True, check=True)
        self.assertEqual(int(ran.stdout), al.cache("gpt2").value)
        ran = subprocess.run([sys.executable, "-m", "attnledger", "variants", "gqa"], capture_output=True, text=True,
                             check=True)  # the full program
        self.assertIn("n_kv_heads", ran.stdout)


class Errors(unittest.TestCase):
    def test_line(self):
        with self.assertRaisesRegex(al.Error, 'unknown model or variant "llama-3-8"') as raised:
            al.cache("llama-3-8")
        self.assertEqual(raised.exception.status, 2)

    def test_wrong_python(self):
        with self.assertRaises(TypeError):
            al.cache("gpt2", sequence=3)
        with self.assertRaisesRegex(al.Error, "no command given"):
            al.ask("")
        with self.assertRaisesRegex(al.Error, "NUL"):
            al.cache("gpt2\0")
        with self.assertRaisesRegex(al.Error, "no files"):
            al.audit(al.cache("gpt2"))
        with self.assertRaisesRegex(al.Error, "more than one line"):
            al.calibrate(LLAMA, ["two\nlines"])
        with self.assertRaisesRegex(al.Error, "layers.0.weight: found numbers of"):
            al.audit({"layers.0.weight": memoryview(b"ab").cast("c")})
        with self.assertRaisesRegex(al.Error, "a config, or a dict of arrays: Object of type memoryview"):
            al.audit({"model": tensors()})
        with self.assertRaisesRegex(al.Error, "pass one of --tokens"):
            al.calibrate(LLAMA)
        with self.assertRaisesRegex(al.Error, "No closing quotation"):
            al.ask("cache 'gpt2")

    def test_wrong_types(self):
        """One line that names what is wrong, whatever is passed."""
        one = {"layers.0.weight": array.array("f", [1])}
        for message, ask in {
                "model: found a value of type list, expected a text, a path": lambda: al.cache(["gpt2", "bert-base"]),
                "model: found a value of type TextIOWrapper": lambda: al.cache(io.TextIOWrapper(io.BytesIO(b"{}"))),
                "model: found an empty dict": lambda: al.cache({}),
                "seq: found a value of type array, expected a text or a number": lambda: al.cache(
                    "gpt2", seq=array.array("i", [8])),
                "seq: found a value of type bytes": lambda: al.cache("gpt2", seq=b"8"),
                "explain: found a value of type str, expected True or False": lambda: al.cache("gpt2", explain="yes"),
                "tables: found a value of type bool, expected a path": lambda: al.audit(LLAMA, tables=True),
                "checkpoint: found an empty dict": lambda: al.audit({}),
                "checkpoint: found 1: array, expected names and arrays": lambda: al.audit({1: array.array("f", [1])}),
                "checkpoint: found 'a': list, expected names and arrays": lambda: al.audit({**one, "a": [1., 2.]}),
                "checkpoint: found a value of type str, expected a module": lambda: al.audit(al.Checkpoint("folder")),
                "checkpoint/config.json: found a value of type int": lambda: al.audit(al.Checkpoint(one, 5)),
                "checkpoint/config.json: no-file.json: can't read: No such": lambda: al.audit(
                    al.Checkpoint(one, "no-file.json")),
                "checkpoint/tokenizer.json: found a value of type int": lambda: al.audit(al.Checkpoint(one, {"a": 1}, 5)),
                "tokens.txt: contains no tokens": lambda: al.calibrate(LLAMA, []),
                "tokens.npy: contains no tokens": lambda: al.calibrate(LLAMA, array.array("i")),
                "tokens: 'float' object cannot be interpreted": lambda: al.calibrate(LLAMA, [[1.5, 2]]),
                "tokens: 'str' object cannot be interpreted": lambda: al.calibrate(LLAMA, [["a"]]),
                "tokens: found numbers of the type BOOL": lambda: al.calibrate(LLAMA, memoryview(b"\0\1").cast("?")),
                "tokens: found twice": lambda: al.calibrate(LLAMA, [1, 2], tokens=[3])}.items():
            with self.subTest(message), self.assertRaises(al.Error) as raised:
                ask()
            self.assertTrue(str(raised.exception).startswith(message), raised.exception)

    def test_write(self):
        with self.assertRaises(OSError):
            al.cache("gpt2", report="/proc/no/page.html")


class Memory(unittest.TestCase):
    def same(self, answer, other):
        def of(one):
            return [[table["id"], table["rows"]] for table in one.data["tables"]
                    if table["id"] not in ("compress", "verify")]
        self.assertEqual(answer.text, other.text)
        self.assertEqual(of(answer), of(other))

    def test_arrays(self):
        self.same(al.audit(tensors(), config=config()), al.audit(LLAMA))
        self.same(al.audit(al.Checkpoint(tensors(), config())), al.audit(LLAMA))
        self.same(al.audit(al.Checkpoint(tensors(), LLAMA / "config.json")), al.audit(LLAMA))

    def test_config(self):
        self.assertEqual(al.count(config()).value, al.count(LLAMA / "config.json").value)
        self.assertEqual(al.fit(config(), device="H100").value, al.fit(LLAMA / "config.json", device="H100").value)

    def test_not_finite(self):
        given = tensors()
        name = next(name for name in given if "layers.0" in name and "q_proj" in name)
        given[name] = memoryview(array.array("f", [float("nan")] * 288)).cast("B").cast("f", [24, 12])
        answer = al.audit(al.Checkpoint(given, config()))
        self.assertIn("1 of 3 layers isn't judged: layers.0 has numbers that are NaN", answer.text)
        self.assertEqual((answer.values["left_out"], answer.values["left_out_first"]), (1, "layers.0"))

    def test_several_configs(self):
        rows = al.count(config(), {**config(), "num_hidden_layers": 1}).table.rows
        self.assertEqual({row["model"] for row in rows}, {"config.json", "config-2.json"})

    def test_draft(self):
        draft = {"draft": config(), "engine": "vllm", "seq": 128}
        self.assertGreater(al.cache(LLAMA, **draft).value, al.cache(LLAMA, engine="vllm", seq=128).value)

    def test_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "ids.txt")
            file.write_text("".join(" ".join(map(str, row)) + "\n" for row in IDS))
            expected = al.evaluate(LLAMA, tokens=file)
        self.same(al.evaluate(LLAMA, tokens=IDS), expected)
        self.same(al.evaluate(LLAMA, IDS), expected)
        flat = memoryview(array.array("i", sum(IDS, []))).cast("B").cast("i", [8, 24])
        self.same(al.evaluate(LLAMA, tokens=flat), expected)

    def test_calibrate_compress_verify(self):
        model = al.Checkpoint(tensors(), config())
        calibration = al.calibrate(model, IDS)
        self.assertEqual(list(calibration.files), ["memory/calibration.safetensors"])
        small = al.compress(model, method="gqa", rank=1, calibration=calibration)
        self.assertIn("memory/config.json", small.files)
        self.assertEqual(small.text, al.compress(model, method="gqa", rank=1, calibration=bytes(
            calibration.files["memory/calibration.safetensors"])).text)
        self.assertLess(al.count(small).value, 4956)
        self.assertTrue(al.verify(model, small).text)
        self.assertTrue(al.audit(small).text)

    def test_heads_that_are_left(self):
        """`heads` of gqa is what is left where nothing else says so; then the config says how many there are."""
        for model in (LLAMA, al.Checkpoint(tensors(), config())):
            left, ranked = (al.compress(model, method="gqa", **{name: 1}).files for name in ("heads", "rank"))
            self.assertEqual({name: bytes(left[name]) for name in left}, {name: bytes(ranked[name]) for name in ranked})
        with self.assertRaisesRegex(al.Error, "--heads 1 without --rank is what gqa leaves: .*unknown number of heads"):
            al.compress(tensors(), method="gqa", heads=1)
        with self.assertRaisesRegex(al.Error, "--heads sets n_heads to 1, but by .* it is 6; remove --heads"):
            al.compress(LLAMA, method="gqa", heads=1, target_error=.5)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                al.compress(LLAMA, method="identity", dtype="f16", force=True)
                self.assertEqual(os.listdir(), [])
                al.compress(LLAMA, method="identity", dtype="f16", force=True, output="half/")
                self.assertEqual(sorted(os.listdir("half")), ["config.json", "model.safetensors"])
                al.cache("gpt2", report="page.html")
                self.assertIn("KV cache", pathlib.Path("page.html").read_text())
            finally:
                os.chdir(before)

    @unittest.skipUnless(numpy, "needs numpy")
    def test_numbers_of_numpy(self):
        layers = {**config(), "num_hidden_layers": numpy.int64(3), "rms_norm_eps": numpy.float32(.5)}
        self.assertEqual(al.count(layers, batch=numpy.int32(2)).value, al.count(config()).value)
        for whole in True, False:
            self.assertEqual(al.count("gpt2", whole=numpy.bool_(whole), variant="mha").json,
                             al.count("gpt2", whole=whole, variant="mha").json)
        with self.assertRaisesRegex(al.Error, "expected floats or integers in this machine's byte order"):
            al.audit({"layers.0.weight": numpy.zeros((2, 2), ">f4")})

    @unittest.skipUnless(numpy, "needs numpy")
    def test_numpy(self):
        arrays = {name: numpy.asarray(tensor) for name, tensor in tensors().items()}
        expected = al.audit(LLAMA)
        self.same(al.audit(arrays, config=config()), expected)
        turned = {name: numpy.asfortranarray(a) for name, a in arrays.items()}
        self.same(al.audit(turned, config=config()), expected)
        backwards = {name: a[::-1].copy()[::-1] for name, a in arrays.items()}
        self.same(al.audit(backwards, config=config()), expected)
        for a in arrays.values():
            a.setflags(write=False)
        self.same(al.audit(arrays, config=config()), expected)
        doubles = {name: a.astype("f8") for name, a in arrays.items()}
        self.assertEqual(al.audit(doubles, config=config()).text, expected.text)
        copy = al.compress(al.Checkpoint(arrays, config()), method="identity", force=True).arrays
        self.assertEqual(copy.keys(), arrays.keys())
        for name, a in arrays.items():
            numpy.testing.assert_array_equal(copy[name], a)
        ranks = expected.tables["heads"]["ov_n90"]
        self.assertIsInstance(ranks, numpy.ndarray)
        self.assertEqual(len(ranks), len(expected.tables["heads"]))


class Life(unittest.TestCase):
    def test_memory_outlives_the_answer(self):
        copy = al.compress(al.Checkpoint(tensors(), config()), method="identity", force=True).files["memory/config.json"]
        gc.collect()
        self.assertEqual(json.loads(bytes(copy))["model_type"], config()["model_type"])

    def test_references(self):
        given = tensors()
        before = {name: sys.getrefcount(tensor) for name, tensor in given.items()}
        for _ in range(3):
            al.audit(given, config=config())
            with self.assertRaises(al.Error):
                al.audit(given, config=config(), modules="layers.99")
        gc.collect()
        self.assertEqual(before, {name: sys.getrefcount(tensor) for name, tensor in given.items()})

    def test_leaks(self):
        def ask_many(n):
            for _ in range(n):
                answer = al.cache("llama-3-8b")
                answer.table, answer.files, str(answer), answer.values
                with contextlib.suppress(al.Error):
                    al.cache("no model")
        ask_many(60)
        before = resident_bytes()
        ask_many(300)
        self.assertLess(resident_bytes() - before, 4 << 20)

    def test_threads(self):
        expected, found = al.cache("llama-3-8b").json, []
        threads = [threading.Thread(target=lambda: found.append(al.cache("llama-3-8b").json)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, 8 * [expected])


class Progress(unittest.TestCase):
    def setUp(self):
        self.steps = []
        self.addCleanup(setattr, al, "progress", al.progress)

    def test_steps(self):
        al.progress = lambda: lambda step, done, n: self.steps.append((step, done, n))
        al.audit(LLAMA)
        self.assertIn("layers.1", [step for step, _, _ in self.steps])

    def test_interrupt(self):
        def interrupt(step, done, n):
            if self.steps:
                signal.raise_signal(signal.SIGINT)
            self.steps.append(step)
        al.progress = lambda: interrupt
        # a shell's background processes ignore it
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with self.assertRaises(KeyboardInterrupt):
            al.audit(LLAMA)
        self.assertEqual(len(self.steps), 1)

    def test_bar(self):
        al.progress = al.Bar
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            al.audit(LLAMA)
        self.assertEqual(printed.getvalue(), "")  # it took less than a second

    def test_others_run_meanwhile(self):
        ticks, is_done = [], threading.Event()

        def tick():
            while not is_done.wait(0.001):
                ticks.append(time.monotonic())
        other = threading.Thread(target=tick)
        al.progress = None
        other.start()
        self.addCleanup(other.join)
        self.addCleanup(is_done.set)
        begin = time.monotonic()
        al.audit(LLAMA, null=512)
        end = time.monotonic()
        self.assertGreater(sum(begin < tick < end for tick in ticks), 4)


if __name__ == "__main__":
    unittest.main()
