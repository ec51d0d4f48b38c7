import { JudgeError } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';

export type EnvironmentJudgeOptions = {
  /** Factor for the environment's reward. */
  readonly scale: number;
  /** Bonus for a success. */
  readonly successBonus: number;
  /** The lowest reward of the environment that counts as a success. Null keeps the environment's own decision. */
  readonly successFrom: number | null;
};

/** Passes on the verdict of the episode's session. Throws JudgeError if the episode opened none. */
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
