from pathlib import Path

import pytest

from verify.cli.config import Option, UsageError, read_settings
from verify.cli.parsers import one_of, seconds, some_of, switch, whole

OPTIONS = (
    Option(name="profile", parse=one_of(("smoke", "quick")), default="quick", help="size"),
    Option(name="max-cases", parse=whole(1), default=None, help="number"),
    Option(name="dtype", parse=some_of(("float16", "float32")), default=("float32",), help="dtypes"),
    Option(name="quiet", parse=switch, default=False, short="q", help="less"),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(*argv):
    known = frozenset((*(option.name for option in OPTIONS), "seed"))
    return read_settings("verify.test", "tests", OPTIONS, argv, known)


def configure(text):
    Path("pyproject.toml").write_text("[tool.mla-verify]\n" + text)


def test_a_flag_beats_the_environment_beats_the_project_beats_the_default(monkeypatch):
    assert read()["max-cases"] is None
    configure("max-cases = 3")
    assert read()["max-cases"] == 3
    monkeypatch.setenv("MLA_VERIFY_MAX_CASES", "4")
    assert read()["max-cases"] == 4
    assert read("--max-cases", "5")["max-cases"] == 5


def test_every_value_is_shown_with_its_source(capsys, monkeypatch):
    configure('dtype = ["float16", "float32"]')
    monkeypatch.setenv("MLA_VERIFY_PROFILE", "smoke")
    with pytest.raises(SystemExit) as stopped:
        read("-q", "--show-config")
    assert stopped.value.code == 0
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    said = dict(shown)
    assert said["profile"].split() == ["smoke", "MLA_VERIFY_PROFILE"]
    assert said["dtype"].endswith("pyproject.toml [tool.mla-verify]")
    assert said["quiet"].split() == ["True", "--quiet"]
    assert said["max-cases"].split() == ["None", "default"]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (("--profile", "tiny"), "--profile: 'tiny' is none of smoke, quick"),
        (("--dtype", "float7"), "--dtype: 'float7' is none of float16, float32"),
        (("--dtype", ","), "is none of float16"),
        (("--max-cases", "0"), "'0' is not a whole number from 1 up"),
        (("--max-cases", "many"), "'many' is not a whole number"),
        (("--nosuch",), "unrecognized arguments: --nosuch; `verify.test --help` lists the options"),
    ],
)
def test_nonsense_is_named_in_one_line(argv, complaint):
    with pytest.raises(UsageError) as caught:
        read(*argv)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nonsense_elsewhere_names_its_source(monkeypatch):
    monkeypatch.setenv("MLA_VERIFY_PROFILE", "tiny")
    with pytest.raises(UsageError, match="MLA_VERIFY_PROFILE: 'tiny'"):
        read()
    monkeypatch.delenv("MLA_VERIFY_PROFILE")
    configure("quiet = 'perhaps'")
    with pytest.raises(UsageError, match=r"pyproject.toml .*'perhaps' is not a switch"):
        read()
    Path("pyproject.toml").write_text("[tool")
    with pytest.raises(UsageError, match=r"pyproject.toml cannot be read"):
        read()


def test_a_setting_that_no_command_knows_is_refused(monkeypatch):
    configure("max_cases = 5")
    with pytest.raises(UsageError, match=r"\[tool.mla-verify\] max_cases .* did you mean max-cases\?"):
        read()
    configure("seed = 5")  # another command's
    assert read()["max-cases"] is None
    monkeypatch.setenv("MLA_VERIFY_MAXCASES", "1")
    with pytest.raises(UsageError, match="MLA_VERIFY_MAXCASES sets no option"):
        read()


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nmla-verify = 3"])
def test_a_table_that_is_none_is_refused_or_left_alone(text):
    Path("pyproject.toml").write_text(text)
    if "mla" in text:
        with pytest.raises(UsageError, match="wanted a table"):
            read()
    else:
        assert read()["profile"] == "quick"


def test_durations():
    assert [seconds(text) for text in ("90", "90s", "5m", "2h", "0.5s")] == [90, 90, 300, 7200, 0.5]
    for text in ("", "s", "0", "-1s", "inf", "nan", "1d"):
        with pytest.raises(ValueError, match="not a duration"):
            seconds(text)
