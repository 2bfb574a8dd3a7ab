"""A course made of the lessons: homework, questions, exams, and grading."""
