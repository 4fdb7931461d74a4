"""The shard of a run: as `--shard` gives it, or as torchrun, mpirun and Slurm number their processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from verify.campaign.plan import Shard
from verify.cli.parsers import is_number

_RANKS = (
    ("RANK", "WORLD_SIZE"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE"),  # MPICH and Intel MPI
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def shard_of_launch(environment: Mapping[str, str] = os.environ) -> tuple[Shard, str] | None:
    """Return the shard that a launcher's rank makes this process, and the variables that say so."""
    for rank, size in _RANKS:
        index, count = environment.get(rank, ""), environment.get(size, "")
        if rank == "SLURM_PROCID" and not is_number(environment.get("SLURM_STEP_ID", "")):
            continue  # a batch script, or a shell: it is one process, whatever was allocated to it
        if is_number(index) and is_number(count) and int(index) < int(count) > 1:
            return Shard(index=int(index), count=int(count)), f"{rank}, {size}"
    return None


def parse_shard(text: str) -> Shard:
    """Parse I/N, the shard I of N, counted from 0; ValueError, one line, for anything else."""
    index, slash, count = text.partition("/")
    if not (slash and is_number(index) and is_number(count) and int(index) < int(count)):
        raise ValueError(f"{text!r} is not a shard: wanted I/N with I from 0 to N - 1, e.g. 0/4")
    return Shard(index=int(index), count=int(count))


def local_rank(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the number of this process among those of its machine, None where no launcher counts them."""
    found = (environment[name] for name in _LOCAL if is_number(environment.get(name, "")))
    return next((int(text) for text in found), None)
