import { BackboneError, type Sample } from '@agentjet/core';

/**
 * Throws BackboneError `bad_sample` with the episode, the field and the value. A single invalid number would make all
 * weights invalid.
 */
export function checkSamples(samples: readonly Sample[]): void {
  const numWithTemperatures = samples.filter(({ temperatures }) => temperatures !== undefined).length;
  const areMissing = numWithTemperatures > 0 && numWithTemperatures < samples.length;
  for (const sample of samples) {
    const fault =
      findFault(sample) ??
      (areMissing && sample.temperatures === undefined
        ? `it has no temperatures, but ${numWithTemperatures} other samples of the step have temperatures. Give temperatures to all samples, or to none.`
        : undefined);
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
  for (const field of ['turnIndices', 'temperatures'] as const) {
    const values = sample[field];
    if (values !== undefined && values.length !== length)
      return `${field} has ${values.length} entries for ${length} ids.`;
  }
  if (sample.lossMask[0] === 1) return 'lossMask[0] is 1, but no earlier token can predict position 0.';
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
  const temperature = sample.temperatures?.[t] ?? 0;
  if (!(temperature >= 0 && temperature < Infinity))
    return `temperatures[${t}] is ${temperature}; it must be 0 (greedy) or more.`;
  return undefined;
}
