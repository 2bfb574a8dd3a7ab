"""The first lesson: attention, seen whole in one small model."""
