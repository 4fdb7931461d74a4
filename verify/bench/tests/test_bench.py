"""The command that measures speeds: what it accepts, what it refuses, what it says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

import verify.bench.__main__ as bench
from fuzz.formats import FORMATS
from fuzz.production import Shape, parse_shapes
from verify.bench import kernels
from verify.bench.data import production_case
from verify.bench.kernels import Accuracy, KernelSpeed
from verify.bench.table import HEADER, to_data, to_table
from verify.bench.timing import Timing
from verify.bounds import load_bounds
from verify.museum.honest import reference_merge
from verify.subjects.load import load_subject

SHAPE = Shape(tokens=2, heads=3, segments=4, active=3)
TIMING = Timing(median=2.0, p20=1.5, p80=4.0)


def speed(**changes) -> KernelSpeed:
    sound = Accuracy(output_ulp=0.5, lse_ulp=0.25, failed=0)
    found = KernelSpeed(
        shape=SHAPE,
        accuracy=sound,
        baseline_accuracy=Accuracy(output_ulp=7.0, lse_ulp=1.5, failed=9),
        warm=TIMING,
        cold=replace(TIMING, median=4.0),
        baseline_warm=replace(TIMING, median=1.0),
        baseline_cold=replace(TIMING, median=6.0),
    )
    return replace(found, **changes)


def test_shapes_are_parsed():
    assert parse_shapes("2,3,4,3") == (SHAPE,)
    assert [str(shape) for shape in parse_shapes("1,1,1,0;1000,96,8,5")] == ["1,1,1,0", "1000,96,8,5"]


@pytest.mark.parametrize("text", ["", "1,2,3", "1,2,3,x", "0,1,1,1", "1,1,2,3", "1,1,1,-1"])
def test_wrong_shapes_are_a_usage_error(text, capsys):
    assert bench.main(["--shapes", text]) == 2
    assert "is not a shape" in capsys.readouterr().err


def test_without_a_gpu_nothing_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert bench.main([]) == 5
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("nothing measured: ")
    assert captured.err.count("\n") == 1


def test_bytes_are_those_that_must_move():
    assert SHAPE.bytes == 6 * (3 * (512 * 4 + 8) + 512 * 2 + 4)


def test_table():
    bandwidth = SHAPE.bytes / 2e-6  # read whole in 2 µs
    header, _, row = to_table([speed()], bandwidth).splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == len(HEADER) == len(header.strip("|").split("|"))
    assert cells[:4] == ["2, 3, 4, 3", "0", "2.00 (1.50–4.00)", "4.00 (1.50–4.00)"]
    assert cells[5:] == ["50%", "1.00", "6.00", "0.50", "1.50", "0.5000", "7.0000", "0.2500", "1.5000"]
    data = json.loads(json.dumps(to_data(speed(), bandwidth), allow_nan=False))
    assert data["warm_share_of_read_bandwidth"] == 1
    assert data["cold_share_of_read_bandwidth"] == 0.5


def test_no_speed_is_told_of_an_inaccurate_kernel():
    wrong = speed(warm=None, cold=None, accuracy=Accuracy(output_ulp=3.0, lse_ulp=0.5, failed=17))
    row = to_table([wrong], 1e12).splitlines()[-1]
    assert "no speed: 17 values outside the bounds" in row
    assert "2.00" not in row
    assert "warm_bytes_per_s" not in to_data(wrong, 1e12)


@pytest.mark.parametrize("wrong", [False, True])
def test_accuracy_decides_whether_a_kernel_is_timed(wrong, monkeypatch):
    timed = []

    def note(call, inputs):
        timed.append(call)
        return TIMING

    monkeypatch.setattr(kernels, "time_calls", note)
    monkeypatch.setattr(kernels, "_COPIES", 2)
    monkeypatch.setattr(
        kernels, "production_case", lambda *shape, **how: production_case(*shape, **{**how, "device": "cpu"})
    )
    subject, baseline = load_subject("mla_merge"), load_subject("baseline_fp32")

    def spoilt(*arguments):
        output, lse = subject.merge(*arguments)
        return output, lse + 1e-3 * wrong

    found = kernels.measure_shape(replace(subject, merge=spoilt), baseline, SHAPE, load_bounds())
    assert (found.warm is None) == (found.cold is None) == (found.accuracy.failed > 0) == wrong
    assert (spoilt in timed) != wrong
    assert baseline.merge in timed
    assert found.accuracy.output_ulp <= 0.501
    assert found.baseline_accuracy.output_ulp < 10


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_baseline_merges_ordinary_rows(dtype):
    case = production_case(3, 2, 5, 24, dtype=dtype, device="cpu", active=4)
    inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens, case.tile_size)
    asked = FORMATS[dtype].torch_dtype
    (got, got_lse), (output, lse) = (
        load_subject(name).merge(*inputs, asked) for name in ("baseline_fp32", "mla_merge")
    )
    torch.testing.assert_close(got, output)
    torch.testing.assert_close(got_lse, lse)


def test_the_oracle_is_measured_anywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "ORACLE_ROWS", {"cpu": 128, "cuda": 128})
    assert bench.main(["--oracle", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS oracle typical ")
    data = json.loads((tmp_path / "bench-oracle.json").read_text())
    assert [row["data"] for row in data["data"]] == [
        "typical",
        "structured",
        "cancelling",
        "ties",
        "escalating",
    ]
    assert (tmp_path / "bench-oracle.md").read_text().startswith("# Speed of the oracle")


@pytest.mark.parametrize(("kernel", "code"), [("reference_merge", 0), ("slightly_off", 1)])
def test_accuracy_is_judged_for_every_dtype(kernel, code, tmp_path, capsys):
    argv = [
        "--accuracy",
        "1000",
        "--kernel",
        f"verify.bench.tests.test_bench:{kernel}",
        "--out",
        str(tmp_path),
    ]
    assert bench.main(argv) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS" if code == 0 else "FAIL")
    rows = json.loads((tmp_path / "bench-accuracy.json").read_text())["strata"]
    assert {row["dtype"] for row in rows} == set(FORMATS)
    assert all(row["outputs"] >= 1000 for row in rows if row["result"] == "output")


def slightly_off(*args):
    output, lse = reference_merge(*args)
    return output, lse * (1 + 2**-22)
