import pytest

from reports.shards import Shards, parse, together


@pytest.mark.parametrize(
    ("text", "held", "count"),
    [
        ("0/1", {0}, 1),
        ("2/8", {2}, 8),
        ("0..7/8", set(range(8)), 8),
        ("0,2..4,7/8", {0, 2, 3, 4, 7}, 8),
        ("5/65536", {5}, 65536),
    ],
)
def test_shards_are_read_as_they_are_written(text, held, count):
    assert parse(text) == Shards(held=frozenset(held), count=count)
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "1",
            "/",
            "1/",
            "/2",
            "8/8",
            "-1/4",
            "1/0",
            "a/b",
            "0/1\n",
            " 0/1",
            "0..9/9",
            "3..1/4",
            "0,/4",
            "0,3..1/4",
            "0,1/4",
            "1,0/4",
            "00/4",
            "0..0/4",
            "../4",
            ",/4",
            "0../4",
        ),
        *("0/99999", "0..1..2/4", "0/999999999999", "²/4", "0/1 "),
    ],
)
def test_what_is_no_shard_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match="wanted I/N") as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_shards_of_one_run_add_up():
    assert str(together(parse(text) for text in ("1/4", "0/4"))) == "0..1/4"
    assert together([parse("0/4"), parse("3/4")]).missing == "1..2"
    assert together([parse("0..2/4"), parse("3/4")]).missing == ""
    with pytest.raises(ValueError, match="shard 2/4 is there twice"):
        together([parse("0..2/4"), parse("2..3/4")])
    with pytest.raises(ValueError, match="shard 1/5 among shards of 4"):
        together([parse("0/4"), parse("1/5")])
