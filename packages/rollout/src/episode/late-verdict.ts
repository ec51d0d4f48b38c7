import { EnvironmentOutage, JudgeError, Outage, WorkflowError } from '@agentjet/core';

/**
 * Errors for a verdict that arrives too late. The workflow had returned by then, so the agent did not fail, and no
 * policy may turn this into a reward of 0.
 */

/** Whether an episode ran out of time. */
export function isTimeout(thrown: unknown): boolean {
  return thrown instanceof WorkflowError && thrown.code === 'timeout';
}

export function lateJudge(timeoutMs: number): JudgeError {
  const message = tooLate('The judge', timeoutMs);
  return new JudgeError('judge_failed', message, { cause: new Outage(message, { host: 'judge' }) });
}

export function lateEnvironment(timeoutMs: number): EnvironmentOutage {
  return new EnvironmentOutage(tooLate('The environment', timeoutMs), { host: 'environment' });
}

function tooLate(who: string, timeoutMs: number): string {
  return `${who} gave no verdict within ${timeoutMs / 1000} s. Make it faster, or raise rollout.episode_timeout.`;
}
