import subprocess
import sys

import pytest

from verify.subjects.load import SubjectError, load_subject


@pytest.fixture
def kernel_file(tmp_path):
    (tmp_path / "neighbour.py").write_text("FACTOR = 2\n")
    file = tmp_path / "kernels.py"
    file.write_text("from neighbour import FACTOR\n\ndef merge(*args):\n    return FACTOR\n\nnumber = 3\n")
    return file


def test_a_file_is_imported_with_its_neighbours(kernel_file):
    subject = load_subject(f"{kernel_file}:merge")
    assert subject.merge() == 2
    assert subject.name == "kernels.py:merge"
    assert len(subject.source_sha256) == 64


def test_what_a_file_defines_is_named_and_not_what_it_imports(kernel_file):
    with pytest.raises(SubjectError, match=r"its functions are merge$"):
        load_subject(f"{kernel_file}:nothing")


def test_a_module_is_imported():
    subject = load_subject("math:sqrt")
    assert subject.merge(4.0) == 2.0
    assert subject.import_path == "math:sqrt"
    assert subject.source_sha256 == ""


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("nosuch:thing", "importing nosuch failed with ModuleNotFoundError: No module named 'nosuch'"),
        (
            "nosuch",
            "is not a kernel's name: wanted mla_merge, baseline_fp32, pkg.mod:function or path/file.py",
        ),
        ("math:", "is not a kernel's name"),
        ("nosuch.py:merge", "no file nosuch.py"),
        ("math:nothing", "math has no callable 'nothing'; its functions are acos"),
        ("./kernels:merge", "(a file is named with its .py)"),
        ("math:pi", "math has no callable 'pi'"),
    ],
)
def test_what_is_no_kernel_is_named_in_one_line(spec, complaint):
    with pytest.raises(SubjectError) as caught:
        load_subject(spec)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", ["import sys; sys.exit(3)", "def f(:", "raise ValueError('a\\nb')"])
def test_a_module_that_fails_is_named_in_one_line(tmp_path, body):
    file = tmp_path / "broken.py"
    file.write_text(body)
    with pytest.raises(SubjectError, match=r"broken\.py failed with") as caught:
        load_subject(f"{file}:merge")
    assert "\n" not in str(caught.value)


def test_a_missing_triton_is_one_clear_line_that_names_the_extra():
    check = (
        "import sys; sys.modules['triton'] = None\n"
        "from verify.subjects.load import SubjectError, load_subject\n"
        "try: load_subject('mla_merge')\n"
        "except SubjectError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert "mla-merge-verify[cpu]" in done.stdout
    assert len(done.stdout.splitlines()) == 1
