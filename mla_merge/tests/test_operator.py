"""The operator: registration, compilers, results given by the caller."""

import pytest
import torch

from mla_merge import merge_mla_segments_triton
from mla_merge.launcher import merge_into
from mla_merge.tests.rows import merge, random_partials, same_bits


def merge_to(inputs, dtype, **given):
    o, m, s, lens = inputs
    return merge_mla_segments_triton(o, m, s, lens, 4, dtype, **given)


def results(tokens, heads, rank, dtype, device):
    return torch.empty(tokens, heads, rank, dtype=dtype, device=device), torch.empty(
        tokens, heads, device=device
    )


def test_opcheck(device):
    o, m, s, lens = random_partials(2, 3, 4, 8, device)
    output, lse = results(2, 3, 8, torch.bfloat16, device)
    torch.library.opcheck(merge_into, (o, m, s, lens, 4, output, lse))


# Dynamo asks torch for the deprecated spelling of a setting while it traces.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_as_one_graph(dynamic, device):
    def attend(o, m, s, lens):
        output, lse = merge_mla_segments_triton(o * 2, m, s, lens, 4, torch.bfloat16)
        return output.float() + 1, lse

    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for tokens in (2, 5):
        inputs = random_partials(tokens, 3, 4, 8, device, seed=tokens)
        assert same_bits(attend(*inputs), compiled(*inputs))


def test_meta_shapes_under_fake_tensors(device):
    with torch._subclasses.FakeTensorMode() as mode:
        inputs = [mode.from_tensor(x) for x in random_partials(2, 3, 4, 8, device)]
        output, lse = merge(inputs, torch.float8_e4m3fn)
    assert (output.shape, output.dtype) == ((2, 3, 8), torch.float8_e4m3fn)
    assert (lse.shape, lse.dtype) == ((2, 3), torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2], ids=str)
def test_given_results_of_any_strides(dtype, device):
    inputs = random_partials(3, 4, 8, 8, device)
    expected = merge(inputs, dtype)
    wide, gaps = results(6, 9, 24, dtype, device)[0], torch.empty(4, 3, 2, device=device)
    wide.view(torch.uint8).fill_(0x3C)
    gaps.fill_(7)
    for view in (wide[::2, 1::2, 5:13], wide[::2, 1::2, 8:16], wide[:4, :3, :8].transpose(0, 1)):
        before = wide.clone()
        output, lse = merge_to(inputs, dtype, output=view, lse=gaps[..., 1].T)
        assert output.data_ptr() == view.data_ptr()
        assert same_bits(expected, (output.contiguous(), lse.contiguous()))
        # Nothing else was written.
        view.view(torch.uint8).fill_(0x3C)
        lse.fill_(7)
        before.view(torch.uint8).fill_(0x3C)
        assert torch.equal(wide.view(torch.uint8), before.view(torch.uint8))
        assert torch.all(gaps == 7)


def test_results_of_nothing(device):
    inputs = random_partials(0, 3, 4, 8, device)
    output, lse = results(0, 3, 8, torch.float16, device)
    assert merge_to(inputs, torch.float16, output=output, lse=lse)[0] is not None


WRONG = [
    ("output", lambda y, _: y.float(), TypeError, "output has dtype torch.float32: torch.bfloat16 is wanted"),
    ("output", lambda y, _: y[:1], ValueError, r"output has shape \[1, 3, 8\]"),
    ("output", lambda y, _: y.transpose(1, 2), ValueError, "output has shape"),
    ("output", lambda y, _: y.mT.contiguous().mT, ValueError, "R must be contiguous"),
    ("output", lambda y, _: y[:1].expand(2, 3, 8), ValueError, "one behind the other"),
    ("output", lambda y, _: y.to("meta"), ValueError, "output is on meta"),
    ("output", lambda y, _: "here", TypeError, "output is str"),
    ("lse", lambda _, x: x.double(), TypeError, "lse has dtype torch.float64"),
    ("lse", lambda _, x: x[:, :2], ValueError, r"lse has shape \[2, 2\]"),
    ("lse", lambda _, x: x.as_strided((2, 3), (1, 1)), ValueError, "one behind the other"),
    ("lse", lambda _, x: torch._neg_view(x), ValueError, "lazily negated"),
]


@pytest.mark.parametrize(("name", "change", "error", "message"), WRONG)
def test_refused_results(name, change, error, message, device, monkeypatch):
    inputs = random_partials(2, 3, 4, 8, device)
    given = change(*results(2, 3, 8, torch.bfloat16, device))
    monkeypatch.setattr("mla_merge.launcher.merge_kernel", None)
    with pytest.raises(error, match=message) as caught:
        merge_to(inputs, torch.bfloat16, **{name: given})
    assert "\n" not in str(caught.value)


@pytest.mark.gpu
def test_cuda_graph():
    inputs = random_partials(16, 8, 16, 512, "cuda")
    merge(inputs, torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = merge(inputs, torch.bfloat16)
    for seed in range(3):
        for tensor, fresh in zip(inputs, random_partials(16, 8, 16, 512, "cuda", seed=seed), strict=True):
            tensor.copy_(fresh)
        graph.replay()
        assert same_bits(captured, merge(inputs, torch.bfloat16))
