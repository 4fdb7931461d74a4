"""The shapes that serving engines merge, by which speed is measured and code inspected."""

from __future__ import annotations

from dataclasses import dataclass

RANK = 512
"""R, the latent rank of the models in production."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Tokens, heads, segments and how many of these are active; R is 512."""

    tokens: int
    heads: int
    segments: int
    active: int

    @property
    def bytes(self) -> int:
        """What must be moved, once: active partials and statistics in, bfloat16 output and lse out."""
        rows = self.tokens * self.heads
        return rows * (self.active * (4 * RANK + 8) + 2 * RANK + 4)

    def __str__(self) -> str:
        """Write it as the option takes it."""
        return f"{self.tokens},{self.heads},{self.segments},{self.active}"


SHAPES = tuple(
    Shape(tokens=t, heads=h, segments=s, active=a)
    for t, h, s, a in (
        (1, 16, 64, 64),
        (1, 128, 64, 64),
        (8, 16, 32, 32),
        (32, 16, 16, 16),
        (1, 96, 128, 128),
        (24, 96, 128, 7),
        (64, 128, 64, 7),
        (8, 128, 64, 63),
        (32, 128, 16, 16),
        (64, 128, 32, 19),
        (64, 128, 128, 32),
        (128, 128, 16, 16),
        (256, 128, 8, 8),
        (1000, 96, 8, 5),
        (256, 128, 32, 32),
    )
)


def parse_shapes(text: str) -> tuple[Shape, ...]:
    """Parse shapes as `T,H,S,active`, several with a semicolon between."""
    found = []
    for part in text.split(";"):
        try:
            t, h, s, active = (int(number) for number in part.split(","))
        except ValueError:
            raise ValueError(
                f"{part!r} is not a shape: wanted T,H,S,active, several with ; between"
            ) from None
        if min(t, h, s) < 1 or not 0 <= active <= s:
            raise ValueError(f"{part!r} is not a shape: T, H and S are at least 1, active from 0 to S")
        found.append(Shape(tokens=t, heads=h, segments=s, active=active))
    return tuple(found)
