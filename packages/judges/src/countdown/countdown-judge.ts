import Fraction from 'fraction.js';
import { JudgeError, type Task, type Verdict } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';
import { findAnswer } from '../answer/find-answer.js';
import { evaluateExactly, subexpressionsOf, type Expression } from '../arithmetic/expression.js';
import { readExpression } from '../arithmetic/read-expression.js';
import { lastAnswerText } from '../last-answer-text.js';

export type CountdownOptions = {
  /** Fields of the task's metadata. */
  readonly targetField: string;
  readonly numbersField: string;
  /** The field of the metadata that the workflow returns. If it returns none, the last message of `agent` is read. */
  readonly outputField: string;
  readonly agent: string | null;
  /** The reward for a readable expression that is wrong. */
  readonly formReward: number;
  /** If false, some of the numbers may be left out. */
  readonly useAll: boolean;
};

type Problem = { readonly target: Fraction; readonly numbers: readonly Fraction[] };

/**
 * Judges the numbers game: reach the target with + - * / and brackets, using each number once. The reward is 1 if the
 * expression reaches the target, `formReward` if it is an expression but does not, and 0 if it is not an expression.
 * Target and numbers come from the task alone. Throws JudgeError if the task has none.
 */
export function createCountdownJudge(options: CountdownOptions): Judge {
  return {
    judge(task, output, context) {
      const problem = readProblem(task, options);
      const returned = output.metadata?.[options.outputField];
      const said = typeof returned === 'string' ? returned : lastAnswerText(context.transcripts, options.agent);
      const expression = said === null ? null : readAnswer(said, typeof returned === 'string');
      if (expression === null) return verdict(0, 'There is no expression of numbers, + - * / and brackets.');
      const mistake = findMistake(expression, problem, options);
      return mistake === null ? verdict(1, 'The expression reaches the target.') : verdict(options.formReward, mistake);
    },
  };
}

function verdict(reward: number, reason: string): Verdict {
  return { reward, isSuccess: reward === 1, reason };
}

/** The workflow's output may be the expression alone. In a message, the expression must be marked. */
function readAnswer(said: string, isWhole: boolean): Expression | null {
  const marked = findAnswer(said, { after: null, isReadable: (text) => readFormula(text) !== null, isWhole });
  return marked === null ? null : readFormula(marked);
}

/** The part after an equals sign is the model's opinion of the result and is not read. */
function readFormula(text: string): Expression | null {
  const [formula = '', ...results] = text.split('=');
  return results.length > 1 ? null : readExpression(formula.trim(), { hasAlgebra: false });
}

function findMistake(
  expression: Expression,
  { target, numbers }: Problem,
  { useAll }: CountdownOptions,
): string | null {
  const open = [...numbers];
  for (const part of subexpressionsOf(expression)) {
    if (part.kind !== 'number') continue;
    const at = open.findIndex((number) => number.equals(part.value));
    if (at < 0) return `${part.value.toFraction()} is not a number of the task, or is used too often.`;
    open.splice(at, 1);
  }
  if (useAll && open.length > 0) return `${open.map((number) => number.toFraction()).join(', ')} was not used.`;
  const value = evaluateExactly(expression, () => null);
  if (value === null) return 'The expression divides by zero.';
  return value.equals(target) ? null : `The expression is ${value.toFraction()}, not ${target.toFraction()}.`;
}

function readProblem(task: Task, { targetField, numbersField }: CountdownOptions): Problem {
  const target = task.metadata[targetField];
  const numbers = task.metadata[numbersField];
  if (!isNumber(target)) throw badTask(task, targetField, target, 'a number');
  if (!Array.isArray(numbers) || numbers.length === 0 || !numbers.every(isNumber))
    throw badTask(task, numbersField, numbers, 'a list of numbers');
  return { target: new Fraction(target), numbers: numbers.map((number) => new Fraction(number)) };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function badTask({ taskId }: Task, field: string, value: unknown, wanted: string): JudgeError {
  const seen = JSON.stringify(value) ?? 'missing';
  return new JudgeError(
    'bad_countdown_task',
    `metadata.${field} of task "${taskId}" is ${seen}, not ${wanted}. Repair the task, or name other fields in task_judge.countdown.`,
  );
}
