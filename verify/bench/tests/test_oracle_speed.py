from verify.bench.oracle import measure_oracle


def test_every_kind_of_data_does_what_its_name_says():
    found = {speed.data: speed for speed in measure_oracle("cpu", rows=128, processes=2, repeats=1)}
    assert list(found) == ["typical", "structured", "cancelling", "ties", "escalating"]
    for speed in found.values():
        assert sum(speed.tiers.values()) == speed.outputs + speed.outputs // 512
        assert speed.outputs_per_s > 0
        assert speed.loop_outputs_per_s > 0
    assert 1 - found["typical"].tiers["float64"] / found["typical"].outputs < 0.002
    assert 0.002 < found["structured"].tiers["exact"] / found["structured"].outputs < 0.004
    assert found["cancelling"].tiers["double-double"] > 0.99 * found["cancelling"].outputs
    assert found["ties"].tiers["comparison"] == found["ties"].outputs
    assert found["escalating"].tiers["exact"] == found["escalating"].outputs
