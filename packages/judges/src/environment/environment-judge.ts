import { JudgeError } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';

export type EnvironmentJudgeOptions = {
  /** The environment's reward times this. */
  readonly scale: number;
  /** Added for a success. */
  readonly successBonus: number;
  /** The environment's reward from which an episode is a success; null: as the environment says. */
  readonly successFrom: number | null;
};

/** Passes on what the session of the episode says of it. Throws JudgeError if the episode opened none. */
export function createEnvironmentJudge({ scale, successBonus, successFrom }: EnvironmentJudgeOptions): Judge {
  return {
    needsEnvironment: true,
    judge({ taskId }, _output, { environment }) {
      if (environment === null)
        throw new JudgeError(
          'no_environment',
          `The judge is environment, but the episode of task "${taskId}" opened no session. Call tuner.openEnvironment(task) in the workflow, or choose another judge.`,
        );
      const isSuccess = successFrom === null ? environment.isSuccess : environment.reward >= successFrom;
      return { ...environment, reward: environment.reward * scale + (isSuccess ? successBonus : 0), isSuccess };
    },
  };
}
