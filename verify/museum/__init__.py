"""Faulty merges to be caught and sound ones to be let pass: what the suite itself is tested on."""
