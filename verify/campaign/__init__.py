"""A campaign: cases through a kernel in worker processes, judged, measured, shrunk, written up."""
