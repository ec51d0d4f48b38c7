/**
 * Looks for a violation in the sources that this file is built with. It tries first what found the mutant last, then
 * the scripted scenarios, and then seeds from 1 on. Its argument is a `HuntOrder`. It prints one line of JSON, a
 * `Hunt`.
 */
import { toErrorMessage } from '@agentjet/core';
import { scenarios } from '../scenarios/scenarios.js';
import { simulate } from '../simulation/simulate.js';
import type { Finder, Hunt, HuntOrder } from './finders.js';

const order = JSON.parse(process.argv[2] ?? '') as HuntOrder;
process.on('unhandledRejection', (error) =>
  finish({ killedBy: 'an unhandled rejection', runs: 0, violation: String(error) }),
);

for (const finder of order.first) await tryFinder(finder, 0);
for (const scenario of Object.keys(scenarios)) await tryFinder({ scenario }, 0);
for (let seed = 1; seed <= order.maxRuns; seed++) await tryFinder({ seed }, seed);
finish({ killedBy: null, runs: order.maxRuns, violation: null });

/** Ends the process if the scenario or the seed finds a violation. */
async function tryFinder(finder: Finder, runs: number): Promise<void> {
  const violation = 'seed' in finder ? await violationOfSeed(finder.seed) : await violationOfScenario(finder.scenario);
  if (violation !== undefined) finish({ killedBy: finder, runs, violation });
}

async function violationOfSeed(seed: number): Promise<string | undefined> {
  const { violations } = await simulate(seed);
  return violations[0];
}

async function violationOfScenario(name: string): Promise<string | undefined> {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`There is no scenario ${JSON.stringify(name)}.`);
  return scenario().then(
    (violations) => violations[0],
    (error: unknown) => toErrorMessage(error),
  );
}

function finish(result: Hunt): never {
  console.log(JSON.stringify(result));
  process.exit(0);
}
