"""What a run is made on, and the numerics passport of a backend: how it computes, found out by asking it."""
