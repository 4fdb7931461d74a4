"""What changed between two reports, or two revisions of a kernel."""
