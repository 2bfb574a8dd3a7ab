"""A hub's settings for this book: what each student's server gets. The rest is the hub's own.

Who may log in, which spawner starts the servers and where homes are kept differ from place to place
and are left to you. `trial.py` runs a hub with these settings and a spawner on one machine.
"""

c = get_config()  # noqa: F821

# The largest chapter takes 1.2 GB while it trains; the costs page of the book has each. Without a
# limit one student's mistake takes the memory of all.
c.Spawner.mem_limit = "2G"
c.Spawner.cpu_limit = 1.0
c.Spawner.default_url = "/lab"
c.Spawner.environment = {
    # One core each: more threads than cores make everybody slower.
    "OMP_NUM_THREADS": "1",
    # A folder with tinyshakespeare.txt, so that nothing is downloaded. Without it, the lesson that
    # reads it takes the part that comes with the package.
    "ATTN_NOTES_DATA": "/srv/attention-notes",
    # Where nbgrader keeps what is handed out and handed in; the same folder for all servers.
    "NBGRADER_EXCHANGE": "/srv/nbgrader/exchange",
}
