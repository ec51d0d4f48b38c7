"""Sends rows of metrics to wandb or swanlab. Reads JSON lines from stdin, and prints the number of each row that the library took.

The first line is {"tracker", "project", "experiment", "dir", "id"}; each later line is {"step", "values"}. It ends when its input ends.
Exit code 3: the library is not installed.
"""

import hashlib
import importlib
import json
import os
import signal
import sys


def open_run(library, begin):
    if begin["tracker"] == "wandb":
        return library.init(
            project=begin["project"], name=begin["experiment"], id=begin["id"], dir=begin["dir"], resume="allow"
        )
    return library.init(
        project=begin["project"],
        experiment_name=begin["experiment"],
        logdir=os.path.join(begin["dir"], "swanlab"),
        id=hashlib.sha256(begin["id"].encode()).hexdigest()[:21],  # swanlab accepts 21 lowercase letters and digits
        resume="allow",
    )


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, but the run still ends its step and then closes the input
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the library prints must not look like an answer
    begin = json.loads(sys.stdin.readline())
    try:
        library = importlib.import_module(begin["tracker"])
    except ImportError:
        sys.exit(3)
    run = open_run(library, begin)
    for number, line in enumerate(sys.stdin):
        row = json.loads(line)
        run.log(row["values"], step=row["step"])
        answers.write(f"{number}\n")
    run.finish()


main()
