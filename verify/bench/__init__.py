"""How fast the oracle and the kernels are; every speed stands beside another one of the same run."""
