import { shortenAnswer } from '@agentjet/records';
import type { OpenEpisode } from '@agentjet/rollout';

type Times = {
  /** When the tracker was opened, which the first call did, in milliseconds since 1970. */
  readonly openedAt: number;
  /** How long the whole episode took, if its client says it. */
  readonly seconds: number | undefined;
};

/** Returns what an end record holds of an episode's calls, except their tokens. */
export function toEndContent(
  { packTurns, stats, calls, ignoredParameters, answer }: ReturnType<OpenEpisode['finishRows']>,
  { openedAt, seconds }: Times,
): Record<string, unknown> {
  const beganAt = seconds === undefined ? openedAt : Math.min(openedAt, Math.round(Date.now() - seconds * 1000));
  const content: Record<string, unknown> = {
    turns: packTurns(openedAt - beganAt),
    stats: unlessZero(stats),
    calls: unlessZero(calls),
    began_at: beganAt,
  };
  // Keys are added one by one, because a spread would take longer than packing a row.
  if (answer !== undefined) content['answer'] = shortenAnswer(answer);
  if (hasAny(ignoredParameters)) content['ignored_parameters'] = ignoredParameters;
  return content;
}

/** Returns only the counters that are not zero. Most are zero, and a shorter record takes less time to write. */
function unlessZero(counts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const counted: Record<string, unknown> = {};
  for (const name in counts) {
    const { [name]: count } = counts;
    if (typeof count === 'object' && count !== null ? hasAny(count) : count !== 0) counted[name] = count;
  }
  return counted;
}

function hasAny(counts: object): boolean {
  for (const _name in counts) return true;
  return false;
}
