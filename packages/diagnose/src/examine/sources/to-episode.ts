import { isJsonObject, type JsonObject, sha256, valueAtPath } from '@agentjet/core';
import { type EpisodeRow, type RecordKeys, toEpisodeOutcome } from '@agentjet/run-folder';
import type { EpisodeOf } from '../examined-run.js';

/**
 * Makes the part of an episode that causes read from its row in the index, and from the head of its line. The head is
 * undefined for an episode of an evaluation, because causes read only its outcome.
 */
export function toEpisode(row: EpisodeRow, head: JsonObject | undefined, keys: RecordKeys): EpisodeOf {
  return {
    id: row.episode_id,
    step: row.step,
    phase: row.phase,
    group: row.group_id === '' ? row.task_id : row.group_id,
    task: row.task_id,
    status: row.status,
    reward: row.reward ?? undefined,
    success: row.is_success,
    parts: row.parts ?? {},
    seconds: row.seconds,
    tokens: row.generated_tokens,
    answers: row.calls,
    cut: row.calls_cut,
    badCalls: row.calls_malformed,
    forks: row.forks,
    kind: row.kind,
    tokensHash: row.tokens_hash ?? row.episode_id,
    ...factsOf(head ?? {}, keys),
  };
}

type Facts = Pick<
  EpisodeOf,
  | 'content'
  | 'reason'
  | 'error'
  | 'withTools'
  | 'callingTools'
  | 'malformedCalls'
  | 'toolResults'
  | 'toolErrors'
  | 'swallowed'
  | 'waited'
  | 'answer'
  | 'expected'
>;

/** The facts that a row does not have. */
function factsOf(head: JsonObject, keys: RecordKeys): Facts {
  const { calls, swallowed_errors: swallowed, judge_outage: outage } = head;
  const { answered, expected } = toEpisodeOutcome(head, keys);
  return {
    content: contentOf(head),
    reason: textOf(head['reason']),
    error: errorOf(head['error']),
    withTools: numberOf(valueAtPath(calls, ['withTools'])),
    callingTools: numberOf(valueAtPath(calls, ['callingTools'])),
    malformedCalls: numberOf(valueAtPath(calls, ['malformedToolCalls'])),
    toolResults: numberOf(valueAtPath(calls, ['toolResults'])),
    toolErrors: numberOf(valueAtPath(calls, ['toolErrors'])),
    swallowed: Array.isArray(swallowed) ? swallowed.length : 0,
    waited: isJsonObject(outage) ? numberOf(outage['seconds']) : undefined,
    answer: isEmptyAnswer(head, keys) ? '' : answered,
    expected: isAboutSeveral(head) ? undefined : expected,
  };
}

/** Whether agents got separate rewards. A wrong plan with the right answer is then no mistake of the judge. */
const isAboutSeveral = ({ rewards }: JsonObject): boolean => isJsonObject(rewards) && Object.keys(rewards).length > 1;

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A record leaves out long values of a task. Then two tasks may look the same and differ in what is missing. */
const mostCharacters = 3500;
const shortened = /\.\.\. \(\d+ characters\)"/;

/** The hash of the task without its id. */
function contentOf({ task_id: id, main_query: query, task_metadata: metadata }: JsonObject): string | undefined {
  const fields = isJsonObject(metadata) ? Object.entries(metadata) : [];
  const others = fields.filter(([, value]) => String(value) !== id);
  const kept = others.length === 0 ? fields : others;
  if (kept.length === 0 && query === undefined) return undefined;
  const content = JSON.stringify([query, Object.fromEntries(kept)]);
  return JSON.stringify(metadata ?? {}).length > mostCharacters || shortened.test(content)
    ? undefined
    : hashOf(content);
}

const hashOf = (text: string): string => sha256(text, 'base64url').slice(0, 22);

/** A workflow that found no answer in what the model wrote returns an empty one. */
const isEmptyAnswer = (head: JsonObject, { outputField = 'answer' }: RecordKeys): boolean => {
  const returned = valueAtPath(head['metadata'], [outputField]);
  return typeof returned === 'string' && returned.trim() === '';
};

function errorOf(value: unknown): EpisodeOf['error'] {
  if (!isJsonObject(value)) return undefined;
  return {
    code: textOf(value['code']) ?? '',
    message: textOf(value['message']) ?? '',
    outage: value['outage'] !== undefined,
  };
}
