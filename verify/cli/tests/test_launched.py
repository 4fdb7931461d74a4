import pytest

from verify.campaign.plan import Shard
from verify.cli.launched import local_rank, parse_shard, shard_of_launch

LAUNCHES = [
    ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, Shard(index=3, count=8), 1),
    ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, Shard(index=0, count=2), None),
    ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}, Shard(index=1, count=2), 0),
    (
        {"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "2", "SLURM_STEP_ID": "0"},
        Shard(index=5, count=6),
        2,
    ),
]


@pytest.mark.parametrize(("environment", "shard", "local"), LAUNCHES)
def test_every_launchers_rank_is_understood(environment, shard, local):
    found = shard_of_launch(environment)
    assert found is not None
    assert found[0] == shard
    assert all(name in environment for name in found[1].split(", "))
    assert local_rank(environment) == local


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"RANK": "0", "WORLD_SIZE": "1"},
        {"RANK": "8", "WORLD_SIZE": "8"},
        {"RANK": "x", "WORLD_SIZE": "8"},
        {"SLURM_NTASKS": "4"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "batch"},
    ],
)
def test_one_process_alone_takes_every_case(environment):
    assert shard_of_launch(environment) is None


def test_shards_part_the_numbers():
    shards = [Shard(index=index, count=3) for index in range(3)]
    assert [[shard.holds(number) for shard in shards].index(True) for number in range(7)] == [
        0,
        1,
        2,
        0,
        1,
        2,
        0,
    ]
    assert all(sum(shard.holds(number) for shard in shards) == 1 for number in range(50))


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "0/0", "0/2/3", "a/b", "0/ 2"])
def test_nonsense_is_no_shard(text):
    with pytest.raises(ValueError, match="is not a shard: wanted I/N"):
        parse_shard(text)


def test_a_shard_is_read_as_it_is_written():
    assert str(parse_shard("3/8")) == "3/8"
