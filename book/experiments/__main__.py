"""The command line of the recorded runs."""

import argparse
import time

import torch

from book import experiments


def main() -> None:
    """Run the experiments named on the command line."""
    every = experiments.every_experiment()
    parser = argparse.ArgumentParser(
        prog="python book/experiments", description=(experiments.__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which experiments; all if none")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(every):
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    torch.set_num_threads(1)
    for name in arguments.names or every:
        run = every[name]
        if arguments.list:
            print(f"{name}: {run.__doc__}")
            continue
        start = time.perf_counter()
        run()
        print(f"{name}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
