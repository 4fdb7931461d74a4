"""The order of a sum is named: each is planted as additions of single float32s."""

from __future__ import annotations

import math
import random

import pytest
import torch

from verify.env.order import ANOTHER, COUNT, NONE, ORDERS, WIDER, leaves
from verify.env.tests.engines import ask


def in_turn(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def neighbours(parts):
    while len(parts) > 1:
        parts = [parts[i] + parts[i + 1] for i in range(0, len(parts), 2)]
    return parts[0]


def halves(parts):
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [parts[i] + parts[i + half] for i in range(half)]
    return parts[0]


SIMPLE = {"left to right": in_turn, "neighbours first": neighbours, "halves first": halves}


def planted(name):
    """Return the sum of a list of columns in the named order, written without the table of orders."""
    if name in SIMPLE:
        return SIMPLE[name]
    if name == "right to left":
        return lambda parts: in_turn(parts[::-1])
    count = int(name.split()[0])
    if "runs" in name:
        size = COUNT // count
        return lambda parts: in_turn([in_turn(parts[i : i + size]) for i in range(0, COUNT, size)])
    then = SIMPLE[name.partition(", then ")[2]]
    return lambda parts: then([in_turn(parts[i::count]) for i in range(count)])


def answer(add, dtype="float32"):
    own = {"sum of a row": lambda rows: add([*rows.T])}
    return ask(f"order/sum of a row/{dtype}", own)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(ORDERS))
def test_every_order_is_named(name, dtype):
    assert answer(planted(name), dtype).answer == name


def test_orders_are_told_apart():
    assert len({tuple(leaves(order).flatten().tolist()) for order in ORDERS.values()}) == len(ORDERS)


def test_a_tree_without_a_name():
    shuffled = list(range(COUNT))
    random.Random(1).shuffle(shuffled)
    found = answer(lambda parts: neighbours([parts[i] for i in shuffled]))
    assert found.answer == ANOTHER
    partner = shuffled[shuffled.index(0) ^ 1]
    assert found.measured["element 0 meets"].startswith(f"{partner} (2), ")


def test_sums_in_a_wider_format_or_without_error():
    def wide(parts):
        return torch.stack(parts, 1).double().sum(1).float()

    def exact(parts):
        rows = torch.stack(parts, 1)
        return torch.tensor([math.fsum(row) for row in rows.tolist()], dtype=rows.dtype)

    assert answer(wide).answer == WIDER
    assert answer(exact, "float64").answer == WIDER


@pytest.mark.parametrize(
    "spoil", [lambda y: y + 0.5, lambda y: y - COUNT, lambda y: y * torch.nan, lambda y: y + 1]
)
def test_what_is_no_sum_has_no_tree(spoil):
    assert answer(lambda parts: spoil(in_turn(parts))).answer == NONE
