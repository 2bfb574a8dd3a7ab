"""The checks of the lesson's exercises."""
