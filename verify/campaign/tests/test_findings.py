"""Findings say what they are consistent with, and those that are consistent with the same are one."""

import verify.replay.__main__ as replay
from reports.serialize import from_json
from verify import fuzz

NATURAL = """
from verify.museum.honest import Merge

class Natural(Merge):
    def weight(self, gap):
        return gap.exp()

    def logarithm(self, top, den):
        return top + den.log()

merge = Natural()
"""


def test_what_reads_base_two_as_natural_is_told_so_once_for_each_result(tmp_path, capsys):
    (tmp_path / "natural.py").write_text(NATURAL)
    kernel = f"{tmp_path / 'natural.py'}:merge"
    out = tmp_path / "out"
    command = ["--kernel", kernel, "--dtype", "float32", "--family", "producer,ties,seq_lens"]
    assert fuzz.main([*command, "--max-cases", "40", "--laws", "none", "--out", str(out)]) == 1
    said = capsys.readouterr().out
    findings = from_json((out / "report.json").read_text()).findings
    natural = [f for f in findings if f.diagnosis == "consistent with base-2 statistics read as natural"]
    assert sorted(finding.kind for finding in natural) == ["WRONG_LSE", "WRONG_VALUE"]
    assert all(finding.similar > 5 and finding.shrunk for finding in natural)
    assert "looks   consistent with base-2 statistics read as natural" in said
    assert replay.main([natural[0].repro["file"], "--kernel", kernel]) == 1


def test_a_finding_proves_what_is_right(tmp_path):
    out = tmp_path / "out"
    command = ["--kernel", "verify.museum.rounding:truncating_store", "--family", "producer", "-q"]
    assert fuzz.main([*command, "--max-cases", "8", "--laws", "none", "--out", str(out)]) == 1
    findings = from_json((out / "report.json").read_text()).findings
    assert findings
    for finding in findings:
        assert "proved with" in finding.proof or "exactly" in finding.proof
        assert [entry["segment"] for entry in finding.segments] == list(range(len(finding.segments)))
