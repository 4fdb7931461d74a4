"""The production kernel in every regime, compiled for six GPUs, and its instructions read."""

import re
from pathlib import Path

import pytest

from mla_merge import plan
from verify.audit.calls import Call
from verify.audit.compile import Compiled, Request, compile_all
from verify.audit.reading import Reading
from verify.audit.targets import TARGETS
from verify.audit.verdict import complaints_of
from verify.bounds import load_bounds

NVIDIA = [name for name, target in TARGETS.items() if target.backend == "cuda"]
PROCESSES = 2


def call(
    tokens: int, heads: int, segments: int, *, dtype: str = "bfloat16", rank: int = 512, aligned=True
) -> Call:
    shape = {"tokens": tokens, "heads": heads, "segments": segments, "active": segments, "rank": rank}
    return Call(**shape, dtype=dtype, aligned=aligned)


CALLS = (
    *(call(1, 16, 64), call(1, 128, 64), call(8, 16, 32), call(1, 96, 128), call(32, 16, 16)),
    *(call(8, 64, 128), call(8, 128, 64), call(24, 96, 128), call(32, 128, 16), call(256, 128, 8)),
    call(8, 16, 8, rank=64),
    *(call(64, 128, 32), call(256, 128, 32)),  # few segments in regimes that are given many too
    *(call(8, 128, 64, dtype="float32"), call(8, 128, 64, dtype="float8_e4m3fn", aligned=False)),
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> dict[str, Compiled]:
    folder = tmp_path_factory.mktemp("assembly")
    request = Request(kernel="mla_merge", convention="segments", calls=CALLS, folder=folder, timeout_s=900)
    found = compile_all(request, list(TARGETS.values()), PROCESSES, lambda done, total, said: None)
    return {one.target.name: one for one in found}


@pytest.fixture
def assembly(compiled, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()

    def read(target: str, reading: Reading) -> str:
        (file,) = Path(folder).rglob(f"{target}/{reading.name}.{TARGETS[target].assembly}")
        return file.read_text()

    return read


def regime_of(reading: Reading) -> tuple[str, ...]:
    names = ("BLOCK_R", "STEP", "WHOLE", "EAGER", "PREFETCH", "EVICT")
    return tuple(reading.constants[name] for name in names)


@pytest.mark.parametrize("target", TARGETS)
def test_every_regime_is_compiled(target, compiled):
    assert compiled[target].failed == {}
    regimes = {
        name: tuple(map(repr, (r.block_r, r.step, r.whole, r.eager, r.prefetch, r.evict)))
        for name, r in vars(plan).items()
        if isinstance(r, plan.Regime)
    }
    assert len(regimes) >= 11
    assert {regime_of(reading) for reading in compiled[target].readings} == set(regimes.values())


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_keep_the_default_bounds(target, compiled):
    one = compiled[target]
    assert list(map(str, complaints_of(one.target, one.readings, load_bounds()))) == []
    division = "div.rn.f64" if target in NVIDIA else "v_div_fixup_f64"
    for reading in one.readings:
        assert division in {item.opcode for item in reading.items}
        assert reading.options["enable_fp_fusion"] is False


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_spilled(target, compiled):
    for reading in compiled[target].readings:
        assert reading.resources.spilled_bytes == 0
        assert reading.resources.registers


@pytest.mark.parametrize("target", NVIDIA)
def test_loads_are_wide(target, compiled, assembly):
    """16 bytes a thread wherever a thread has four columns that are next to one another."""
    wide = [
        reading
        for reading in compiled[target].readings
        if int(reading.constants["BLOCK_R"]) >= 128 and reading.constants["UNIT"] == "4"
    ]
    assert len(wide) >= 5
    for reading in wide:
        assert re.search(r"ld\.global\.[\w:.]*v4\.b32", assembly(target, reading))


@pytest.mark.parametrize("target", NVIDIA)
def test_nothing_waits_for_a_barrier(target, compiled, assembly):
    """Warps pass nothing through shared memory."""
    for reading in compiled[target].readings:
        assert re.findall(r"\bbar\.|\.shared", assembly(target, reading)) == []


def test_constants_are_not_narrowed(compiled, assembly):
    """ln 2 in full: as a float32 it would end in 60000000 or 0000000."""
    for reading in compiled["sm_90"].readings:
        assert "0d3FE62E42FEFA39EF" in assembly("sm_90", reading)
