"""The suite inside somebody's tests: the pytest plugin, `assert_merge` and `check`."""
