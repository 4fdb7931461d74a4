"""The same row gives the same bits: again and again, in any batch, on any stream, inside a graph and out."""

import pytest
import torch

from mla_merge.plan import regime_for
from mla_merge.tests.rows import merge, random_partials, same_bits

pytestmark = pytest.mark.gpu

REPEATS = 100
RANK = 512
# (tokens, heads, segments): each falls into a regime of its own.
SHAPES = [
    *((1, 16, 64), (8, 16, 32), (1, 128, 64), (1, 96, 128), (32, 16, 16), (8, 64, 32), (8, 128, 64)),
    *((24, 96, 128), (32, 128, 16), (64, 128, 8), (256, 128, 8)),
]


def partials(shape, *, seed=0):
    tokens, heads, segments = shape
    return random_partials(tokens, heads, segments, RANK, "cuda", seed=seed)


def test_shapes_reach_every_kind_of_regime():
    reached = {regime_for(t * h, s, RANK, aligned=True) for t, h, s in SHAPES}
    assert len(reached) >= 9


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hundred_repeats(shape):
    """On the ordinary stream and on one beside it, whose launches may overlap."""
    inputs = partials(shape)
    first = merge(inputs, torch.bfloat16)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for repeat in range(REPEATS):
        with torch.cuda.stream(stream if repeat % 2 else torch.cuda.default_stream()):
            again = merge(inputs, torch.bfloat16)
        torch.cuda.synchronize()
        assert same_bits(first, again), repeat


@pytest.mark.parametrize("segments", [8, 24])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_alone_and_among_two_thousand(dtype, segments):
    """Batches of 1 and 2000 tokens are merged in different regimes."""
    inputs = random_partials(2000, 8, segments, RANK, "cuda")
    regimes = [regime_for(tokens * 8, segments, RANK, aligned=True) for tokens in (1, 2000)]
    assert regimes[0] != regimes[1]
    output, lse = merge(inputs, dtype)
    for token in (0, 1, 999, 1998, 1999):
        alone = merge([x[token : token + 1] for x in inputs], dtype)
        assert same_bits(alone, [output[token : token + 1], lse[token : token + 1]]), token


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_inside_and_outside_a_graph(shape):
    inputs = partials(shape, seed=1)
    outside = merge(inputs, torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inside = merge(inputs, torch.bfloat16)
    for replay in range(REPEATS):
        inside[0].fill_(7)
        inside[1].fill_(7)
        graph.replay()
        assert same_bits(outside, inside), replay
