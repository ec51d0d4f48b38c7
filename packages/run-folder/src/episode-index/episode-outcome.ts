import { isJsonObject, valueAtPath, type JsonObject } from '@agentjet/core';
import type { RecordKeys } from './record-keys.js';

/** The question of an episode, the expected answer, and the result, in words. A missing key was not recorded. */
export type OutcomeInWords = {
  /** The task's text. It may be cut; the tokens contain the whole text. */
  readonly question?: string;
  /** The right answer in the task's metadata. */
  readonly expected?: string;
  /** The answer of the agent: the one that its workflow returned, or otherwise the last message of an agent. */
  readonly answered?: string;
  /** Why the judge gave this reward. */
  readonly reason?: string;
  /** Why the episode failed. */
  readonly error?: string;
  /** The first result of a tool that reports an error. */
  readonly first_tool_error?: string;
  /** Why the first model call failed whose error the agent took for a result. */
  readonly first_swallowed_error?: string;
};

/** Fields of task metadata that usually contain the right answer. The most specific names come first. */
const usualFields: readonly string[] = [
  'answer',
  'answers',
  'expected',
  'expected_answer',
  'correct_answer',
  'correct_answers',
  'right_answer',
  'accepted_answers',
  'answer_key',
  'final_answer',
  'gold',
  'gold_answer',
  'golden_answer',
  'golden_answers',
  'ground_truth',
  'reference_answer',
  'reference',
  'target',
  'label',
  'solution',
];

/**
 * Reads the outcome from the fields of a line. The configuration of the judge may name the fields that it compares. If
 * it names none, the first usual field that has a value is used.
 */
export function toEpisodeOutcome(
  fields: JsonObject,
  { taskField, outputField = 'answer' }: Pick<RecordKeys, 'taskField' | 'outputField'> = {},
): OutcomeInWords {
  const { main_query: query, task_metadata: task, metadata, answer, reason, error } = fields;
  const expected = expectedIn(task, taskField);
  const returned = isJsonObject(metadata) ? metadata[outputField] : undefined;
  return withoutMissing({
    question: toText(query),
    expected: toText(expected),
    answered: toText(returned) ?? toText(answer),
    reason: toText(reason),
    error: isJsonObject(error) ? toText(error['message']) : undefined,
    first_tool_error: toText(valueAtPath(fields, ['calls', 'firstToolError'])),
    first_swallowed_error: firstMessage(fields['swallowed_errors']),
  });
}

/** Whether one of the fields contains these words, in capitals or not. */
export function saysWords(outcome: OutcomeInWords, words: string): boolean {
  const wanted = words.toLowerCase();
  return Object.values(outcome).some((text) => text.toLowerCase().includes(wanted));
}

function firstMessage(errors: unknown): string | undefined {
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  return isJsonObject(first) ? toText(first['message']) : undefined;
}

function expectedIn(task: unknown, taskField: string | undefined): unknown {
  if (!isJsonObject(task)) return undefined;
  const field = [...(taskField === undefined ? [] : [taskField]), ...usualFields].find(
    (name) => toText(task[name]) !== undefined,
  );
  return field === undefined ? undefined : task[field];
}

/** Prints a value for people. Returns undefined if the value is missing or empty. */
function toText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function withoutMissing(values: { readonly [name in keyof OutcomeInWords]: string | undefined }): OutcomeInWords {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
