/**
 * `npm run swarm:simulate -- --runs 300 --seed 1 [--json]` runs the swarm's ledger, batches and protocol on a virtual
 * clock, with faults from a seed. A failing seed is printed, and this command replays it alone:
 * `npm run swarm:simulate -- --runs 1 --seed 407`. The exit code is 1 if a run failed.
 */
import { parseArgs } from 'node:util';
import { describeFailure, simulateMany } from './simulation/simulate-many.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const runs = toWhole('--runs', values.runs, 1);
const seed = toWhole('--seed', values.seed, 0);

const report = await simulateMany({ runs, seed }, (result) => {
  if (result.violations.length > 0 && !values.json) console.log(describeFailure(result));
});
const { episodes_trained: episodesTrained, steps, violations } = report;
console.log(
  values.json
    ? JSON.stringify(report)
    : `${runs} runs, ${episodesTrained} episodes trained in ${steps} steps, ${violations} violations`,
);
process.exitCode = violations === 0 ? 0 : 1;

function toWhole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a whole number from ${least}.`);
}
