import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(*command, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_foreign_package_of_the_same_name_is_one_clear_line(tmp_path):
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "fuzz" / "__init__.py").touch()
    done = run("-m", "verify.fuzz", "--list", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the package 'fuzz' that Python finds is ")
    assert len(done.stderr.splitlines()) == 1
    done = run("-c", "import verify", folder=tmp_path)
    assert done.stderr.splitlines()[-1].startswith("ImportError: the package 'fuzz'")


def test_from_any_other_folder_the_command_runs(tmp_path):
    done = run("-m", "verify.fuzz", "--list", folder=tmp_path)
    assert done.returncode == 0
    assert "empties" in done.stdout
