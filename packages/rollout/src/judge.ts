import { ConfigError, JudgeError, toErrorMessage, type Task, type Verdict, type WorkflowOutput } from '@agentjet/core';

/** Scores what a workflow returned, where it set no reward itself. */
export interface Judge {
  judge(task: Task, output: WorkflowOutput): Promise<Verdict> | Verdict;
}

/** A judge from what a user's module exports: a class, an object with `judge`, or a function. Throws ConfigError. */
export function createJudge(value: unknown, where: string): Judge {
  const made = instantiate(value, where);
  if (typeof made === 'object' && made !== null && 'judge' in made && typeof made.judge === 'function') {
    return made as Judge;
  }
  if (typeof made === 'function') {
    return { judge: (task, output) => made(task, output) };
  }
  throw new ConfigError(
    'bad_judge',
    `${where} is not a judge: it has no method judge(task, output). Add one that returns { reward, isSuccess }.`,
  );
}

/** Asks the judge; anything but a usable verdict is a JudgeError. */
export async function askJudge(judge: Judge, task: Task, output: WorkflowOutput): Promise<Verdict> {
  const verdict = await callJudge(judge, task, output);
  if (typeof verdict !== 'object' || verdict === null) {
    throw new JudgeError(
      'bad_verdict',
      `The judge returned ${String(verdict)} for task "${task.taskId}". Return { reward, isSuccess }.`,
    );
  }
  const { reward, isSuccess } = verdict as Partial<Verdict>;
  if (typeof reward !== 'number' || !Number.isFinite(reward)) {
    throw new JudgeError(
      'bad_verdict',
      `The judge's reward for task "${task.taskId}" is ${String(reward)}. Return a finite number.`,
    );
  }
  if (isSuccess !== undefined && typeof isSuccess !== 'boolean') {
    throw new JudgeError(
      'bad_verdict',
      `The judge's isSuccess for task "${task.taskId}" is ${String(isSuccess)}. Return true or false.`,
    );
  }
  return { reward, isSuccess: isSuccess ?? reward >= 1 };
}

async function callJudge(judge: Judge, task: Task, output: WorkflowOutput): Promise<unknown> {
  try {
    return await judge.judge(task, output);
  } catch (error) {
    throw new JudgeError('judge_failed', `The judge failed on task "${task.taskId}": ${toErrorMessage(error)}`, {
      cause: error,
    });
  }
}

function instantiate(value: unknown, where: string): unknown {
  const isClass =
    typeof value === 'function' &&
    (Function.prototype.toString.call(value).startsWith('class') || typeof value.prototype?.judge === 'function');
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
