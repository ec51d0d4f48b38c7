/**
 * Looks for a violation in the sources next to this file. It runs the scripted scenarios first, and then seeds from 1
 * on. It prints one line of JSON.
 */
import { toErrorMessage } from '@agentjet/core';
import { scenarios } from '../scenarios/scenarios.js';
import { simulate } from '../simulation/simulate.js';

const maxRuns = Number(process.argv[2] ?? '2000');
process.on('unhandledRejection', (error) =>
  finish({ killedBy: 'an unhandled rejection', runs: 0, violation: String(error) }),
);

for (const [name, scenario] of Object.entries(scenarios)) {
  const violation = await scenario().then(
    (violations) => violations[0],
    (error: unknown) => toErrorMessage(error),
  );
  if (violation !== undefined) finish({ killedBy: `the scenario "${name}"`, runs: 0, violation });
}
for (let seed = 1; seed <= maxRuns; seed++) {
  const [violation] = (await simulate(seed)).violations;
  if (violation !== undefined) finish({ killedBy: `seed ${seed}`, runs: seed, violation });
}
finish({ killedBy: null, runs: maxRuns, violation: null });

function finish(result: Readonly<Record<string, unknown>>): never {
  console.log(JSON.stringify(result));
  process.exit(0);
}
