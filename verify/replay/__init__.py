"""One case run again and explained, made smaller, made a test."""
