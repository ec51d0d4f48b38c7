import type { Sample } from '@agentjet/core';
import { shortenNumber } from './shorten-number.js';

/** A sample as it is stored in `episodes/`: plain numbers, one array per field of Sample. */
export type SampleRecord = {
  readonly agent_name: string;
  readonly target_tag: string;
  readonly ids: readonly number[];
  readonly loss_mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly advantages: readonly number[];
  readonly policy_versions: readonly number[];
};

/**
 * Episodes of `train` are sampled for a training step. Episodes of `evaluation` are sampled to measure the model, and
 * are never trained.
 */
export type EpisodePhase = 'train' | 'evaluation';

/**
 * One line of an episodes file, without `step` and `phase`, which the folder adds. Ordinary runs and swarms write the same
 * keys. An episode of a run has the following keys. A key in brackets is absent if it has no value.
 * ```
 * episode_id, step, phase, group_id
 * task_id, [main_query, task_metadata]                   without long values; the tokens hold the whole text
 * repeat_index, seed, [attempt]                          from 1; earlier attempts were lost to outages
 * status                              completed | failed
 * reward, is_success, [rewards, parts, reason]           of a completed episode, from its judge or workflow
 * error                               of a failed episode: { code, message, [agent, place, stack, outage: { source,
 * host }] }
 * [answer]                            what the last answer of a model that learns says, without the middle of a long one
 * [began_at], seconds, [seconds_judging]                began_at is an ISO time
 * [judge_outage]                      { requests, seconds } that the judge could not be reached; the episode waited
 * [turn_rewards, spans]               began_ms and ended_ms count from the beginning of the episode
 * calls                               how many were answered, aborted, failed, ...
 * [swallowed_errors, untrained_calls, special_tokens, ignored_parameters]
 * forks, splices, foreign_messages    by agent and cause
 * generated_tokens, trained_tokens, trained_over_generated
 * metadata, log_metrics               of the workflow
 * turns                               one for each model call, in the form of `toTurnRecord`
 * samples                             with the advantages that were trained; an evaluation stores them as sampled, or
 * not at all
 * ```
 */
export type EpisodeRecord = {
  readonly episode_id: string;
  readonly samples: readonly SampleRecord[];
  readonly [key: string]: unknown;
};

/** A line that was read from a file. */
export type RecordedEpisode = EpisodeRecord & { readonly step: number; readonly phase: EpisodePhase };

/** Converts a sample to plain arrays, with logprobs and advantages of seven digits. */
export function toSampleRecord(sample: Sample): SampleRecord {
  return {
    agent_name: sample.agentName,
    target_tag: sample.targetTag,
    ids: toArray(sample.ids),
    loss_mask: toArray(sample.lossMask),
    logprobs: toArray(sample.logprobs, shortenNumber),
    advantages: toArray(sample.advantages, shortenNumber),
    policy_versions: toArray(sample.policyVersions),
  };
}

/**
 * A loop is several times faster than a spread or `Array.from`, and most of a run's records are these numbers. It
 * appends, because `JSON.stringify` is slower for an array that was made with its length.
 */
function toArray(values: ArrayLike<number>, convert?: (value: number) => number): readonly number[] {
  const array: number[] = [];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    array.push(convert === undefined ? value : convert(value));
  }
  return array;
}
