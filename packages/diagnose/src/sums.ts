import type { MetricsRecord } from '@agentjet/run-folder';

/** The sum of a metric over steps. A step without it counts as 0. */
export function sumOf(steps: readonly MetricsRecord[], key: string): number {
  return steps.reduce((sum, step) => sum + (step[key] ?? 0), 0);
}

/** The share of the episodes of these steps that succeeded. */
export function meanSuccess(steps: readonly MetricsRecord[]): number {
  const successes = steps.reduce((sum, step) => sum + (step['success_rate'] ?? 0) * (step['episodes'] ?? 0), 0);
  return successes / Math.max(1, sumOf(steps, 'episodes'));
}

/** "step 4", "steps 2 to 4" */
export function nameSteps(steps: readonly MetricsRecord[]): string {
  const [first, last] = [steps[0]?.step, steps.at(-1)?.step];
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}
