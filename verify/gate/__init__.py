"""A report held to what was measured before: bounds, baseline, known findings; and their tightening."""
