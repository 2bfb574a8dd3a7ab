"""The lesson's recorded runs."""

import numpy as np

from book.kit import results
from book.kit.experiments import experiment
from book.lessons.attention import evidence, recipe


@experiment
def attention_seeds() -> None:
    """Sorters with the mask and without, 32 seeds each; of one seed the weights as well."""
    runs, weights = {}, {}
    for mask in recipe.MASKS:
        run = recipe.train_sorters(mask, recipe.RECORDED)
        crowd = evidence.crowd(mask, run)
        runs[mask] = {
            "steps": crowd.steps.tolist(),
            "losses": [[round(x, 5) for x in row] for row in crowd.losses.tolist()],
            "right": crowd.right.tolist(),
        }
        shown = evidence.members(mask, run)[recipe.RECORDED.index(recipe.SHOWN)]
        for name, value in shown.state_dict().items():
            weights[f"{mask}:{name}"] = value.numpy()
    settings = {"seeds": len(recipe.RECORDED), "steps": recipe.STEPS, "lr": recipe.RATE}
    results.save("attention_seeds", settings, runs)
    np.savez_compressed(results.path("attention_shown.npz"), **weights)
