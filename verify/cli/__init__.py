"""What the commands have in common: settings and their sources, exit codes, the test of the suite itself."""
