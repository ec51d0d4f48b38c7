import path from 'node:path';
import { wilsonInterval, type RateDifference } from '@agentjet/core/success';
import type { MetricsRecord } from '@agentjet/run-folder';
import type { EvaluationPoint, RunState, RunSummary } from '../wire.js';
import type { FoundRun } from './find-runs.js';
import type { RunLines } from './run-lines.js';
import type { Settings } from './run-settings.js';

export type RunFacts = {
  readonly found: FoundRun;
  readonly lines: RunLines;
  readonly settings: Settings;
  readonly isBeingWritten: boolean;
  readonly updatedMs: number;
};

/** The mean of this number of steps is shown as the reward of a run. */
const rewardWindow = 5;
const sparkLength = 60;

/** The row of a run in the table of runs. */
export function summarizeRun({ found, lines, settings, isBeingWritten, updatedMs }: RunFacts): RunSummary {
  const { steps, log } = lines;
  const evaluations = lines.evaluations.flatMap(toEvaluationPoint);
  const rewards = steps.flatMap(({ reward_mean: reward }) => (typeof reward === 'number' ? [reward] : []));
  const recent = rewards.slice(-rewardWindow);
  const started = log.find(({ event }) => event === 'started');
  const totalSteps = typeof started?.['total_steps'] === 'number' ? started['total_steps'] : null;
  const step = steps.at(-1)?.step ?? 0;
  const parts = found.path.split('/');
  return {
    id: found.id,
    path: found.path,
    experiment: settings['experiment_name'] ?? parts.at(-2) ?? '',
    name: path.basename(found.path),
    ...stateOf({ log, isBeingWritten, isDone: totalSteps !== null && step >= totalSteps }),
    model: shortModel(settings['model.path'] ?? ''),
    backbone: settings['backbone'] ?? '',
    step,
    totalSteps,
    reward: recent.length === 0 ? null : recent.reduce((sum, reward) => sum + reward, 0) / recent.length,
    rewardSteps: recent.length,
    before: evaluations[0] ?? null,
    after: evaluations.length < 2 ? null : (evaluations.at(-1) ?? null),
    change: changeOf(lines.evaluations.at(-1)),
    seconds: sumSeconds(steps, lines.evaluations),
    beganAt: typeof started?.['time'] === 'string' ? started['time'] : null,
    updatedMs,
    spark: thinOut(rewards, sparkLength),
  };
}

/** Older evaluations have no interval. It is then computed as if every episode had a different task. */
export function toEvaluationPoint(line: MetricsRecord): readonly EvaluationPoint[] {
  const {
    step,
    success_rate: rate,
    success_low: low,
    success_high: high,
    episodes = 0,
    reward_mean: reward = 0,
  } = line;
  if (typeof rate !== 'number') return [];
  const computed = wilsonInterval(rate, episodes);
  return [{ step, rate, low: low ?? computed.low, high: high ?? computed.high, episodes, reward }];
}

function changeOf(line: MetricsRecord | undefined): RateDifference | null {
  const { success_change: difference, success_change_low: low, success_change_high: high } = line ?? { step: 0 };
  return difference === undefined || low === undefined || high === undefined ? null : { difference, low, high };
}

type Ending = { readonly log: RunLines['log']; readonly isBeingWritten: boolean; readonly isDone: boolean };

function stateOf({ log, isBeingWritten, isDone }: Ending): { readonly state: RunState; readonly problem?: string } {
  if (isBeingWritten) return { state: 'running' };
  const last = log.at(-1);
  if (last?.['event'] === 'failed') return { state: 'failed', problem: String(last['error']) };
  return { state: isDone ? 'finished' : 'stopped' };
}

/** A path is shown by its last part. */
function shortModel(model: string): string {
  return model.startsWith('/') || model.startsWith('.') ? path.basename(model) : model;
}

function sumSeconds(steps: readonly MetricsRecord[], evaluations: readonly MetricsRecord[]): number {
  const ofSteps = steps.reduce(
    (sum, line) =>
      sum + (line['seconds_sampling'] ?? 0) + (line['seconds_packing'] ?? 0) + (line['seconds_training'] ?? 0),
    0,
  );
  return evaluations.reduce((sum, line) => sum + (line['seconds'] ?? 0), ofSteps);
}

/** Means of neighbours, so that at most `length` values are left. */
function thinOut(values: readonly number[], length: number): readonly number[] {
  if (values.length <= length) return values;
  return Array.from({ length }, (_none, at) => {
    const part = values.slice(
      Math.floor((at * values.length) / length),
      Math.floor(((at + 1) * values.length) / length),
    );
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}
