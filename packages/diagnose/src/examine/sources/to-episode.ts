import { createHash } from 'node:crypto';
import { isJsonObject, valueAtPath } from '@agentjet/core';
import { kindOf } from '@agentjet/core/success';
import { type RecordedEpisode, type RecordKeys, toEpisodeOutcome } from '@agentjet/run-folder';
import type { EpisodeOf } from '../examined-run.js';

/** Returns the part of an episode's line that causes read. Tokens become a hash, because a run has many. */
export function toEpisode(line: RecordedEpisode, keys: RecordKeys): EpisodeOf {
  const turns = Array.isArray(line['turns']) ? (line['turns'] as readonly unknown[]) : [];
  const metadata = line['task_metadata'];
  const { answered, expected } = toEpisodeOutcome(line, keys);
  return {
    id: line.episode_id,
    step: line.step,
    phase: line.phase,
    group: textOf(line['group_id']) ?? textOf(line['task_id']) ?? '',
    task: textOf(line['task_id']) ?? '',
    status: line['status'] === 'completed' ? 'completed' : 'failed',
    reward: typeof line['reward'] === 'number' ? line['reward'] : undefined,
    success: line['is_success'] === true,
    parts: numbersOf(line['parts']),
    reason: textOf(line['reason']),
    error: errorOf(line['error']),
    seconds: numberOf(line['seconds']),
    tokens: numberOf(line['generated_tokens']),
    answers: turns.length,
    cut: turns.filter((turn) => valueAtPath(turn, ['is_truncated']) === true).length,
    withTools: numberOf(valueAtPath(line['calls'], ['withTools'])),
    callingTools: numberOf(valueAtPath(line['calls'], ['callingTools'])),
    malformedCalls: numberOf(valueAtPath(line['calls'], ['malformedToolCalls'])),
    badCalls: ['malformedToolCalls', 'malformedArguments', 'unknownTools'].reduce(
      (sum, name) => sum + numberOf(valueAtPath(line['calls'], [name])),
      0,
    ),
    swallowed: Array.isArray(line['swallowed_errors']) ? line['swallowed_errors'].length : 0,
    waited: isJsonObject(line['judge_outage']) ? numberOf(line['judge_outage']['seconds']) : undefined,
    forks: forksOf(line['forks']),
    kind: isJsonObject(metadata) ? kindOf({ metadata }, keys.kindField) : undefined,
    answer: isEmptyAnswer(line, keys) ? '' : answered,
    expected,
    tokensHash: hashTokens(line),
  };
}

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A workflow that found no answer in what the model wrote returns an empty one. */
const isEmptyAnswer = (line: RecordedEpisode, { outputField = 'answer' }: RecordKeys): boolean => {
  const returned = valueAtPath(line['metadata'], [outputField]);
  return typeof returned === 'string' && returned.trim() === '';
};

function numbersOf(value: unknown): Readonly<Record<string, number>> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (typeof each === 'number' ? [[name, each] as const] : [])),
  );
}

function errorOf(value: unknown): EpisodeOf['error'] {
  if (!isJsonObject(value)) return undefined;
  return {
    code: textOf(value['code']) ?? '',
    message: textOf(value['message']) ?? '',
    outage: value['outage'] !== undefined,
  };
}

/** Adds up `forks`, which counts by agent and cause. */
function forksOf(value: unknown): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  if (!isJsonObject(value)) return sums;
  for (const causes of Object.values(value))
    for (const [cause, count] of Object.entries(numbersOf(causes))) sums[cause] = (sums[cause] ?? 0) + count;
  return sums;
}

function hashTokens({ samples, episode_id: id }: RecordedEpisode): string {
  const hash = createHash('sha1');
  for (const { ids } of samples) hash.update(JSON.stringify(ids));
  return samples.length === 0 ? id : hash.digest('base64');
}
