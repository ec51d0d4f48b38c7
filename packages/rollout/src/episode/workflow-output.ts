import type { SwallowedError } from './swallowed-errors.js';
import {
  findNearestKey,
  isJsonObject,
  isReward,
  rewardRange,
  WorkflowError,
  type WorkflowOutput,
} from '@agentjet/core';

/** The checked output of a workflow. A null `reward` means that the judge is asked. */
export type CheckedOutput = Required<WorkflowOutput>;

/**
 * Checks the output of a workflow. Throws WorkflowError `bad_output`, which names the field and the value seen.
 * `targets` are the targets of the episode's agents. `policyNames` are further names that rewards may use. `unawaited`
 * is a model call that is still running.
 */
export function checkOutput(value: unknown, { targets, policyNames = [], unawaited }: OutputContext): CheckedOutput {
  if (!isJsonObject(value)) {
    throw badOutput(`returned ${show(value)}`, 'Return an object such as { reward: 1 }.');
  }
  requireAwaited(value, unawaited);
  refuseMisspelled(value);
  const output: WorkflowOutput = value;
  return {
    reward: checkReward(output.reward),
    rewards: checkRewards(output.rewards, targets, policyNames),
    isSuccess: checkIsSuccess(output.isSuccess),
    metadata: checkMetadata(output.metadata),
    logMetrics: checkLogMetrics(output.logMetrics),
  };
}

type OutputContext = {
  readonly targets: ReadonlySet<string>;
  readonly policyNames?: readonly string[] | undefined;
  readonly unawaited?: SwallowedError | undefined;
};

/** Refuses a Promise as a field, because only the returned object itself is awaited. */
function requireAwaited(output: Readonly<Record<string, unknown>>, unawaited: SwallowedError | undefined): void {
  const [name] = Object.entries(output).find(([, value]) => value instanceof Promise) ?? [];
  if (name === undefined) return;
  const place = unawaited === undefined ? '' : ` ${unawaited.message}`;
  throw badOutput(`returned ${name} as a Promise`, `Await it: { ${name}: await ... }.${place}`);
}

/** The fields of an output by the names that people give them. */
const fieldsByName: Readonly<Record<string, keyof WorkflowOutput>> = {
  reward: 'reward',
  rewards: 'rewards',
  is_success: 'isSuccess',
  success: 'isSuccess',
  metadata: 'metadata',
  log_metrics: 'logMetrics',
};

/** Refuses a misspelled field that would be lost, such as `is_success`. Any other additional field is the user's own. */
function refuseMisspelled(output: Readonly<Record<string, unknown>>): void {
  const fields = Object.values(fieldsByName) as readonly string[];
  for (const name of Object.keys(output)) {
    if (fields.includes(name)) continue;
    const nearest = fieldsByName[findNearestKey(name, Object.keys(fieldsByName)) ?? ''];
    if (nearest === undefined || output[nearest] !== undefined) continue;
    throw badOutput(`returned ${name} ${show(output[name])}`, `Rename it to ${nearest}, or move it into metadata.`);
  }
}

function checkReward(reward: unknown): number | null {
  if (reward === undefined || reward === null) {
    return null;
  }
  if (!isReward(reward)) {
    throw badOutput(`returned reward ${show(reward)}`, `Return ${rewardRange}, or null to ask the judge.`);
  }
  return reward;
}

function checkRewards(
  rewards: unknown,
  targets: ReadonlySet<string>,
  policyNames: readonly string[],
): Readonly<Record<string, number>> | null {
  if (rewards === undefined || rewards === null) return null;
  const repair = `Return ${rewardRange} for each target tag, such as { wolf: 1, villager: -1 }.`;
  if (!isJsonObject(rewards) || Object.keys(rewards).length === 0)
    throw badOutput(`returned rewards ${isJsonObject(rewards) ? '{}' : show(rewards)}`, repair);
  for (const [target, reward] of Object.entries(rewards)) {
    if (!isReward(reward)) throw badOutput(`returned rewards[${JSON.stringify(target)}] ${show(reward)}`, repair);
  }
  const names = Object.keys(rewards);
  const policies = policyNames.length === 0 ? '' : `, and the policies are ${policyNames.join(', ')}`;
  if (targets.size > 0 && !names.some((name) => targets.has(name) || policyNames.includes(name)))
    throw badOutput(
      `returned rewards for ${names.join(', ')}, but its agents have the targets ${[...targets].join(', ')}${policies}`,
      `Name rewards by the agents' target tags${policies === '' ? '' : ', or by policies'}.`,
    );
  return rewards as Readonly<Record<string, number>>;
}

function checkIsSuccess(isSuccess: unknown): boolean | null {
  if (isSuccess === undefined || isSuccess === null || typeof isSuccess === 'boolean') {
    return isSuccess ?? null;
  }
  throw badOutput(`returned isSuccess ${show(isSuccess)}`, 'Return true, false or null.');
}

function checkMetadata(metadata: unknown): Readonly<Record<string, unknown>> {
  if (metadata === undefined || metadata === null) {
    return {};
  }
  if (!isJsonObject(metadata)) {
    throw badOutput(`returned metadata ${show(metadata)}`, 'Return an object.');
  }
  try {
    JSON.stringify(metadata);
  } catch (error) {
    throw new WorkflowError(
      'bad_output',
      `The workflow returned metadata that is not JSON (${(error as Error).message}). Keep to plain values.`,
      { cause: error },
    );
  }
  return metadata;
}

function checkLogMetrics(logMetrics: unknown): Readonly<Record<string, number>> {
  if (logMetrics === undefined || logMetrics === null) {
    return {};
  }
  if (!isJsonObject(logMetrics)) {
    throw badOutput(`returned logMetrics ${show(logMetrics)}`, 'Return an object of numbers.');
  }
  for (const [name, metric] of Object.entries(logMetrics)) {
    if (typeof metric !== 'number' || !Number.isFinite(metric)) {
      throw badOutput(`returned logMetrics.${name} ${show(metric)}`, 'Every metric must be a finite number.');
    }
  }
  return logMetrics as Readonly<Record<string, number>>;
}

function badOutput(seen: string, repair: string): WorkflowError {
  return new WorkflowError('bad_output', `The workflow ${seen}. ${repair}`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
