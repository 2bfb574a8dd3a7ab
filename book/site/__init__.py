"""How the notebooks are run, and the site that is made of them."""
