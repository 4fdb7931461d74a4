"""Double-double arithmetic on float64 tensors: a number is an unevaluated sum hi + lo, |lo| ≤ ulp(hi)/2.

Every operation is a call of its own, so that no compiler contracts a product and a sum into one rounding.
u = 2^-53. The bounds are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic
building blocks of double-word arithmetic" (2017); they hold where nothing under- or overflows.
"""

import torch

Doubled = tuple[torch.Tensor, torch.Tensor]
"""(hi, lo)."""

_SPLITTER = 2.0**27 + 1


def two_sum(a: torch.Tensor, b: torch.Tensor) -> Doubled:
    """Return a + b exactly."""
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


def fast_two_sum(a: torch.Tensor, b: torch.Tensor) -> Doubled:
    """Return a + b exactly, given that a = 0 or the exponent of a is at least that of b."""
    s = a + b
    return s, b - (s - a)


def split(a: torch.Tensor) -> Doubled:
    """Return a as an exact sum of two numbers of at most 26 bits."""
    c = a * _SPLITTER
    hi = c - (c - a)
    return hi, a - hi


def two_product(a: torch.Tensor, b: torch.Tensor) -> Doubled:
    """Return a·b exactly (Dekker)."""
    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def add(x: Doubled, y: Doubled) -> Doubled:
    """Return x + y with a relative error of at most 3u² + 13u³, whatever the signs."""
    sh, sl = two_sum(x[0], y[0])
    th, tl = two_sum(x[1], y[1])
    vh, vl = fast_two_sum(sh, sl + th)
    return fast_two_sum(vh, tl + vl)


def multiply(x: Doubled, y: Doubled) -> Doubled:
    """Return x·y with a relative error below 8u² (5u² is known)."""
    p, e = two_product(x[0], y[0])
    return fast_two_sum(p, e + (x[0] * y[1] + x[1] * y[0]))


def scale(pieces: tuple[torch.Tensor, torch.Tensor, torch.Tensor], a: torch.Tensor) -> Doubled:
    """Return (w0 + w1 + w2)·a with a relative error below 4u², a having at most 24 bits.

    w0 + w1 is the high word split into 26 bits each, so that both products are exact; w2 is the low word.
    """
    hi, lo = fast_two_sum(pieces[0] * a, pieces[1] * a)
    return fast_two_sum(hi, lo + pieces[2] * a)


def total(x: Doubled) -> Doubled:
    """Return the sum over the last dimension, as a tree.

    The error is at most 3.1u²·ceil(log2 N)·Σ|x|, N being the length of that dimension.
    """
    hi, lo = x
    while hi.shape[-1] > 1:
        half = (hi.shape[-1] + 1) // 2
        rest = hi.shape[-1] - half
        summed = add((hi[..., :rest], lo[..., :rest]), (hi[..., half:], lo[..., half:]))
        if rest < half:
            middle = slice(rest, half)
            hi = torch.cat((summed[0], hi[..., middle]), -1)
            lo = torch.cat((summed[1], lo[..., middle]), -1)
        else:
            hi, lo = summed
    return hi[..., 0], lo[..., 0]


def exact_total(x: Doubled) -> tuple[Doubled, torch.Tensor]:
    """Return the sum over the last dimension, and where it is exact.

    x need not be normalised; hi + lo of the result is the sum itself wherever the mask is true.
    """
    hi, lo = x
    exact = torch.ones(hi.shape[:-1], dtype=torch.bool, device=hi.device)
    while hi.shape[-1] > 1:
        if hi.shape[-1] % 2:
            hi, lo = (torch.nn.functional.pad(part, (0, 1)) for part in (hi, lo))
        half = hi.shape[-1] // 2
        sh, sl = two_sum(hi[..., :half], hi[..., half:])
        th, tl = two_sum(lo[..., :half], lo[..., half:])
        c, lost = two_sum(sl, th)
        vh, vl = two_sum(sh, c)
        b, lost_too = two_sum(vl, tl)
        b, lost_again = two_sum(b, lost)
        exact &= ((lost_too == 0) & (lost_again == 0)).all(-1)
        hi, lo = two_sum(vh, b)
    return (hi[..., 0], lo[..., 0]), exact


def divide(x: Doubled, y: Doubled) -> Doubled:
    """Return x/y with a relative error below 2^-100."""
    q = x[0] / y[0]
    p, e = two_product(q, y[0])
    rest = (((x[0] - p) - e) + x[1]) - q * y[1]
    return fast_two_sum(q, rest / y[0])
