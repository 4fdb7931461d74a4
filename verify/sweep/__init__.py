"""Sweeps over every float: probes that make a merge a function of one variable, certified at each point."""
