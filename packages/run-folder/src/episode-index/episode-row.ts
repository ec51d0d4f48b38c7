import { isAgentsFailure, isJsonObject, type JsonObject, textOrEmpty } from '@agentjet/core';
import { kindOf } from '@agentjet/core/success';
import type { EpisodePhase } from '../episode-record.js';

/**
 * The row of an episode in the index of a run. It contains the facts that a table, a filter or a rule needs, so that
 * they do not have to read tokens.
 *
 * Worked example:
 * ```
 * { episode_id: 'e1-lake-7-r0', step: 1, phase: 'train', offset: 0, length: 13007, tokens_hash: 'pB3x0cD1kq8XbL2w', group_id: 'e1-lake-7', task_id: 'lake-7',
 *   kind: '4x4', repeat_index: 0, status: 'completed', is_scored: true, reward: 0.5, is_success: false, seconds: 2.1,
 *   generated_tokens: 34, trained_tokens: 34, calls: 2, calls_cut: 0, calls_malformed: 1, forks: { rewritten: 1 }, splices: 0,
 *   agents: ['walker'], policy_versions: [0, 0], began_at: '2026-11-27T10:49:01.220Z' }
 * ```
 */
export type EpisodeRow = {
  readonly episode_id: string;
  readonly step: number;
  readonly phase: EpisodePhase;
  /** The line is the bytes from `offset` to `offset + length` of the step's file in episodes/, without its line end. */
  readonly offset: number;
  readonly length: number;
  /** Equal for episodes with the same tokens. Absent without samples, and in indexes of older versions. */
  readonly tokens_hash?: string;
  /** Empty if the run does not name groups. */
  readonly group_id: string;
  readonly task_id: string;
  /** The value of `trainer_common.report_by` in the task's metadata. */
  readonly kind?: string;
  readonly repeat_index: number;
  /** Absent means 1. */
  readonly attempt?: number;
  readonly status: 'completed' | 'failed';
  readonly error_code?: string;
  /** False if an outage, the judge or the environment ended it, so that it says nothing about the model. */
  readonly is_scored: boolean;
  /** Null for a failed episode. */
  readonly reward: number | null;
  readonly is_success: boolean;
  /** The components of the reward. */
  readonly parts?: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly seconds_judging?: number;
  readonly generated_tokens: number;
  readonly trained_tokens: number;
  /** Answered model calls. */
  readonly calls: number;
  /** Answers that a token limit cut. */
  readonly calls_cut: number;
  /** Tool calls that could not be parsed, or did not match their tool. */
  readonly calls_malformed: number;
  /** Results of tools that report an error. Absent if there is none, and in indexes of older versions. */
  readonly tool_errors?: number;
  /** Counts by cause, over all agents. */
  readonly forks: Readonly<Record<string, number>>;
  readonly splices: number;
  /** Agents in the order of their first calls. */
  readonly agents: readonly string[];
  /** The lowest and the highest version of the weights that answered. Absent if there was no answer. */
  readonly policy_versions?: readonly [lowest: number, highest: number];
  /** An ISO time. Absent in runs of older versions. */
  readonly began_at?: string;
};

/** The position of a line in its file, and the hash of its tokens. */
export type LinePlace = Pick<EpisodeRow, 'offset' | 'length' | 'tokens_hash'>;

/** Makes the row of an episode from the fields of its line. `step` and `phase` must be among them. */
export function toEpisodeRow(fields: JsonObject, place: LinePlace, kindField: string | null): EpisodeRow {
  const { error, calls, began_at: beganAt } = fields;
  const status = fields['status'] === 'completed' ? 'completed' : 'failed';
  const counts = isJsonObject(calls) ? calls : {};
  const metadata = fields['task_metadata'];
  const kind = isJsonObject(metadata) ? kindOf({ metadata }, kindField) : undefined;
  return {
    episode_id: textOrEmpty(fields['episode_id']),
    step: numberOf(fields['step']),
    phase: fields['phase'] === 'evaluation' ? 'evaluation' : 'train',
    ...place,
    group_id: textOrEmpty(fields['group_id']),
    task_id: textOrEmpty(fields['task_id']),
    ...(kind !== undefined && { kind }),
    repeat_index: numberOf(fields['repeat_index']),
    ...(typeof fields['attempt'] === 'number' && { attempt: fields['attempt'] }),
    status,
    ...(isJsonObject(error) && { error_code: textOrEmpty(error['code']) }),
    is_scored: status === 'completed' || isAgents(error),
    reward: status === 'completed' && typeof fields['reward'] === 'number' ? fields['reward'] : null,
    is_success: fields['is_success'] === true,
    ...(isJsonObject(fields['parts']) && { parts: numbersIn(fields['parts']) }),
    seconds: numberOf(fields['seconds']),
    ...(typeof fields['seconds_judging'] === 'number' && { seconds_judging: fields['seconds_judging'] }),
    generated_tokens: numberOf(fields['generated_tokens']),
    trained_tokens: numberOf(fields['trained_tokens']),
    calls: numberOf(counts['answered']),
    calls_cut: numberOf(counts['truncated']),
    calls_malformed: sumOf(['malformedToolCalls', 'malformedArguments', 'unknownTools'].map((name) => counts[name])),
    ...(numberOf(counts['toolErrors']) > 0 && { tool_errors: numberOf(counts['toolErrors']) }),
    forks: byCause(fields['forks']),
    splices: sumOf(Object.values(byCause(fields['splices']))),
    ...agentsOf(fields),
    ...(typeof beganAt === 'string' && { began_at: beganAt }),
  };
}

/** Whether a line of the index has all fields that readers need. */
export function isEpisodeRow(value: JsonObject): boolean {
  return (
    typeof value['episode_id'] === 'string' &&
    ['step', 'offset', 'length', 'seconds'].every((name) => typeof value[name] === 'number') &&
    Array.isArray(value['agents']) &&
    isJsonObject(value['forks'])
  );
}

const isAgents = (error: unknown): boolean =>
  isJsonObject(error) && isAgentsFailure({ code: textOrEmpty(error['code']), outage: error['outage'] });

/**
 * Returns the agents and versions of an episode. Lines of older versions do not list them, so they are read from the
 * turns.
 */
function agentsOf(fields: JsonObject): Pick<EpisodeRow, 'agents' | 'policy_versions'> {
  const { agents, policy_versions: versions, turns } = fields;
  if (Array.isArray(agents))
    return { agents: agents.map(textOrEmpty), ...(Array.isArray(versions) && { policy_versions: rangeOf(versions) }) };
  const known = Array.isArray(turns) ? turns.filter(isJsonObject) : [];
  const seen = known.flatMap(({ policy_version: version }) => (typeof version === 'number' ? [version] : []));
  return {
    agents: [...new Set(known.map(({ agent_name: name }) => textOrEmpty(name)))],
    ...(seen.length > 0 && { policy_versions: rangeOf(seen) }),
  };
}

function rangeOf(versions: readonly unknown[]): readonly [number, number] {
  const numbers = versions.map(numberOf);
  return [
    numbers.reduce((least, version) => Math.min(least, version), Infinity),
    numbers.reduce((most, version) => Math.max(most, version), -Infinity),
  ];
}

/** Adds up counts by agent and cause. */
function byCause(byAgent: unknown): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const causes of isJsonObject(byAgent) ? Object.values(byAgent) : [])
    for (const [cause, count] of isJsonObject(causes) ? Object.entries(causes) : [])
      sums[cause] = (sums[cause] ?? 0) + numberOf(count);
  return sums;
}

function numbersIn(values: JsonObject): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === 'number' ? [[name, value]] : [])),
  );
}

const sumOf = (values: readonly unknown[]): number => values.reduce<number>((sum, value) => sum + numberOf(value), 0);
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
