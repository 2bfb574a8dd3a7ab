"""What is printed or shown in a hall: slides, handouts, the whole book on paper."""
