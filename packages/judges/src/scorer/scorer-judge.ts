import {
  isJsonObject,
  JudgeError,
  type JsonObject,
  parseJson,
  type Task,
  type Verdict,
  type WorkflowOutput,
} from '@agentjet/core';
import type { Judge, JudgeContext } from '@agentjet/rollout';
import { lastAnswerText, candidateText } from '../last-answer-text.js';
import { listToolCalls } from './list-tool-calls.js';
import { type Scorer, toScoring } from './scorer.js';

export type ScorerOptions = {
  /** The field of the task's metadata that the scorer gets as `expected`. A task without it gives no `expected`. */
  readonly taskField: string;
  /** Further arguments from the task's metadata: the field of each argument. Each task must have them. */
  readonly taskFields: Readonly<Record<string, string>>;
  /** Arguments that are the same for every task, such as the name of a model. */
  readonly options: JsonObject;
  /** How the answer is read before the scorer gets it. */
  readonly read: 'text' | 'number' | 'json';
  /** The field of the metadata that the workflow returns. If it returns none, the last message of `agent` is read. */
  readonly outputField: string;
  /** Null means the agent that spoke last. */
  readonly agent: string | null;
  /** The lowest score of a success. */
  readonly successFrom: number;
};

const defaults: ScorerOptions = {
  taskField: 'answer',
  taskFields: {},
  options: {},
  read: 'text',
  outputField: 'answer',
  agent: null,
  successFrom: 1,
};

/**
 * Creates a judge from a scorer of an evaluation library: a function of `{ input, output, expected }` (autoevals,
 * evalite, vitest-evals), an object with such a function, or a judge of vitest-evals. The score is the reward. An
 * answer that cannot be read as a number or as JSON earns 0. Throws JudgeError `no_score` if the scorer declines.
 */
export function createScorerJudge(scorer: Scorer, given: Partial<ScorerOptions> = {}): Judge {
  const options = { ...defaults, ...given };
  const { name, score } = toScoring(scorer);
  return {
    async judge(task, output, context) {
      const read = readAnswer(output, context, options);
      if (read === undefined)
        return { reward: 0, isSuccess: false, reason: `The answer cannot be read as ${options.read}.` };
      const scored = await score({
        ...options.options,
        input: task.mainQuery,
        output: read.answer,
        ...expectedOf(task, options),
        ...fieldsOf(task, options),
        ...listToolCalls(context.transcripts),
        signal: context.signal,
      });
      return toVerdict(scored, { task, name, successFrom: options.successFrom });
    },
  };
}

function readAnswer(
  output: WorkflowOutput,
  { transcripts }: JudgeContext,
  { read, outputField, agent }: ScorerOptions,
): { readonly answer: unknown } | undefined {
  const returned: unknown = output.metadata?.[outputField] ?? lastAnswerText(transcripts, agent) ?? '';
  if (read === 'text') return { answer: candidateText(returned) ?? '' };
  const value = typeof returned === 'string' ? (read === 'json' ? parseJson(returned) : toNumber(returned)) : returned;
  const isReadable = read === 'json' ? value !== undefined : typeof value === 'number' && Number.isFinite(value);
  return isReadable ? { answer: value } : undefined;
}

const toNumber = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

function expectedOf({ metadata }: Task, { taskField }: ScorerOptions): JsonObject {
  const expected: unknown = metadata[taskField];
  return expected === undefined ? {} : { expected };
}

function fieldsOf({ metadata, taskId }: Task, { taskFields }: ScorerOptions): JsonObject {
  const entries = Object.entries(taskFields).map(([argument, field]) => {
    const value: unknown = metadata[field];
    if (value !== undefined) return [argument, value] as const;
    throw new JudgeError(
      'no_field',
      `metadata.${field} of task "${taskId}" is missing, and the scorer gets it as "${argument}". Give the task this field, or change task_judge.scorer.task_fields.`,
    );
  });
  return Object.fromEntries(entries);
}

type Asked = { readonly task: Task; readonly name: string; readonly successFrom: number };

function toVerdict(scored: unknown, { task, name, successFrom }: Asked): Verdict {
  const { score, metadata, error } = isJsonObject(scored) ? scored : { score: scored };
  const reward = typeof score === 'boolean' ? Number(score) : score;
  const reason = isJsonObject(metadata) ? (metadata['rationale'] ?? metadata['reason']) : undefined;
  if (typeof reward !== 'number' || !Number.isFinite(reward))
    throw new JudgeError(
      'no_score',
      `The scorer ${name} gave ${reward === null ? 'no score' : show(scored)} for task "${task.taskId}"${whyNot(error ?? reason)}. ${repairOf(scored, name)}`,
      { cause: error },
    );
  return { reward, isSuccess: reward >= successFrom, ...(typeof reason === 'string' && { reason }) };
}

const show = (value: unknown): string => JSON.stringify(value) ?? typeof value;

function repairOf(scored: unknown, name: string): string {
  const isScorer = typeof scored === 'function' || (isJsonObject(scored) && ('assess' in scored || 'scorer' in scored));
  return isScorer
    ? `${name} makes a scorer: call it in a file of yours, and name what it returns.`
    : 'A score is a number, or an object { score }.';
}

function whyNot(why: unknown): string {
  if (why instanceof Error) return `: ${why.message}`;
  return typeof why === 'string' ? `: ${why}` : '';
}
