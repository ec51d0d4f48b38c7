import { isJsonObject, Outage, parseJson, type WorkflowOutput } from '@agentjet/core';
import type { ProgramEnd } from './spawn-program.js';

/** Returns the reward of a program without a reward command. A program that exits with 0 has succeeded. */
export function rewardOfExit({ exitCode }: Pick<ProgramEnd, 'exitCode'>): WorkflowOutput {
  return { reward: exitCode === 0 ? 1 : 0, isSuccess: exitCode === 0 };
}

/**
 * Reads the output of a reward command. Its last line is a number, or JSON with `reward` and any of `is_success`,
 * `metadata` and `log_metrics`.
 * @throws Outage for any other output, because a wrong reward would be worse than none
 */
export function readReward(command: string, { exitCode, stdout, stderr }: ProgramEnd): WorkflowOutput {
  const line = stdout.trim().split('\n').at(-1)?.trim() ?? '';
  const shown = JSON.stringify(line.slice(0, 200));
  if (exitCode !== 0)
    throw new Outage(
      `The reward command "${command}" ended with ${exitCode ?? 'a signal'}: ${stderr.trim().slice(-500)}`,
    );
  const said = parseJson(line);
  if (typeof said === 'number' && Number.isFinite(said)) return { reward: said };
  const { reward, is_success: isSuccess, metadata, log_metrics: logMetrics } = (said ?? {}) as Said;
  if (typeof reward !== 'number' || !Number.isFinite(reward))
    throw new Outage(
      `The reward command "${command}" printed ${shown}. Its last line must be a number, or JSON such as {"reward": 1, "is_success": true}.`,
    );
  return {
    reward,
    ...(typeof isSuccess === 'boolean' && { isSuccess }),
    ...(isJsonObject(metadata) && { metadata }),
    ...(isJsonObject(logMetrics) && { logMetrics: logMetrics as Readonly<Record<string, number>> }),
  };
}

type Said = {
  readonly reward?: unknown;
  readonly is_success?: unknown;
  readonly metadata?: unknown;
  readonly log_metrics?: unknown;
};
