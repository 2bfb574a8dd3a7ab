"""The notebooks for other places, and the wheels that they need."""
