import { ConfigError, JudgeError, Outage } from '@agentjet/core';
import type { onOutage as outageRules } from '../shared-settings.js';

/** How an episode is treated if its judge cannot be reached. It is never rewarded. */
export type OnOutage = (typeof outageRules)[number];

export type VoteOptions = {
  readonly votes: number;
  readonly onOutage: OnOutage;
};

/**
 * Asks for all votes concurrently and waits for all of them. Throws the first error if a vote failed, so no reward is
 * computed from only some of the votes.
 */
export async function askVotes<Vote>(
  { votes, onOutage }: VoteOptions,
  ask: (vote: number) => Promise<Vote>,
): Promise<readonly Vote[]> {
  const settled = await Promise.allSettled(Array.from({ length: votes }, (_, vote) => ask(vote)));
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw asLeftOut(failed.reason, onOutage);
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** With `drop`, the episode is left out at once. With `stop`, the run ends. */
function asLeftOut(error: unknown, onOutage: OnOutage): unknown {
  if (onOutage === 'pause' || !(error instanceof Outage)) return error;
  if (onOutage === 'drop') return new JudgeError('judge_unavailable', error.message);
  const repair =
    'Check its quota, key and address, then continue with --resume. With on_outage: pause, the run waits for the judge.';
  return new ConfigError(
    'judge_unavailable',
    `The judge cannot be reached, and its on_outage is stop: ${error.message}. ${repair}`,
  );
}
