"""The report of a verification run: its records, its JSON form and its renderings. Needs no torch."""
