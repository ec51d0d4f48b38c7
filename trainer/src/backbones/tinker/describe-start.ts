import type { TinkerParts } from './live-model.js';
import type { Profile } from './profiles.js';

/**
 * Returns the first line of a run. It names the server, what the server trains and how, and the settings that the
 * server ignores.
 */
export function describeStart(
  baseUrl: string,
  profile: Profile,
  { client, newModel, seam, optimizer }: TinkerParts,
): string {
  const sums = seam.encoding === 'sums' ? 'cross entropy' : 'importance sampling, because the server averages';
  const unchecked = `the server reports no gradient norm: unchecked${seam.moved === null ? '' : ' except for its sign'}`;
  const checked = seam.isChecked ? 'the gradient is checked' : unchecked;
  const begins = newModel.beginsFrom === null ? [] : [`It begins with the weights at ${newModel.beginsFrom}.`];
  return [
    `tinker: ${newModel.baseModel} at ${baseUrl} (profile ${profile.name}, wire ${client.wire}): ${describeWeights(profile, newModel.rank)}, by ${sums}; ${checked}.`,
    ...begins,
    ...describeUnhonoured(profile, seam.encoding === 'sums', optimizer.maxGradNorm > 0),
  ].join(' ');
}

function describeWeights({ trains }: Profile, rank: number): string {
  if (rank === 0) return 'all weights';
  return trains === null
    ? `an adapter of rank ${rank}`
    : `all weights, because it makes no adapters (tinker.rank is ${rank})`;
}

function describeUnhonoured({ name, adam }: Profile, addsUp: boolean, clips: boolean): string[] {
  const unknown =
    adam === 'unknown'
      ? [`Whether it takes Adam's constants and weight decay${clips ? ', and clips gradients,' : ''} is not known.`]
      : [];
  const isRateOnly = adam === 'rate only if it adds up' && addsUp;
  const rateOnly = isRateOnly
    ? [`This ${name} server takes only the rate of Adam. It sets betas, eps and weight decay itself.`]
    : [];
  return [...unknown, ...rateOnly];
}
