"""Runs rldoctor for bench.ts: `scenarios <folder>` writes its scenarios, `diagnose <file> ...` prints what it finds."""

import json
import sys
from pathlib import Path


def write_scenarios(folder: Path) -> None:
    from rl_doctor.simulate import SCENARIOS, simulate

    for scenario in SCENARIOS:
        for steps in (100, 400):
            for seed in range(10):
                records, _ = simulate(scenario, n_steps=steps, seed=seed)
                lines = "".join(json.dumps(record) + "\n" for record in records)
                (folder / f"{scenario}.{steps}.{seed}.jsonl").write_text(lines)


def diagnose_all(files: list[str]) -> None:
    """Prints the names of its findings for each file, the most severe first. An alarm is a warning or worse."""
    from rl_doctor.detectors.base import Severity
    from rl_doctor.diagnosis import diagnose
    from rl_doctor.ingest import load_run

    found = {}
    for file in files:
        problems = diagnose(load_run(file)).problems
        found[file] = [finding.detector for finding in problems if finding.severity >= Severity.WARNING]
    print(json.dumps(found))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "scenarios":
        write_scenarios(Path(arguments[0]))
    else:
        diagnose_all(arguments)
