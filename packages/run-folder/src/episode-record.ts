import type { Sample } from '@agentjet/core';

/** A sample as it stands in `episodes/`: plain numbers, one array per field of Sample. */
export type SampleRecord = {
  readonly agent_name: string;
  readonly target_tag: string;
  readonly ids: readonly number[];
  readonly loss_mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly advantages: readonly number[];
  readonly policy_versions: readonly number[];
};

/** One line of an episodes file. Whoever ran the episode may add keys of its own: task, error, messages, metadata. */
export type EpisodeRecord = {
  readonly episode_id: string;
  readonly samples: readonly SampleRecord[];
  readonly [key: string]: unknown;
};

/** Plain arrays; logprobs and advantages with seven digits. */
export function toSampleRecord(sample: Sample): SampleRecord {
  return {
    agent_name: sample.agentName,
    target_tag: sample.targetTag,
    ids: [...sample.ids],
    loss_mask: [...sample.lossMask],
    logprobs: Array.from(sample.logprobs, shorten),
    advantages: Array.from(sample.advantages, shorten),
    policy_versions: [...sample.policyVersions],
  };
}

/** Seven digits: what a float32 holds, without the tail of its double. */
function shorten(value: number): number {
  return Number(value.toPrecision(7));
}
