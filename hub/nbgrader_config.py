"""nbgrader's settings on a hub, for students and teachers: /etc/jupyter/nbgrader_config.py."""

import os

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention-notes"
c.Exchange.root = os.environ.get("NBGRADER_EXCHANGE", "/srv/nbgrader/exchange")
# In containers everybody has the same name for the system; the hub knows who it is.
if student := os.environ.get("JUPYTERHUB_USER"):
    c.CourseDirectory.student_id = student
c.ExchangeCollect.check_owner = False
