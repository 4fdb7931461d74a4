from verify.speed.oracle import measure_oracle


def test_the_three_kinds_of_data_do_what_their_names_say():
    typical, structured, escalating = measure_oracle("cpu", rows=64, repeats=1)
    assert [speed.data for speed in (typical, structured, escalating)] == [
        "typical",
        "structured",
        "escalating",
    ]
    for speed in (typical, structured, escalating):
        rows = speed.outputs // 512
        assert sum(speed.tiers.values()) == speed.outputs + rows
        assert speed.outputs_per_s > 0
        assert speed.ratio > 1
    # Every lse goes to the second tier at once.
    beyond = {
        speed.data: speed.outputs - speed.tiers["float64"] for speed in (typical, structured, escalating)
    }
    assert beyond["typical"] / typical.outputs < 0.002
    assert 0.002 < beyond["structured"] / structured.outputs < 0.006
    assert beyond["escalating"] == escalating.outputs
