"""Attention Notes: five small, unusual attention models and the yardsticks they are judged by."""
