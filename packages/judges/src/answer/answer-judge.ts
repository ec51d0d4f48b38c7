import { JudgeError, type Task, type Verdict, type WorkflowOutput } from '@agentjet/core';
import type { Judge, JudgeContext } from '@agentjet/rollout';
import { lastAnswerText } from '../last-answer-text.js';
import { isReadableAs, isSameAnswer, type CompareOptions } from './compare-answers.js';
import type { Comparison } from '../shared-settings.js';
import { findAnswer, withoutThoughts, type AnswerSearch } from './find-answer.js';
import { inOtherWords } from './other-words.js';

export type AnswerOptions = CompareOptions & {
  readonly compare: Comparison;
  /** The field of the task's metadata that holds the right answer or a list of right answers. */
  readonly taskField: string;
  /** The field of the metadata that the workflow returns. If it returns none, the last message of `agent` is read. */
  readonly outputField: string;
  /** Null means the agent that spoke last. */
  readonly agent: string | null;
  /** The mark before the answer, on the same line. Null means the usual marks. */
  readonly after: string | null;
};

/**
 * Creates a judge that gives reward 1 if the last answer matches the task's, and 0 otherwise. Throws JudgeError if the
 * task has no answer that can be compared.
 */
export function createAnswerJudge(options: AnswerOptions): Judge {
  return {
    judge(task, output, context) {
      const expected = expectedAnswers(task, options);
      const unreadableAnswer = expected.find((answer) => !isExpectable(answer, options));
      if (unreadableAnswer !== undefined) throw unreadable(task, unreadableAnswer, options);
      const given = givenAnswer(output, context, { ...options, ...searchFor(expected, options) });
      if (given === null) return wrong(`The agent gave no ${options.compare} that can be read as its one answer.`);
      for (const answer of expected) {
        if (isSameAnswer(options.compare, { expected: answer, given }, options))
          return { reward: 1, isSuccess: true, reason: `The answer is ${shown(given)}.` };
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

function isExpectable(answer: string, options: AnswerOptions): boolean {
  return isSameAnswer(options.compare, { expected: answer, given: answer }, options) !== null;
}

function searchFor(expected: readonly string[], options: AnswerOptions): AnswerSearch {
  const { compare, after } = options;
  const isReadable = (given: string) => isReadableAs(compare, given, expected);
  return {
    after,
    isReadable,
    ...(compare === 'text' ? {} : { inOtherWords: (text) => inOtherWords(compare, text, isReadable) }),
    ...(compare === 'choice' ? { isFirstLine: isLetterWithReasons } : {}),
    isList: compare === 'expression' || compare === 'set',
    isSame: (first, second) => isSameAnswer(compare, { expected: first, given: second }, options) === true,
    isPreferred: (given) =>
      compare === 'text' && expected.some((answer) => isSameAnswer(compare, { expected: answer, given }, options)),
  };
}

/** Whether the line is a single letter, and the words below it name no other letter. */
function isLetterWithReasons(line: string, rest: string): boolean {
  const isLetter = /^\s*[*("[]{0,3}[A-Za-z][*)"\].:]{0,4}\s*$/.test(line);
  const hasOther = /^\s*(?:[-•*]\s+)?[*("[]{0,3}[A-Z][*)"\].:]{0,4}\s*$/m.test(rest);
  const beginsOption = /^\s*[*(]{0,3}[A-Z][).:]/.test(rest);
  const beginsSentence = /^\s*(?:[-•]\s+)?(?:[\p{Lu}*#(\d]|because\b|since\b)/u.test(rest);
  const prefersOther =
    /\b(?:however|instead|on reflection)\b|\b[A-H] is (?:the )?(?:correct|right|best|better)\b/i.test(rest);
  return isLetter && beginsSentence && !prefersOther && !hasOther && !beginsOption && /\p{L}{2,}\s+\p{L}/u.test(rest);
}

function givenAnswer(
  output: WorkflowOutput,
  context: JudgeContext,
  options: AnswerOptions & AnswerSearch,
): string | null {
  const returned = toText(output.metadata?.[options.outputField]);
  if (returned === null) {
    const said = lastAnswerText(context.transcripts, options.agent);
    return said === null ? null : findAnswer(said, options);
  }
  return findAnswer(returned, options) ?? (options.after === null ? null : withoutThoughts(returned).trim());
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
