import { JudgeError, Outage } from '@agentjet/core';

export type VoteOptions = {
  readonly votes: number;
  readonly onOutage: 'pause' | 'drop';
};

/** Asks for all votes at once and waits for all. Throws the first error if one failed, so that no reward rests on some of them. */
export async function askVotes<Vote>(
  { votes, onOutage }: VoteOptions,
  ask: (vote: number) => Promise<Vote>,
): Promise<readonly Vote[]> {
  const settled = await Promise.allSettled(Array.from({ length: votes }, (_, vote) => ask(vote)));
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw asLeftOut(failed.reason, onOutage);
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** With `drop`, an episode whose judge is away is left out instead of waiting. It is never rewarded. */
function asLeftOut(error: unknown, onOutage: VoteOptions['onOutage']): unknown {
  if (onOutage === 'pause' || !(error instanceof Outage)) return error;
  return new JudgeError('judge_unavailable', error.message);
}
