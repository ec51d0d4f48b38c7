import { simulate, type RunResult } from './simulate.js';

/** The result of many runs, for scripts. */
export type SimulationReport = {
  readonly runs: number;
  readonly episodes_trained: number;
  readonly steps: number;
  readonly violations: number;
  readonly first_violation: { readonly seed: number; readonly violation: string } | null;
};

/** Makes a run for each seed from `seed` on, one after the other. `onRun` is called after each. */
export async function simulateMany(
  { runs, seed }: { readonly runs: number; readonly seed: number },
  onRun: (result: RunResult) => void = () => undefined,
): Promise<SimulationReport> {
  const sums = { episodes_trained: 0, steps: 0, violations: 0 };
  let first: SimulationReport['first_violation'] = null;
  for (let each = seed; each < seed + runs; each++) {
    const result = await simulate(each);
    sums.episodes_trained += result.episodesTrained;
    sums.steps += result.steps;
    sums.violations += result.violations.length;
    const [violation] = result.violations;
    if (violation !== undefined) first ??= { seed: each, violation };
    onRun(result);
  }
  return { runs, ...sums, first_violation: first };
}

/** Describes the seed, its settings and the violation. */
export const describeFailure = ({ seed, settings, violations }: RunResult): string =>
  `seed ${seed} ${JSON.stringify(settings)}\n  ${violations.join('\n  ')}`;
