import { BackboneError, type Sample } from '@agentjet/core';

/** Throws BackboneError `bad_sample` naming the episode, the field and the value: one bad number would spoil all weights. */
export function checkSamples(samples: readonly Sample[]): void {
  for (const sample of samples) {
    const fault = findFault(sample);
    if (fault !== undefined)
      throw new BackboneError(
        'bad_sample',
        `A sample of episode "${sample.episodeId}" (agent "${sample.agentName}") cannot be trained: ${fault}`,
      );
  }
}

function findFault(sample: Sample): string | undefined {
  const length = sample.ids.length;
  for (const field of ['lossMask', 'logprobs', 'advantages', 'policyVersions'] as const) {
    if (sample[field].length !== length) return `${field} has ${sample[field].length} entries for ${length} ids.`;
  }
  if (sample.turnIndices !== undefined && sample.turnIndices.length !== length)
    return `turnIndices has ${sample.turnIndices.length} entries for ${length} ids.`;
  if (sample.lossMask[0] === 1) return 'lossMask[0] is 1, but nothing stands before position 0 to predict it from.';
  for (let t = 0; t < length; t++) {
    const fault = findTokenFault(sample, t);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findTokenFault(sample: Sample, t: number): string | undefined {
  if ((sample.ids[t] as number) < 0) return `ids[${t}] is ${sample.ids[t]}; token ids are 0 or more.`;
  if ((sample.lossMask[t] as number) > 1) return `lossMask[${t}] is ${sample.lossMask[t]}; it must be 0 or 1.`;
  if (sample.lossMask[t] === 0) return undefined;
  if (!Number.isFinite(sample.advantages[t])) return `advantages[${t}] is ${sample.advantages[t]}.`;
  if (!Number.isFinite(sample.logprobs[t])) return `logprobs[${t}] is ${sample.logprobs[t]}.`;
  return undefined;
}
