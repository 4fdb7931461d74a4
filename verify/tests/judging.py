"""Small cases by hand, judged by the bounds of a float32 merge."""

import torch

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS
from verify.bounds import load_bounds
from verify.judge import judge
from verify.oracle import evaluate

FP32 = load_bounds("fp32")


def case(m, s, o, dtype="float32"):
    o = torch.tensor(o, dtype=torch.float32)
    return MergeCase(
        segm_output=o.reshape(1, 1, len(m), -1),
        segm_max=torch.tensor([[m]], dtype=torch.float32),
        segm_expsum=torch.tensor([[s]], dtype=torch.float32),
        seq_lens=torch.tensor([len(m)], dtype=torch.int32),
        tile_size=1,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


def exact_of(case):
    fmt = FORMATS[case.out_dtype]
    inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.active)
    return evaluate(*inputs, fmt, FORMATS["float32"], processes=1)


def judged(merge, case, bounds=FP32):
    return judge(case, merge(case), exact_of(case), bounds)
