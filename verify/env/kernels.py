"""Kernels that do one operation each, chosen by OP when they are compiled."""

# Triton types its own functions, and its constexpr arguments are written in capitals.
# ruff: noqa: N803, PLR0912
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

import triton
import triton.language as tl

COLUMNS = tl.constexpr(16)
"""Columns of the tile whose rows are added up in a sum of a column."""


@triton.jit
def elementwise(a_ptr, b_ptr, c_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """Compute OP of BLOCK elements of a, b and c, in their dtype, and store it in that of out."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    b_a = tl.load(a_ptr + i, mask=mask)
    b_b = tl.load(b_ptr + i, mask=mask)
    b_c = tl.load(c_ptr + i, mask=mask)
    if OP == "copy":
        b_y = b_a
    elif OP == "add":
        b_y = b_a + b_b
    elif OP == "multiply":
        b_y = b_a * b_b
    elif OP == "divide":
        b_y = b_a / b_b
    elif OP == "divide, rounded":
        b_y = tl.div_rn(b_a, b_b)
    elif OP == "multiply, then subtract":
        b_y = b_a * b_b - b_c
    elif OP == "fma":
        b_y = tl.fma(b_a, b_b, -b_c)
    elif OP == "exp2":
        b_y = tl.exp2(b_a)
    elif OP == "log2":
        b_y = tl.log2(b_a)
    elif OP == "log":
        b_y = tl.log(b_a)
    elif OP == "maximum":
        b_y = tl.maximum(b_a, b_b)
    elif OP == "minimum":
        b_y = tl.minimum(b_a, b_b)
    elif OP == "maximum, NaN too":
        b_y = tl.maximum(b_a, b_b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "minimum, NaN too":
        b_y = tl.minimum(b_a, b_b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp":
        b_y = tl.clamp(b_a, b_b, b_c)
    elif OP == "clamp, NaN too":
        b_y = tl.clamp(b_a, b_b, b_c, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "product":
        b_y = b_a * b_b
    elif OP == "sum":
        b_y = b_a + b_b
    elif OP == "divide integers":
        b_y = b_a // b_b
    else:
        tl.static_assert(OP == "remainder")
        b_y = b_a % b_b
    tl.store(out_ptr + i, b_y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["a", "b"])
def product_of_arguments(out_ptr, a, b):
    """Multiply two arguments of a launch, as a kernel multiplies an index by a stride."""
    tl.store(out_ptr, (a * b).to(tl.int64))


@triton.jit
def reduce_rows(x_ptr, out_ptr, OP: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    """Reduce ROWS rows of N elements by OP, one after the other."""
    i = tl.arange(0, N)
    for i_row in range(ROWS):
        b_x = tl.load(x_ptr + i_row * N + i)
        if OP == "sum of a row":
            b_y = tl.sum(b_x, 0)
        elif OP == "sum of a column":
            b_tile = b_x[:, None] + tl.zeros([N, COLUMNS], x_ptr.dtype.element_ty)
            b_y = tl.max(tl.sum(b_tile, 0), 0)  # of equal numbers
        else:
            tl.static_assert(OP == "largest of a row")
            b_y = tl.max(b_x, 0)
        tl.store(out_ptr + i_row, b_y)
