"""In which order the elements of a row are added, told by sums alone.

One element is M, another −M, all others are 1, and M is so large that M + 1 = M. A 1 that is added to a sum
that holds M is lost, so the result counts the elements that join after the two have met: n − result is the
number of leaves below the node where both meet. These numbers for all pairs determine the tree of additions.
(The idea is that of FPRev, by Xie and others.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from verify.env.probe import Answer, Engine, Probe, Witness
from verify.env.shown import number

COUNT = 32
"""Elements of a row: a warp holds one each, and no library adds so few in blocks."""
# So large that a 1 is lost, and float64 would not lose it beside the one of float32.
_LARGE = {torch.float32: 2.0**40, torch.float64: 2.0**100}
_SHOWN = 8  # meetings of element 0
WIDER, ANOTHER, NONE = "nothing is lost: wider sums", "another tree", "no tree"


Order = Callable[[Tensor, Tensor, int], Tensor]
"""Returns the leaves below the meeting of elements i and j of so many, i ≠ j."""


def _in_turn(i: Tensor, j: Tensor, count: int) -> Tensor:
    return torch.maximum(i, j) + 1


def _backwards(i: Tensor, j: Tensor, count: int) -> Tensor:
    return count - torch.minimum(i, j)


def _neighbours(i: Tensor, j: Tensor, count: int) -> Tensor:
    return _balanced(i, j, count, halves=False)


def _halves(i: Tensor, j: Tensor, count: int) -> Tensor:
    return _balanced(i, j, count, halves=True)


def _balanced(i: Tensor, j: Tensor, count: int, *, halves: bool) -> Tensor:
    size = torch.full_like(i, count)
    width = count // 2
    while width >= 1:
        together = (i % (count // width) == j % (count // width)) if halves else (i // width == j // width)
        size = torch.where(together, width, size)
        width //= 2
    return size


def _sums(parts: int, then: Order, *, strided: bool) -> Order:
    """Return the order in which the elements of each part are added from left to right, and then the parts.

    Element i is in part i % parts where they are strided, in part i // (count / parts) where they are runs.
    """

    def order(i: Tensor, j: Tensor, count: int) -> Tensor:
        size = count // parts
        (i_part, i_in), (j_part, j_in) = (
            (x % parts, x // parts) if strided else (x // size, x % size) for x in (i, j)
        )
        return torch.where(i_part == j_part, _in_turn(i_in, j_in, size), size * then(i_part, j_part, parts))

    return order


ORDERS: Mapping[str, Order] = {
    "left to right": _in_turn,
    "right to left": _backwards,
    "neighbours first": _neighbours,
    "halves first": _halves,
    **{
        f"{parts} sums in turn, then {name}": _sums(parts, then, strided=True)
        for parts in (2, 4, 8, 16)
        for name, then in (
            ("left to right", _in_turn),
            ("neighbours first", _neighbours),
            ("halves first", _halves),
        )
        # Two sums have one order; sums of two, folded, are halves from the first.
        if then is _in_turn or (parts > 2 and (then is _neighbours or 2 * parts < COUNT))
    },
    **{
        f"{parts} runs left to right, then the runs": _sums(parts, _in_turn, strided=False)
        for parts in (2, 4, 8)
    },
}
"""Every order that has a name."""


def leaves(order: Order, count: int = COUNT) -> Tensor:
    """Return the leaves [n, n] below the meeting of each pair, 1 on the diagonal."""
    i, j = torch.meshgrid(torch.arange(count), torch.arange(count), indexing="ij")
    return order(i, j, count).masked_fill(i == j, 1)


ANSWERS = (*ORDERS, WIDER, ANOTHER, NONE)


def meetings(engine: Engine, operation: str, dtype: torch.dtype) -> Tensor:
    """Return what the results say of the leaves [n, n] below the meeting of each pair, as float64."""
    i, j = torch.triu_indices(COUNT, COUNT, 1)
    place = torch.arange(len(i))
    rows = torch.ones(len(i), COUNT, dtype=dtype)
    rows[place, i], rows[place, j] = _LARGE[dtype], -_LARGE[dtype]
    size = torch.ones(COUNT, COUNT, dtype=torch.float64)
    size[i, j] = size[j, i] = COUNT - engine.reduce(operation, rows).double()
    return size


def _find(operation: str, dtype: torch.dtype, engine: Engine, _: int) -> Answer:
    size = meetings(engine, operation, dtype)
    apart = size[~torch.eye(COUNT, dtype=torch.bool)]
    if bool((apart == 2).all()):
        answer = WIDER
    elif bool(((apart != apart.round()) | (apart < 2) | (apart > COUNT)).any()):
        answer = NONE
    else:
        matching = (name for name, order in ORDERS.items() if bool((leaves(order) == size).all()))
        answer = next(matching, ANOTHER)
    large = torch.tensor(_LARGE[dtype], dtype=dtype)
    one = torch.ones((), dtype=dtype)
    return Answer(
        answer=answer,
        # Element 0 and the last, with ones between them.
        witness=Witness(
            operands=(number(large), number(one), number(-large)),
            got=number((COUNT - size[0, -1]).to(dtype)),
        ),
        measured={"elements": COUNT, "element 0 meets": _partners(size[0])},
    )


def _partners(row: Tensor) -> str:
    """Say which element is the first that element 0 meets in each node above it, and the node's size."""
    found: dict[float, int] = {}
    for place, size in enumerate(row.tolist()[1:], start=1):
        found.setdefault(size, place)
    said = [f"{place} ({size:g})" for size, place in sorted(found.items())]
    return ", ".join(said[:_SHOWN]) + (", …" if len(said) > _SHOWN else "")


_FOLLOWS = (
    "the last places of every sum of segments: where orders differ, bits differ between backends, and with "
    "the number of segments"
)


def _probe(operation: str, dtype: torch.dtype) -> Probe:
    name = str(dtype).removeprefix("torch.")
    return Probe(
        name=f"order/{operation}/{name}",
        question=f"How does a {operation} of {COUNT} elements of {name} add them?",
        needs=frozenset((operation,)),
        answers=ANSWERS,
        follows=_FOLLOWS,
        find=partial(_find, operation, dtype),
    )


PROBES = tuple(
    _probe(operation, dtype)
    for dtype in (torch.float32, torch.float64)
    for operation in ("sum of a row", "sum of a column")
)
