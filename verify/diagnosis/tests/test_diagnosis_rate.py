"""How often a fault of the museum is named on drawn cases, and whether ever wrongly."""

import collections

import pytest

from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from verify.bounds import load_bounds
from verify.campaign.trial import solve
from verify.diagnosis import diagnose
from verify.diagnosis import of_partition as partition
from verify.diagnosis import of_precision as precision
from verify.diagnosis import of_rows as rows
from verify.diagnosis import of_scale as scale
from verify.judge import judge
from verify.museum.exhibit import Wing
from verify.museum.registry import EXHIBITS
from verify.subjects.call import call_subject
from verify.subjects.convention import SEGMENTS
from verify.subjects.load import Subject

RIGHT = {
    "length_ignored": (partition.length_ignored,),
    "stale_tile": (partition.another_tile,),
    "stale_length": (partition.stale_length,),
    "one_segment_too_few": (partition.one_fewer,),
    "one_segment_too_many": (partition.one_more,),
    "tile_grouping_ignored": (partition.no_grouping,),
    "last_tile_rounded_down": (partition.whole_tiles,),
    "length_of_the_batch": (partition.longest,),
    "length_of_the_sequence": (partition.neighbour,),
    "no_length_as_one": (partition.at_least_one,),
    "negative_length_as_huge": (partition.unsigned,),
    "power_of_two_segments": (partition.power_of_two,),
    "at_most_64_segments": (partition.power_of_two,),
    "lse_in_base_two": (scale.lse_in_two,),
    "only_log_converted": (scale.only_logarithm,),
    "only_max_converted": (scale.only_maximum,),
    "natural_weights": (scale.natural_weights,),
    "maximum_left_out": (scale.no_maximum,),
    "mass_left_out": (scale.mass_ignored,),
    "bfloat16_statistics": (precision.bfloat16_statistics,),
    "bfloat16_weights": (precision.bfloat16_weights,),
    "float16_weights": (precision.float16_weights,),
    "bfloat16_accumulator": (precision.bfloat16_partials,),
    "lse_in_bfloat16": (precision.bfloat16_lse,),
    "truncating_store": (precision.truncated,),
    "rounded_twice": (precision.twice,),
    "subnormals_flushed": (precision.flushed,),
    "float8_cast_without_clamp": (precision.unsaturated,),
    "e5m2_overflows_to_infinity": (precision.unsaturated,),
    "fnuz_clamped_as_fn": (precision.unsaturated,),
    "float16_saturates": (precision.saturated,),
    "float8_clamp_eats_nan": (precision.nan_clamped,),
    "hidden_nan": (precision.nan_clamped,),
    "subnormal_mass_flushed": (precision.flushed_partials,),
    "subnormal_values_flushed": (precision.flushed_partials,),
    "massless_lse_plus_infinity": (rows.massless_infinite,),
    "massless_lse_zero": (rows.massless_zero,),
    "head_major_lse": (rows.lse_turned,),
    "heads_swapped": (rows.another_head,),
    "shuffled": (rows.another_column,),
}
"""The hypotheses that are right about an exhibit; of the others none is."""

# What these say is seen, whatever its cause: rows without mass hold NaN, or a NaN has become a number.
SEEN = {rows.massless_nan.says, rows.massless_lse_nan.says, precision.nan_clamped.says}


def drawn_cases():
    drawn: collections.Counter[str] = collections.Counter()
    found = []
    for number in range(600):
        recipe = draw_recipe(21, number)
        size = recipe.tokens * recipe.heads * recipe.segments * recipe.rank
        if drawn[recipe.family] < 2 and 0 < size <= 3000:
            drawn[recipe.family] += 1
            case = expand(recipe)
            found.append((case, solve(case, 1)))
    return found


def diagnoses(name, drawn):
    """Yield the diagnoses of the first five cases that show an exhibit's fault."""
    subject = Subject(name="", import_path="", source_sha256="", merge=EXHIBITS[name].merge)
    bounds, left = load_bounds(), 5
    for case, exact in drawn:
        returned = call_subject(subject, case).returned
        if returned is None or left == 0:
            continue
        judged = judge(case, returned, exact, bounds)
        failed = {"output": judged.output.failed, "lse": judged.lse.failed}
        found = diagnose(case, returned, exact, failed, SEGMENTS)
        left -= bool(found)
        yield from found.items()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_fault_of_the_museum_is_named_wrongly(capsys):
    drawn = drawn_cases()
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong, named_once = [], set()
    for name, exhibit in EXHIBITS.items():
        if exhibit.needs or exhibit.ends_process or exhibit.wing is Wing.PROCESS:
            continue
        right = {hypothesis.says for hypothesis in RIGHT.get(name, ())}
        for result, sentence in diagnoses(name, drawn):
            named = set(sentence.removeprefix("consistent with ").split(", or with ")) - {""}
            kind = "none" if not named else "right" if named & (right | SEEN) else "wrong"
            count["in the list" if right else "beyond it", kind] += 1
            if kind == "right" and right:
                named_once.add(name)
            if kind == "wrong":
                wrong.append((name, result, sentence))
    with capsys.disabled():
        print(dict(count), f"{len(named_once)} of {len(RIGHT)} exhibits named at least once")
    assert named_once
    assert wrong == []
