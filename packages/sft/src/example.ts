import type { Episode } from '@agentjet/rollout';
import type { Sample } from '@agentjet/core';

/** One transcript in tokens. A step trains it as one episode. */
export type Example = {
  readonly id: string;
  readonly place: string;
  /** Examples of one task are trained or held out together. */
  readonly taskKey: string;
  readonly reward: number | null;
  readonly rows: readonly ExampleRow[];
  readonly turns: Episode['turns'];
};

/**
 * The token ids, and which of them are imitated. The other fields of a sample are left out to save memory, because
 * there may be 100,000 rows.
 */
export type ExampleRow = Pick<Sample, 'agentName' | 'targetTag' | 'ids' | 'lossMask' | 'turnIndices'>;

export function toExampleRow({ agentName, targetTag, ids, lossMask, turnIndices }: Sample): ExampleRow {
  return { agentName, targetTag, ids, lossMask, ...(turnIndices !== undefined && { turnIndices }) };
}

/** Returns the samples of an example, for a step with the weights `policyVersion`. */
export function toSamples(example: Example, episodeId: string, policyVersion: number): readonly Sample[] {
  return example.rows.map((row) => ({
    ...row,
    episodeId,
    logprobs: new Float32Array(row.ids.length),
    policyVersions: Int32Array.from(row.lossMask, (mask) => (mask === 1 ? policyVersion : -1)),
    advantages: new Float32Array(row.ids.length),
  }));
}

export const longestRow = ({ rows }: Example): number => Math.max(0, ...rows.map(({ ids }) => ids.length));

export function countImitated({ rows }: Example): number {
  return rows.reduce((sum, { lossMask }) => sum + lossMask.reduce((ones, mask) => ones + mask, 0), 0);
}
