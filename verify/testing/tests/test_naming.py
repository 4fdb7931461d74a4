"""Names for functions: one that another process finds, or none."""

import json
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import mla_merge
from verify.campaign import shrink
from verify.testing.naming import LOCAL, lent, name_of


class Kernel:
    def merge(self):
        """A method is no function of its module."""


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Import a module or a package of one file from a folder that is on the path."""

    def load(name, text):
        file = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if "." in name:
            (file.parent / "__init__.py").touch()
        monkeypatch.syspath_prepend(str(tmp_path))
        module = __import__(name, fromlist=["merge"])
        for part in (name, name.partition(".")[0]):
            monkeypatch.delitem(sys.modules, part)
            monkeypatch.setitem(sys.modules, part, module if part == name else __import__(part))
        return module

    return load


def test_a_function_of_a_file_is_named_by_the_file(loaded, tmp_path, monkeypatch):
    module = loaded("flat_kernel", "def merge(): pass")
    assert name_of(module.merge) == f"{tmp_path}/flat_kernel.py:merge"
    monkeypatch.chdir(tmp_path)
    assert name_of(module.merge) == "flat_kernel.py:merge"


def test_a_function_of_a_package_is_named_by_its_module(loaded):
    assert (
        name_of(loaded("kernel_package.merging", "def merge(): pass").merge) == "kernel_package.merging:merge"
    )


def test_a_package_that_a_fresh_process_would_not_find_gives_no_name(loaded, monkeypatch):
    module = loaded("lost_package.merging", "def merge(): pass")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "pytest" not in entry])
    assert name_of(module.merge) is None


def test_the_projects_own_kernel_keeps_its_short_name():
    assert name_of(mla_merge.merge_mla_segments_triton) == "mla_merge"
    with lent(mla_merge.merge_mla_segments_triton) as name:
        assert name == "mla_merge"
    assert name_of(shrink.shrink) == "verify.campaign.shrink:shrink"


@pytest.mark.parametrize("kernel", [lambda: None, partial(print), Kernel().merge, Kernel.merge, Kernel()])
def test_what_no_module_holds_by_its_name_has_none(kernel):
    assert name_of(kernel) is None


def test_a_patched_function_is_not_taken_for_the_one_it_replaces(monkeypatch):
    real = shrink.shrink

    def shrink_(*_):
        """Stand in for the other."""

    shrink_.__module__, shrink_.__qualname__ = real.__module__, real.__qualname__
    assert name_of(shrink_) is None
    monkeypatch.setattr(shrink, "shrink", shrink_)
    assert name_of(real) is None


def test_a_function_of_the_main_module_has_no_name_elsewhere(monkeypatch):
    main = ModuleType("__main__")
    exec("def merge(): pass", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert name_of(main.merge) is None
    with lent(main.merge) as name:
        assert name == "__main__:merge"


def test_a_lent_name_holds_until_the_end():
    kernel = Kernel().merge
    with lent(kernel) as name:
        place, _, function = name.partition(":")
        assert place == LOCAL
        assert getattr(sys.modules[place], function) is kernel
    assert LOCAL not in sys.modules
    with lent(json.dumps) as name:
        assert name == "json:dumps"
    assert Path(__file__).stem in __name__
