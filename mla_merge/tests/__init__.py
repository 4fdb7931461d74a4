"""Tests of the merge kernel."""
