"""A right merge of every convention in torch, in float64 and by hand: nothing here knows the adapter."""

import math

import torch

from verify.museum.honest import Merge, _log


class Natural(Merge):
    """The same mathematics for natural statistics."""

    def weight(self, gap):
        return torch.exp(gap)

    def logarithm(self, top, den):
        fraction, power = torch.frexp(den)
        low = fraction < math.sqrt(0.5)
        fraction, power = torch.where(low, 2 * fraction, fraction), power.double() - low.double()
        return top + (power * math.log(2) + _log(fraction))


class Octaves(Merge):
    """The same mathematics with an lse in octaves."""

    def logarithm(self, top, den):
        return super().logarithm(top, den) / math.log(2)


class NaturalOctaves(Natural):
    """Natural statistics, an lse in octaves: no convention has it."""

    def logarithm(self, top, den):
        return super().logarithm(top, den) / math.log(2)


def of_states(merge, v, lse, dtype, *, infinite=False, nan=False):
    """Merge v [T, H, S, R] with the lse [T, H, S] of each."""
    lse = torch.where(lse == torch.inf, -torch.inf, lse) if infinite else lse
    lse = torch.where(lse.isnan(), -torch.inf, lse) if nan else lse
    lengths = torch.full((v.shape[0],), v.shape[2], dtype=torch.int32)
    return merge(v.float(), lse, torch.ones_like(lse), lengths, 1, dtype)


def massless_as(results, y, log):
    """Write rows without mass as another convention has them."""
    output, lse = results
    none = lse == -torch.inf
    return (
        torch.where(none[..., None], y, output.double()).to(output.dtype),
        torch.where(none, log, lse),
    )


def unified(merge):
    def kernel(o, m, s, lengths, tile, dtype, starts):
        assert lengths.shape[0] + 1 == starts.shape[0]
        assert starts[0] == 0
        assert starts[-1] == o.shape[0]
        of_token = torch.repeat_interleave(lengths, starts[1:] - starts[:-1])
        return massless_as(merge(o, m, s, of_token, tile, dtype), math.nan, 0.0)[0]

    return kernel


def merge_attn_states(merge):
    def kernel(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse):
        v = torch.stack((prefix_output, suffix_output), 2)
        lse = torch.stack((prefix_lse.T, suffix_lse.T), 2)
        y, log = massless_as(of_states(merge, v, lse, output.dtype, infinite=True), math.nan, math.nan)
        output.copy_(y)
        output_lse.copy_(log.T)

    return kernel


def merge_state(merge, **marks):
    def kernel(v_a, s_a, v_b, s_b):
        v, lse = torch.stack((v_a, v_b), 2), torch.stack((s_a, s_b), 2)
        got = of_states(merge, v, lse, v_a.dtype, **marks)
        return massless_as(got, math.nan, math.nan) if marks else got

    return kernel


def merge_states(merge):
    def kernel(v, s):
        return of_states(merge, v.transpose(1, 2), s.transpose(1, 2), v.dtype)

    return kernel


def flash_attention(merge):
    def kernel(out_partial, lse_partial, out=None, out_dtype=None):
        splits, b, t, h, r = out_partial.shape
        v = out_partial.permute(1, 2, 3, 0, 4).reshape(b * t, h, splits, r)
        lse = lse_partial.permute(1, 2, 3, 0).reshape(b * t, h, splits)
        y, log = massless_as(of_states(merge, v, lse, out_dtype), 0.0, math.inf)
        return y.reshape(b, t, h, r), log.reshape(b, t, h)

    return kernel


def splits(merge, *, log=-math.inf, **marks):
    def kernel(o, lse, dtype=None):
        v, lse = o.permute(1, 2, 0, 3), lse.permute(1, 2, 0)
        return massless_as(of_states(merge, v, lse, dtype or o.dtype, **marks), 0.0, log)

    return kernel


def kernels(two, natural, octaves):
    """Return a kernel for each convention, by what merges statistics → lse of bases 2 → e, e → e, 2 → 2."""
    return {
        "segments": two,
        "aiter_mla_reduce": unified(two),
        "vllm_unified_reduce": unified(natural),
        "vllm_merge_attn_states": merge_attn_states(natural),
        "sglang_merge_state": merge_state(natural, infinite=True),
        "flashinfer_merge_state": merge_state(octaves),
        "flashinfer_merge_states": merge_states(octaves),
        "flash_attention_combine": flash_attention(natural),
        "flash_mla_combine": splits(two, log=math.inf),
        "dcp_correction_e": splits(natural, infinite=True, nan=True),
        "dcp_correction_2": splits(octaves, infinite=True, nan=True),
    }


RIGHT = kernels(Merge(), Natural(), Octaves())
"""Kernels that keep what their convention says."""
