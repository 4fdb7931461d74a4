"""The conventions of public merges, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from verify.oracle.target import Base
from verify.subjects.convention import SEGMENTS, Convention, Lengths

_INF, _NAN = math.inf, math.nan

_PAIR: Final = {"o_a": "o_a", "l_a": "l_a", "o_b": "o_b", "l_b": "l_b"}
_UNIFIED: Final = {**SEGMENTS.parameters, "query_start_loc": "starts"}


def _dcp(suffix: str, base: Base) -> Convention:
    return Convention(
        name=f"dcp_correction_{suffix}",
        of=f"the correction across ranks of decode context parallelism, lse of base {base.value}",
        parameters={"outputs": "o", "lses": "l"},
        partials="sthr",
        statistics="sth",
        base=base,
        lse_base=base,
        narrow=True,
        empty=(-_INF, _INF, _NAN),
    )


_ALL: Final = (
    SEGMENTS,
    Convention(
        name="aiter_mla_reduce",
        of="AITER's reduction of segmented MLA decode, and its unified reduction",
        parameters=_UNIFIED,
        partials="thsr",
        statistics="ths",
        lse_base=None,
        lengths=Lengths.SEQUENCE,
        massless_output=(_NAN,),
    ),
    Convention(
        name="vllm_unified_reduce",
        of="vLLM's reduction of unified attention",
        parameters=_UNIFIED,
        partials="thsr",
        statistics="ths",
        base=Base.E,
        lse_base=None,
        lengths=Lengths.SEQUENCE,
        massless_output=(_NAN,),
    ),
    Convention(
        name="vllm_merge_attn_states",
        of="vLLM's merge of a prefix and a suffix",
        parameters={
            "output": "output",
            "prefix_output": "o_a",
            "prefix_lse": "l_a",
            "suffix_output": "o_b",
            "suffix_lse": "l_b",
            "output_lse": "lse",
        },
        partials="thr",
        statistics="ht",
        lse="ht",
        base=Base.E,
        narrow=True,
        empty=(-_INF, _INF),
        massless_output=(_NAN, 0.0),
        massless_lse=(_NAN, -_INF),
    ),
    Convention(
        name="sglang_merge_state",
        of="SGLang's merge of two states",
        parameters={"v_a": "o_a", "s_a": "l_a", "v_b": "o_b", "s_b": "l_b"},
        partials="thr",
        statistics="th",
        base=Base.E,
        narrow=True,
        empty=(-_INF, _INF),
        massless_output=(_NAN,),
        massless_lse=(_NAN,),
    ),
    Convention(
        name="flashinfer_merge_state",
        of="FlashInfer's merge of two states",
        parameters={"v_a": "o_a", "s_a": "l_a", "v_b": "o_b", "s_b": "l_b"},
        partials="thr",
        statistics="th",
        lse_base=Base.TWO,
        narrow=True,
    ),
    Convention(
        name="flashinfer_merge_states",
        of="FlashInfer's merge of any number of states",
        parameters={"v": "o", "s": "l"},
        partials="tshr",
        statistics="tsh",
        lse_base=Base.TWO,
        narrow=True,
    ),
    Convention(
        name="flash_attention_combine",
        of="FlashAttention's combination of splits",
        parameters={"out_partial": "o", "lse_partial": "l", "out_dtype=": "dtype"},
        partials="s1thr",
        statistics="s1th",
        stored="s1ht",
        output="1thr",
        lse="1th",
        base=Base.E,
        massless_lse=(-_INF, _INF),
    ),
    Convention(
        name="flash_mla_combine",
        of="FlashMLA's combination of splits",
        parameters={"o_accum": "o", "lse_accum": "l", "out_dtype": "dtype"},
        partials="sthr",
        statistics="sth",
        massless_lse=(_INF,),
    ),
    _dcp("e", Base.E),
    _dcp("2", Base.TWO),
)

CONVENTIONS: Final[Mapping[str, Convention]] = MappingProxyType({entry.name: entry for entry in _ALL})
"""Every convention by the name that `--convention` takes; the contract's own is the first."""
