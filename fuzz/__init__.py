"""What an input of the merge is, and how to make nasty ones; see README.md beside this file."""
