"""Four public tests of merge kernels, retold: what they notice of the museum, beside what this suite does."""
