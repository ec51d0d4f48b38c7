import {
  ConfigError,
  isJsonObject,
  isReward,
  JudgeError,
  rewardRange,
  toErrorMessage,
  type Task,
  type Verdict,
  type WorkflowOutput,
  type CommonConfig,
  type Registration,
  type z,
} from '@agentjet/core';
import type { AgentTranscript } from '@agentjet/context-tracker';
import { copyPlain } from './episode/copy-plain.js';
import { toReadable } from './outage/readable-error.js';

/** The context of a judge, in addition to the workflow's output. */
export type JudgeContext = {
  readonly episodeId: string;
  /** Aborts when the episode times out or the run stops. */
  readonly signal: AbortSignal;
  /** A seed for random numbers of the judge. A repeated episode gets the same seed. */
  readonly seed: number;
  /** The conversation of each agent: what it read and answered. */
  readonly transcripts: readonly AgentTranscript[];
  /** The verdict of the episode's environment. Null if there was none. */
  readonly environment: Verdict | null;
};

/** Scores the output of a workflow that set no reward itself. A judge that needs no context takes two parameters. */
export interface Judge {
  /** True if the judge needs the verdict of the episode's environment, which is then asked first. */
  readonly needsEnvironment?: boolean;
  judge(task: Task, output: WorkflowOutput, context: JudgeContext): Promise<Verdict> | Verdict;
  /** The cost of the models that the judge has asked so far. */
  usage?(): JudgeUsage;
}

export type JudgeUsage = {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

/** The context of a group judge, in addition to the outputs. */
export type GroupContext = {
  readonly groupId: string;
  /** Aborts when the run stops, or when the judge takes longer than `rollout.episode_timeout`. */
  readonly signal: AbortSignal;
  /** A seed for random numbers of the judge. A repeated group gets the same seed. */
  readonly seed: number;
  /** The context of each output, in the same order. */
  readonly episodes: readonly JudgeContext[];
};

/**
 * Scores the siblings of a task together, for example by ranking them. It is asked once for a group, when all of its
 * episodes have ended.
 */
export interface GroupJudge {
  /** See `Judge.needsEnvironment`. */
  readonly needsEnvironment?: boolean;
  /**
   * Returns one verdict for each output, in the same order. The outputs exclude siblings that failed or whose workflow
   * set a reward.
   */
  judgeGroup(
    task: Task,
    outputs: readonly WorkflowOutput[],
    context: GroupContext,
  ): Promise<readonly Verdict[]> | readonly Verdict[];
}

/** Returns the same judge, which also accepts a single episode as a group of one. */
export function createGroupJudge(group: GroupJudge): Judge & GroupJudge {
  const { needsEnvironment } = group;
  return {
    ...(needsEnvironment !== undefined && { needsEnvironment }),
    judgeGroup: (task, outputs, context) => group.judgeGroup(task, outputs, context),
    judge: async (task, output, context) => {
      const { episodeId: groupId, signal, seed } = context;
      const [verdict] = await group.judgeGroup(task, [output], { groupId, signal, seed, episodes: [context] });
      if (verdict !== undefined) return verdict;
      throw new JudgeError('bad_verdict', `The judge returned no verdict for task "${task.taskId}".`);
    },
  };
}

export function isGroupJudge(judge: Judge): judge is Judge & GroupJudge {
  return hasJudgeGroup(judge);
}

function hasJudgeGroup(value: unknown): value is GroupJudge {
  return typeof value === 'object' && value !== null && 'judgeGroup' in value && typeof value.judgeGroup === 'function';
}

/**
 * Creates a judge from the export of a user's module: a class, an object with `judge`, or a function. Throws
 * ConfigError.
 */
export function createJudge(value: unknown, where: string): Judge {
  const made = instantiate(value, where);
  if (hasJudgeGroup(made)) return createGroupJudge(made);
  if (typeof made === 'object' && made !== null && 'judge' in made && typeof made.judge === 'function') {
    return made as Judge;
  }
  if (typeof made === 'function') {
    return { judge: (task, output, context) => made(task, output, context) };
  }
  throw new ConfigError(
    'bad_judge',
    `${where} is not a judge: it has no method judge(task, output, context), nor judgeGroup(task, outputs, context). Add one that returns { reward, isSuccess }.`,
  );
}

/**
 * Asks the judge, which gets a copy of the task. Throws JudgeError unless the judge returns a usable verdict. A
 * ConfigError of the judge passes through and stops the run.
 */
export async function askJudge(
  judge: Judge,
  { task, output, context }: { readonly task: Task; readonly output: WorkflowOutput; readonly context: JudgeContext },
): Promise<Verdict> {
  return checkVerdict(await callJudge(() => judge.judge(copyPlain(task), output, context), task), task);
}

/**
 * Returns the verdict with `isSuccess` filled in. Throws JudgeError `bad_verdict`, which names `who`, if the value is
 * not a verdict.
 */
export function checkVerdict(verdict: unknown, task: Task, who = 'The judge'): Verdict {
  if (typeof verdict !== 'object' || verdict === null) {
    throw new JudgeError(
      'bad_verdict',
      `${who} returned ${String(verdict)} for task "${task.taskId}". Return { reward, isSuccess }.`,
    );
  }
  const { reward, isSuccess, rewards, parts, reason } = verdict as Partial<Verdict>;
  if (!isReward(reward)) {
    throw new JudgeError(
      'bad_verdict',
      `${who}'s reward for task "${task.taskId}" is ${String(reward)}. Return ${rewardRange}.`,
    );
  }
  if (isSuccess !== undefined && typeof isSuccess !== 'boolean') {
    throw new JudgeError(
      'bad_verdict',
      `${who}'s isSuccess for task "${task.taskId}" is ${String(isSuccess)}. Return true or false.`,
    );
  }
  checkNumbers('rewards', rewards, { task, who, accepts: isReward });
  checkNumbers('parts', parts, { task, who, accepts: Number.isFinite });
  if (reason !== undefined && typeof reason !== 'string') {
    throw new JudgeError(
      'bad_verdict',
      `${who}'s reason for task "${task.taskId}" is of type ${typeof reason}. Return a string, or leave it out.`,
    );
  }
  return {
    reward,
    isSuccess: isSuccess ?? reward >= 1,
    ...(rewards !== undefined && { rewards }),
    ...(parts !== undefined && { parts }),
    ...(reason !== undefined && { reason }),
  };
}

function checkNumbers(
  name: 'rewards' | 'parts',
  value: unknown,
  { task, who, accepts }: { readonly task: Task; readonly who: string; readonly accepts: (value: unknown) => boolean },
): void {
  if (value === undefined) return;
  const entries = isJsonObject(value) ? Object.entries(value) : undefined;
  const wrong = entries?.find(([, number]) => !accepts(number));
  if (entries !== undefined && wrong === undefined) return;
  const seen =
    wrong === undefined ? `${name} are ${JSON.stringify(value)}` : `${name}.${wrong[0]} is ${String(wrong[1])}`;
  throw new JudgeError(
    'bad_verdict',
    `${who}'s ${seen} for task "${task.taskId}". Return an object of ${name === 'rewards' ? 'numbers from -1e12 to 1e12' : 'finite numbers'}, or leave it out.`,
  );
}

async function callJudge(ask: () => unknown, task: Task): Promise<unknown> {
  try {
    return await ask();
  } catch (thrown) {
    const error = toReadable(thrown);
    if (error instanceof ConfigError) throw error;
    throw new JudgeError('judge_failed', `The judge failed on task "${task.taskId}": ${toErrorMessage(error)}`, {
      cause: error,
    });
  }
}

function instantiate(value: unknown, where: string): unknown {
  const isClass =
    typeof value === 'function' &&
    (Function.prototype.toString.call(value).startsWith('class') ||
      typeof (value.prototype?.judge ?? value.prototype?.judgeGroup) === 'function');
  if (!isClass) {
    return value;
  }
  try {
    return Reflect.construct(value, []);
  } catch (error) {
    throw new ConfigError('bad_judge', `${where} threw while it was constructed: ${toErrorMessage(error)}`, {
      cause: error,
    });
  }
}

/** The arguments that every judge is opened with, in addition to its own section of the configuration. */
export type JudgeParts = {
  readonly config: CommonConfig;
  /** Aborts the opening, which may take a long time. */
  readonly signal?: AbortSignal | undefined;
};

/** `open` returns undefined if the section leaves rewards to the workflow. */
export type JudgeRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, JudgeParts, Judge | undefined, Flat>;

/** Defines a judge for `task_judge.judge_type` and `setJudge()`. */
export function defineJudge<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: JudgeRegistration<Name, Section, Flat>,
): JudgeRegistration<Name, Section, Flat> {
  return registration;
}
