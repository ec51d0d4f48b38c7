import { JudgeError, type Task, type Verdict, type WorkflowOutput } from '@agentjet/core';
import type { Judge, JudgeContext } from '@agentjet/rollout';
import { lastAnswerText } from '../last-answer-text.js';
import { isSameAnswer, readChoice, type CompareOptions } from './compare-answers.js';
import type { Comparison } from './comparisons.js';
import { findMarked, withoutThoughts } from './find-answer.js';

export type AnswerOptions = CompareOptions & {
  readonly compare: Comparison;
  /** Field of the task's metadata that has the right answer, or a list of right answers. */
  readonly taskField: string;
  /** Field of the metadata that the workflow returns. If the workflow returns none, the last message of `agent` is read. */
  readonly outputField: string;
  /** Null: the agent that spoke last. */
  readonly agent: string | null;
  /** The mark that the answer comes after, on the same line; null: the usual marks. */
  readonly after: string | null;
};

/** Reward 1 if the last answer is the task's, 0 if not. Throws JudgeError if the task has no answer that can be compared. */
export function createAnswerJudge(options: AnswerOptions): Judge {
  return {
    judge(task, output, context) {
      const expected = expectedAnswers(task, options);
      const given = givenAnswer(output, context, options);
      if (given === null) return wrong('The agent gave no answer.');
      for (const answer of expected) {
        const isSame = isSameAnswer(options.compare, { expected: answer, given }, options);
        if (isSame === null) throw unreadable(task, answer, options);
        if (isSame) return { reward: 1, isSuccess: true, reason: `The answer is ${shown(given)}.` };
      }
      return wrong(`The answer is ${shown(given)}, not ${shown(expected[0] ?? '')}.`);
    },
  };
}

function expectedAnswers(task: Task, { taskField }: AnswerOptions): readonly string[] {
  const value = task.metadata[taskField];
  const answers = (Array.isArray(value) ? value : [value]).map(toText);
  const known = answers.filter((answer) => answer !== null);
  if (known.length === 0 || known.length < answers.length)
    throw new JudgeError(
      'no_answer',
      `metadata.${taskField} of task "${task.taskId}" is ${JSON.stringify(value) ?? 'missing'}. ` +
        'Give the task a string, a number or a list of them, or set task_judge.answer.task_field.',
    );
  return known;
}

function givenAnswer(output: WorkflowOutput, context: JudgeContext, options: AnswerOptions): string | null {
  const returned = toText(output.metadata?.[options.outputField]);
  if (returned !== null) return findMarked(returned, options) ?? withoutThoughts(returned).trim();
  const said = lastAnswerText(context.transcripts, options.agent);
  if (said === null) return null;
  return findMarked(said, options) ?? (options.after === null ? findUnmarked(said, options.compare) : null);
}

/** The last number, the last letter in brackets, or the last line. */
function findUnmarked(text: string, compare: Comparison): string | null {
  const said = withoutThoughts(text);
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const lastLine = lines.at(-1)?.trim() ?? null;
  if (compare === 'number') return [...said.matchAll(/-?[$€£¥]?\d[\d,]*(?:\.\d+)?(?:\/\d+)?%?/g)].at(-1)?.[0] ?? null;
  if (compare !== 'choice' || (lastLine !== null && readChoice(lastLine) !== null)) return lastLine;
  return [...said.matchAll(/\(([A-Z])\)/g)].at(-1)?.[1] ?? null;
}

function toText(value: unknown): string | null {
  if (typeof value === 'string' && value.trim() !== '') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function wrong(reason: string): Verdict {
  return { reward: 0, isSuccess: false, reason };
}

function unreadable({ taskId }: Task, answer: string, { compare, taskField }: AnswerOptions): JudgeError {
  return new JudgeError(
    'unreadable_answer',
    `metadata.${taskField} of task "${taskId}" is ${shown(answer)}, which is not a ${compare}. ` +
      'Repair the task, or set task_judge.answer.compare.',
  );
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}
