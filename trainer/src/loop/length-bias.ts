import type { LeftOutEpisode } from './left-out.js';
import type { AttemptLength, TrainingGroup } from './training-group.js';

/**
 * Whether long episodes are trained as often as short ones. A loop that leaves out what comes late trains the short ones, and a
 * model whose reward is correlated with length then learns the wrong thing. Both means are compared with those of all attempts that were
 * begun: against the ended ones alone the comparison would look even although long episodes are missing.
 */

type LengthBias = {
  /** Mean tokens of trained episodes over the mean of all attempts; 1: no bias. */
  readonly trained_over_begun_tokens?: number;
  readonly trained_over_begun_seconds?: number;
  /** Share of the attempts that were cut short. */
  readonly cut_attempts_share?: number;
};

/** Nothing if no group says how long its attempts were, or if all of them are trained and `isAlways` is false. */
export function measureLengthBias(
  groups: readonly TrainingGroup[],
  { leftOut, isAlways }: { readonly leftOut: readonly LeftOutEpisode[]; readonly isAlways: boolean },
): LengthBias {
  const begun = groups.flatMap(({ report }) => report?.attempts ?? []);
  const missing = new Set(leftOut.filter(({ reason }) => isForLength(reason)).map(({ episodeId }) => episodeId));
  const taken = new Set(groups.flatMap(({ episodes }) => episodes.map(({ episodeId }) => episodeId)));
  const trained = begun.filter(({ episodeId }) => taken.has(episodeId) && !missing.has(episodeId));
  if (trained.length === 0 || (trained.length === begun.length && !isAlways)) return {};
  return {
    ...quotient('trained_over_begun_tokens', meanOf(trained, 'tokens'), meanOf(begun, 'tokens')),
    ...quotient('trained_over_begun_seconds', meanOf(trained, 'seconds'), meanOf(begun, 'seconds')),
    cut_attempts_share: begun.filter(({ isCut }) => isCut).length / begun.length,
  };
}

/** A group without a gradient is a matter of its rewards, not of how long it took. */
function isForLength(reason: LeftOutEpisode['reason']): boolean {
  return reason === 'stale' || reason === 'overlong';
}

function quotient<N extends string>(name: N, above: number, below: number): { readonly [key in N]?: number } {
  return below === 0 ? {} : ({ [name]: above / below } as { readonly [key in N]: number });
}

function meanOf(attempts: readonly AttemptLength[], key: 'tokens' | 'seconds'): number {
  return attempts.reduce((sum, attempt) => sum + attempt[key], 0) / attempts.length;
}
