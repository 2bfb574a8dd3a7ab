"""What any lesson is made with: records, claims, figures, tables, guesses and exercises."""
