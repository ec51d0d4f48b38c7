import type { LeftOutEpisode } from './left-out.js';
import type { AttemptLength, TrainingGroup } from './training-group.js';

/**
 * These metrics show whether long episodes are trained as often as short ones. A loop that leaves out late episodes
 * trains mostly short ones. If the reward is correlated with length, the model then learns the wrong thing. The trained
 * episodes are compared with every attempt that was begun: if only the finished attempts counted, the missing long
 * episodes would not show.
 */

type LengthBias = {
  /** Mean tokens of the trained episodes divided by mean tokens of all attempts. The value 1 means no bias. */
  readonly trained_over_begun_tokens?: number;
  readonly trained_over_begun_seconds?: number;
  /** The share of attempts that something other than the agent ended. */
  readonly cut_attempts_share?: number;
};

/** Returns an empty object if no group reports its attempts, or if all attempts are trained and `isAlways` is false. */
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

/**
 * Whether the reason depends on the length of an episode. Other reasons do not: for example, a group has no gradient
 * because of its rewards.
 */
function isForLength(reason: LeftOutEpisode['reason']): boolean {
  return reason === 'stale' || reason === 'overlong';
}

function quotient<N extends string>(name: N, above: number, below: number): { readonly [key in N]?: number } {
  return below === 0 ? {} : ({ [name]: above / below } as { readonly [key in N]: number });
}

function meanOf(attempts: readonly AttemptLength[], key: 'tokens' | 'seconds'): number {
  return attempts.reduce((sum, attempt) => sum + attempt[key], 0) / attempts.length;
}
