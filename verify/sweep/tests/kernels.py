"""Kernels for the tests: honest ones, and honest ones but for one point."""

from __future__ import annotations

import torch

from verify.museum.honest import Merge, reference_merge
from verify.subjects.capabilities import capabilities_of
from verify.subjects.load import Subject


def subject_of(merge, **declared) -> Subject:
    """Return a kernel as the sweep takes it."""
    return Subject(
        name="test",
        import_path="test:merge",
        source_sha256="",
        merge=merge,
        capabilities=capabilities_of(declared),
    )


HONEST = subject_of(reference_merge)


def spoilt(where, *, output=None, lse=None):
    """Return an honest merge whose results are changed where `where(o, m, s)` [T, H, S] says so of a row."""

    def merge(segm_output, segm_max, segm_expsum, seq_lens, tile_size, out_dtype):
        got, log = reference_merge(segm_output, segm_max, segm_expsum, seq_lens, tile_size, out_dtype)
        rows = where(segm_output, segm_max, segm_expsum)
        if output is not None:
            got = torch.where(rows, output(got), got)
        if lse is not None:
            log = torch.where(rows, lse(log), log)
        return got, log

    return subject_of(merge)


class Float32(Merge):
    """A merge in float32 whose exponential flushes."""

    def statistics(self, m, s):
        return m, s

    def weight(self, gap):
        weight = torch.exp2(gap)
        return torch.where(weight < 2.0**-126, 0.0, weight)

    def logarithm(self, top, den):
        return (top + torch.log2(den)) * 0.6931471805599453
