#!/usr/bin/env python3
"""Tests of jfa-bench that need no GPU. Prints counts as scripts/count-tests.py reads
them."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BENCH = os.path.join(ROOT, "tools/jfa-bench/jfa-bench")
KERNELS = os.path.join(ROOT, "lib/Kernels/attention/sm90")
# Tables of specialisations and of candidates that come with the sources.
TABLES = [(os.path.join(ROOT, "lib/Kernels/attention", folder, f"{prefix}{name}.txt")
           for name in ("specializations", "candidates"))
          for folder in ("sm90", "sm100") for prefix in ("", "bwd.")]
sys.path.insert(0, os.path.join(ROOT, "tools/jfa-bench"))

from jfabench import levers, plot, shapes, sides, timing, tune, variants
from jfabench.specializations import (TableError, expand, read_rows,
                                      write_rows)

TABLE = """# Head.

HEAD_DIM CAUSAL JAGGED ELEMENT  BLOCK_M BLOCK_N STAGES PINGPONG

# dense
64       false  false  bf16,f16 192     128     2      true
128      true   false  bf16,f16 128     128     2      true
"""
CANDIDATES = "HEAD_DIM BLOCK_M BLOCK_N\n64 - 96,128\n64,128 64 512,112\n"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def table_rows():
    return read_rows(TABLE, "table")[1]


def run_bench(*arguments):
    return subprocess.run([sys.executable, BENCH, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def load_bench():
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("jfa_bench", BENCH)
    bench = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("jfa_bench", loader))
    with unittest.mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(bench)
    return bench


class Tables(unittest.TestCase):
    def test_rows(self):
        row = table_rows()[0]
        self.assertEqual(row.line, 5)
        self.assertEqual(row.tunables["BLOCK_M"], "192")
        self.assertEqual(row.first_problem()["ELEMENT"], "bf16")
        self.assertTrue(row.serves({"HEAD_DIM": "64", "ELEMENT": "f16"}))
        self.assertFalse(row.serves({"HEAD_DIM": "128"}))

    def test_expand(self):
        self.assertEqual(expand({"A": "1,2", "B": "x"}),
                         [{"A": "1", "B": "x"}, {"A": "2", "B": "x"}])

    def test_write_keeps_everything_else(self):
        row = table_rows()[0]
        self.assertEqual(write_rows(TABLE, {row.line: row.values}), TABLE)
        after = write_rows(TABLE, {row.line: {**row.values, "BLOCK_N": "96"}})
        self.assertEqual(after, TABLE.replace("192     128", "192     96 "))

    def test_shipped_tables_can_be_read(self):
        for table, candidates in TABLES:
            text = read(table)
            _, rows = read_rows(text, table)
            self.assertEqual(
                write_rows(text, {row.line: row.values for row in rows}), text)
            sets = variants.tuning_sets(rows, read(candidates), candidates)
            self.assertTrue(all(len(each.variants) > 1 for each in sets))

    def test_errors(self):
        for text, message in (
                ("# nothing\n", "t: expected a line that names parameters, but "
                                "got none"),
                ("A B\n1\n", "t:2: expected 2 values, but got 1"),
                ("A A\n", "t:1: expected each parameter once, but got A A")):
            with self.assertRaises(TableError) as caught:
                read_rows(text, "t")
            self.assertEqual(str(caught.exception), message)


class Variants(unittest.TestCase):
    def names(self, candidates):
        sets = variants.tuning_sets(table_rows(), candidates, "c")
        return [[v.name for v in each.variants] for each in sets]

    def test_candidates_expand(self):
        self.assertEqual(
            self.names(CANDIDATES),
            [["as shipped", "BLOCK_N=96", "BLOCK_M=64 BLOCK_N=512",
              "BLOCK_M=64 BLOCK_N=112"],
             ["as shipped", "BLOCK_M=64 BLOCK_N=512",
              "BLOCK_M=64 BLOCK_N=112"]])

    def test_unknown_parameter(self):
        with self.assertRaisesRegex(
                TableError, "c: expected parameters that the specialisations "
                            "have, but got 'WIDTH'"):
            self.names("WIDTH\n1\n")

    def options(self, **changes):
        return types.SimpleNamespace(**{
            "jfa_opt": os.path.join(HERE, "Inputs/fake-jfa-opt.py"),
            "ptxas": None, "kernel_source": "fwd.mlir", "arch": "sm_90a",
            "jobs": 2, **changes})

    def test_compile_and_load(self):
        sets = variants.tuning_sets(table_rows(), CANDIDATES, "c")
        with tempfile.TemporaryDirectory() as folder:
            variants.compile_sets(self.options(), sets, folder, "tune")
            loaded = variants.load_sets(folder, "tune")
            self.assertEqual(loaded, sets)
            shipped, _, refused, _ = loaded[0].variants
            self.assertEqual(refused.refusal,
                             "expected 'BLOCK_N' to be legal, but got 512")
            self.assertEqual(shipped.facts["registers"], 168)
            words = read(os.path.join(folder, shipped.bundle))
            self.assertIn("--specialize=HEAD_DIM=64,CAUSAL=false,JAGGED=false,"
                          "ELEMENT=bf16,BLOCK_M=192", words)
            with self.assertRaisesRegex(TableError, "of schema 1 and kind "
                                                    "'levers', but got 1 and"):
                variants.load_sets(folder, "levers")
            tune.check_shipped(loaded, table_rows())
            other = read_rows(TABLE.replace("192 ", "128 "), "t")[1]
            with self.assertRaisesRegex(TableError, "line 6 .* compile them"):
                tune.check_shipped(loaded, other)

    def test_no_compiler(self):
        sets = variants.tuning_sets(table_rows(), CANDIDATES, "c")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(TableError, "expected '--jfa-opt' to "
                                                    "name jfa-opt, but got"):
                variants.compile_sets(self.options(jfa_opt="/nothing"), sets,
                                      folder, "tune")

    def test_shapes_that_a_set_serves(self):
        sets = variants.tuning_sets(table_rows(), CANDIDATES, "c")
        dense = shapes.Shape("d", "dense", [9], [9], 1, 64, False)
        jagged = shapes.Shape("j", "jagged", [9], [9], 1, 64, False)
        self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]), [dense])
        self.assertEqual(variants.shapes_of(sets[1], [dense, jagged]), [])
        for name in ("MAX_QUERIES", "MAX_KEYS"):
            sets[0].problem[name] = "8"
            self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]), [])
            sets[0].problem[name] = "9"
            self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]),
                             [dense])
        sets[0].problem["MIN_QUERIES"] = "10"
        self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]), [])
        sets[0].problem["MIN_QUERIES"] = "9"
        self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]), [dense])
        # Empty sequences do not count as short.
        dense.q_len.append(0)
        self.assertEqual(variants.shapes_of(sets[0], [dense, jagged]), [dense])


    def test_a_shape_is_for_the_first_set_that_suits(self):
        sets = variants.tuning_sets(table_rows(), CANDIDATES, "c")[:1]
        sets.insert(0, variants.Set(0, {**sets[0].problem, "MAX_KEYS": "8"}, []))
        short, long = (shapes.Shape(str(n), "dense", [n], [n], 1, 64, False)
                       for n in (8, 9))
        self.assertEqual(variants.share_out(sets, [long, short]),
                         {0: [short], sets[1].line: [long]})


class Choices(unittest.TestCase):
    def variants(self, *names):
        return [variants.Variant(n, {}, bundle="b") for n in names]

    def choose(self, timings):
        names = list(next(iter(timings.values())))
        scores, best = tune.choose(self.variants(*names), timings)
        return [s.name for s in scores], best and best.name

    def test_a_gain_above_the_spread(self):
        order, best = self.choose(
            {"s": {"as shipped": [1.0, 1.01, 0.99], "x": [0.9, 0.91, 0.89],
                   "y": [0.95, 0.96, 0.94]}})
        self.assertEqual((order, best), (["x", "y"], "x"))

    def test_noise_changes_nothing(self):
        _, best = self.choose({"s": {"as shipped": [1.0, 1.1, 0.9, 1.0],
                                     "x": [0.95, 0.98, 0.97, 0.98]}})
        self.assertIsNone(best)

    def test_a_steady_but_tiny_gain_changes_nothing(self):
        _, best = self.choose({"s": {"as shipped": [1.0] * 5, "x": [0.997] * 5}})
        self.assertIsNone(best)

    def test_all_shapes_count(self):
        _, best = self.choose({"s": {"as shipped": [1.0] * 3, "x": [0.9] * 3},
                               "t": {"as shipped": [1.0] * 3, "x": [1.2] * 3}})
        self.assertIsNone(best)

    def test_slow_clocks_hit_all_alike(self):
        _, best = self.choose({"s": {"as shipped": [1.0, 2.0, 3.0],
                                     "x": [0.9, 1.8, 2.7]}})
        self.assertEqual(best, "x")

    def test_report_and_diff(self):
        sets = variants.tuning_sets(table_rows(), CANDIDATES, "c")
        first, second = sets
        times = {"s": {"as shipped": [1.0] * 3, "BLOCK_N=96": [0.8] * 3,
                       "BLOCK_M=64 BLOCK_N=112": [1.3] * 3}}
        data = {"timings": {"5": times},
                "refused": {"5": {"BLOCK_M=64 BLOCK_N=512": "wrong"}}}
        timings = variants.apply_timings(sets, data)
        lines = []
        best = tune.report(first, timings[first.line], lines.append)
        self.assertEqual(best.name, "BLOCK_N=96")
        self.assertIn(" *  1.250 +- 0.000  BLOCK_N=96  (1.250)", lines)
        self.assertIn("  refused  BLOCK_M=64 BLOCK_N=512: wrong", lines)
        self.assertIsNone(tune.report(second, timings[second.line],
                                      lines.append))
        self.assertIn("  unchanged: no shape measures it", lines)
        after = tune.changed_text(TABLE, table_rows(), {first.line: best})
        diff = tune.diff(TABLE, after, "table")
        self.assertIn("-64       false  false  bf16,f16 192     128     2", diff)
        self.assertIn("+64       false  false  bf16,f16 192     96      2", diff)
        self.assertNotIn("-128", diff)

    def test_timings_of_something_else(self):
        with self.assertRaisesRegex(TableError, "expected timings as"):
            variants.apply_timings([], [1])


class Timing(unittest.TestCase):
    def test_turns_rotate(self):
        order = []
        calls = {n: n for n in "abc"}
        times = timing.measure(calls, 3, lambda c: order.append(c) or len(order))
        self.assertEqual("".join(order), "abcbcacab")
        self.assertEqual(times["b"], [2, 4, 9])

    def test_spread(self):
        self.assertEqual(timing.spread([1.0]), 0.0)
        self.assertAlmostEqual(timing.spread([1, 2, 3, 4, 100]), 2)


class Shapes(unittest.TestCase):
    def test_skewed_shapes_have_twins(self):
        for shape in shapes.skewed_shapes():
            twin = shape.twin
            self.assertEqual(len(twin.q_len), len(shape.q_len))
            self.assertEqual(len(set(twin.q_len)), 1)
            self.assertLess(abs(twin.flops / shape.flops - 1), 0.01)

    def test_problem(self):
        shape = shapes.Shape("x", "broadcast", [1], [2], 4, 64, True)
        self.assertEqual(shape.problem, {
            "HEAD_DIM": "64", "CAUSAL": "true", "JAGGED": "true",
            "BROADCAST_QUERY": "true"})


class Levers(unittest.TestCase):
    def test_each_lever_alone(self):
        first = levers.lever_sets(table_rows())[0]
        shipped = first.variants[0]
        self.assertEqual(shipped.work_order, "balanced")
        for variant in first.variants[1:]:
            changed = variant.tunables != shipped.tunables
            ordered = variant.work_order != "balanced"
            self.assertTrue(changed != ordered, variant.name)
        self.assertEqual({v.work_order for v in first.variants},
                         set(levers.WORK_ORDERS))

    def test_orders_are_those_of_the_c_interface(self):
        header = read(os.path.join(ROOT, "include/jfa-c/Runtime.h"))
        for name, value in levers.WORK_ORDERS.items():
            self.assertIn(f"JFA_WORK_ORDER_{name.upper()} = {value}", header)

    def test_table(self):
        text = levers.table({"s": {"as shipped": [1.0, 1.0],
                                   "ring: STAGES=1": [1.5, 1.5]}},
                            {"tile: BLOCK_M=64": "no"})
        self.assertIn("| s | ring: STAGES=1 | 1.500 | 1.000 | 1.500 | 0.000 |",
                      text)
        self.assertIn("| s | tile: BLOCK_M=64 | - | 1.000 | - | no |", text)


class Plots(unittest.TestCase):
    def test_picture(self):
        source = os.path.join(HERE, "Inputs/run.json")
        tree = ElementTree.fromstring(
            plot.draw(plot.read_run(read(source), source)))
        words = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("dense <A> full", words)
        self.assertIn("636  (1.10 x our time)", words)
        # The last run of a shape counts; peers that failed are left out.
        self.assertIn("350", words)
        self.assertNotIn("10", words)
        self.assertNotIn("flex", words)
        self.assertNotIn("nothing", words)
        bars = [e for e in tree.iter("{http://www.w3.org/2000/svg}rect")
                if e.get("height") == str(plot.BAR - 1)]
        self.assertEqual([float(b.get("width")) for b in bars],
                         [420.0, 381.8, 210.0])

    def test_errors(self):
        for text, message in (("{}", "r:1: expected a line of JSON"),
                              ("no", "r:1: expected a line of JSON"),
                              ("", "r: expected measurements, but got none")):
            with self.assertRaisesRegex(plot.PlotError, message):
                plot.read_run(text, "r")


class CommandLine(unittest.TestCase):
    def test_errors(self):
        for arguments, message in (
                (["--plot", "x.svg"], "error: expected '--from' to name"),
                (["--plot", "x.svg", "--from", "/nothing"],
                 "error: expected '/nothing' to be readable, but got: No such"),
                (["--from", "x"], "error: expected '--from' with '--plot'"),
                (["--tune-compile", "x", "--only", "WIDTH=1"],
                 "error: expected '--only' to name parameters of"),
                (["--tune", "/nothing", "--from", "x"],
                 "error: expected '/nothing/variants.json' to be readable")):
            result = run_bench(*arguments)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn(message, result.stderr)

    def test_decides_and_writes_from_timings(self):
        with tempfile.TemporaryDirectory() as folder:
            def path(name, text=None):
                full = os.path.join(folder, name)
                if text is not None:
                    with open(full, "w", encoding="utf-8") as file:
                        file.write(text)
                return full

            table = path("table", TABLE)
            arguments = ["--specializations", table, "--candidates",
                         path("candidates", CANDIDATES), "--jfa-opt",
                         os.path.join(HERE, "Inputs/fake-jfa-opt.py")]
            compiled = run_bench("--tune-compile", path("set"), *arguments)
            self.assertIn("2 specialisations, 7 variants, 2 refused",
                          compiled.stdout)
            times = {"5": {"s": {"as shipped": [1.0] * 3,
                                 "BLOCK_N=96": [0.8] * 3}}}
            timings = path("t.json", json.dumps({"timings": times,
                                                 "refused": {}}))
            result = run_bench("--tune", path("set"), "--from", timings,
                               *arguments)
            self.assertIn("+64       false  false  bf16,f16 192     96 ",
                          result.stdout)
            self.assertEqual(read(table), TABLE)
            run_bench("--tune", path("set"), "--from", timings, "--write",
                      *arguments)
            self.assertIn("192     96 ", read(table))
            again = run_bench("--tune", path("set"), "--from", timings,
                              *arguments)
            self.assertIn("compile them again", again.stderr)


class FakeInputs:
    """Stands for tensors; an output is how far it is off."""

    bytes = None

    def __init__(self, shape):
        self.shape = shape

    def error(self, rows):
        return rows


class FakeGPU:
    """Modules as they are on a machine with a GPU, as far as measuring goes. What a
    kernel's bundle is named decides how it behaves."""

    def __init__(self):
        self.loaded = ""
        unsuitable = type("Unsuitable", (Exception,), {})

        def ours(inputs, work_order=0):
            if "broken" in self.loaded:
                raise RuntimeError("no such kernel\nand more")
            call = lambda name=self.loaded: 9.0 if "wrong" in name else 1e-3
            call.name = f"{inputs.shape.name} {self.loaded} {work_order}".strip()
            return call, lambda out: out

        def other(inputs):
            raise unsuitable

        cuda = types.SimpleNamespace(synchronize=lambda: None)
        self.modules = {
            "torch": types.SimpleNamespace(cuda=cuda),
            "jfa": types.SimpleNamespace(load_kernels=self.load),
            "jfabench.inputs": types.SimpleNamespace(Inputs=FakeInputs),
            "jfabench.peers": types.SimpleNamespace(
                ours=ours, Unsuitable=unsuitable,
                PEERS={"jfa": ours, "flex": other}),
            "jfabench.gradients": types.SimpleNamespace(
                ours=ours, PEERS={"jfa": ours, "cudnn": ours, "flex": other},
                GradientInputs=FakeInputs),
        }

    def load(self, path):
        self.loaded = os.path.basename(path)


class Measuring(unittest.TestCase):
    def setUp(self):
        self.gpu = FakeGPU()
        patch = unittest.mock.patch.dict(sys.modules, self.gpu.modules)
        patch.start()
        self.addCleanup(patch.stop)

    def test_variants(self):
        from jfabench import measure
        names = ("good.jfab", "broken.jfab", "wrong.jfab")
        kinds = [variants.Variant(n, {}, bundle=n) for n in names]
        kinds.append(variants.Variant("strided", {}, bundle="good.jfab",
                                      work_order="strided"))
        kinds.append(variants.Variant("spilt", {}, refusal="spills"))
        problem = {"HEAD_DIM": "64", "CAUSAL": "false", "JAGGED": "false",
                   "BROADCAST_QUERY": "false", "ELEMENT": "bf16"}
        shape = shapes.Shape("s", "dense", [9], [9], 1, 64, False)
        called = []
        timer = lambda call: called.append(call.name) or 1.0
        with unittest.mock.patch.object(measure, "gpu_timer", lambda *_: timer):
            data = measure.measure_sets([variants.Set(7, problem, kinds)],
                                        [shape], "folder", 2, 40)
        self.assertEqual(called, ["s good.jfab 0", "s good.jfab 2",
                                  "s good.jfab 2", "s good.jfab 0"])
        self.assertEqual(data["timings"]["7"]["s"],
                         {"good.jfab": [1.0] * 2, "strided": [1.0] * 2})
        self.assertEqual(data["refused"]["7"], {
            "broken.jfab": "no such kernel",
            "wrong.jfab": "expected an error of at most 3.0e-03, but got "
                          "9.0e+00"})

    def test_numbers_that_make_no_sense(self):
        bench = load_bench()
        for option, value, least in (("--rounds", "0", 1), ("--rep", "-1", 1),
                                     ("--pause", "-1", 0), ("--jobs", "two", 1)):
            err = io.StringIO()
            with unittest.mock.patch.object(sys, "argv", ["", option + "=" + value]):
                with contextlib.redirect_stderr(err), self.assertRaises(SystemExit):
                    bench.parse()
            self.assertIn(f"expected a whole number of at least {least}, but got "
                          f"'{value}'", err.getvalue())

    def test_dense_shapes_can_be_given(self):
        bench = load_bench()
        with unittest.mock.patch.object(sys, "argv", ["", "--dense=4x16x4224x128,1x2x3x64",
                                                      "--shapes=full"]):
            names = [s.name for s in bench.measured_shapes(bench.parse())]
        self.assertEqual(names, ["dense B4 H16 S4224 D128 full", "dense B1 H2 S3 D64 full"])
        for value in ("", "4x16x4224", "4x16x0x128", "4x16xlongx128", "4x16x4224x128x2",
                      "4x16x4224x128,"):
            err = io.StringIO()
            with unittest.mock.patch.object(sys, "argv", ["", f"--dense={value}"]):
                with contextlib.redirect_stderr(err), self.assertRaises(SystemExit):
                    bench.parse()
            self.assertIn("expected four whole numbers of at least 1", err.getvalue())

    def test_the_backward_takes_more_flops(self):
        bench = load_bench()
        shape = shapes.Shape("s", "dense", [1000], [1000], 1, 64, False)
        flops = {}
        for side in (sides.FORWARD, sides.BACKWARD):
            options = types.SimpleNamespace(peers="", rounds=1, side=side,
                                            parts=False)
            rows = bench.run_shape(shape, options, lambda call: 1.0)
            flops[side.direction] = rows["jfa"]["tflops"]
        self.assertEqual(set(rows), {"jfa", "cudnn"})
        self.assertAlmostEqual(flops["forward"], 4 * 64 * 1e6 * 1e-9)
        self.assertAlmostEqual(flops["backward"], 2.5 * flops["forward"])

    def test_a_skewed_shape_beside_its_twin(self):
        bench = load_bench()
        shape = shapes.skewed_shapes()[1]
        options = types.SimpleNamespace(peers="", rounds=3, parts=False,
                                        side=sides.FORWARD)
        timer = lambda call: 2.0 if call.name.startswith("equal") else 2.5
        rows = bench.run_shape(shape, options, timer)
        self.assertEqual(set(rows), {"jfa", "equal twin"})
        self.assertAlmostEqual(1 / rows["equal twin"]["ratio"], 1.25, places=2)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            bench.print_rows(shape, rows)
        self.assertIn("1.25 x the time of the same FLOPs in equal lengths: equal "
                      "twin B1001 S2072 of skewed", out.getvalue())

    def test_block_attention_beside_a_copy(self):
        bench = load_bench()
        shape = shapes.block_shape("of three", [1, 64, 130], 2, 64)
        self.assertEqual(shape.q_len, [1, 64, 64, 64, 2])
        self.assertEqual(shape.count_bytes(4), 4 * 2 * 195 * 2 * 64)
        turned = shapes.block_shape("two", [70, 125], 2, 64, rotary=True)
        self.assertEqual(turned.count_bytes(7), (7 * 2 + 1) * 2 * 195 * 64)
        self.assertIsNone(shapes.skewed_shapes()[0].count_bytes(4))
        rows = {"jfa": {"ms": 1e-3, "tflops": 1.0, "low": 1e-3, "high": 1e-3,
                        "gbps": 199.68}}
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            bench.print_rows(shape, rows)
        self.assertIn("200 GB/s", out.getvalue())


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        result = unittest.TextTestRunner(stream=log, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors)
    if failed:
        print(log.getvalue())
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
