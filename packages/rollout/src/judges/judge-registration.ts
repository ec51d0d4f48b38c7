import type { CommonConfig, Registration, z } from '@agentjet/core';
import type { Judge } from '../judge.js';

/** What every judge is opened with besides its own section. */
export type JudgeParts = {
  readonly config: CommonConfig;
  /** Ends the opening, which may take long. */
  readonly signal?: AbortSignal | undefined;
};

/** `open` gives undefined if the section leaves rewards to the workflow. */
export type JudgeRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, JudgeParts, Judge | undefined, Flat>;

/** A judge that `task_judge.judge_type:` may name, or that `setJudge()` takes. */
export function defineJudge<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: JudgeRegistration<Name, Section, Flat>,
): JudgeRegistration<Name, Section, Flat> {
  return registration;
}
