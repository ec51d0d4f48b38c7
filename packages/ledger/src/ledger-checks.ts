import { LedgerError } from './ledger-error.js';
import { membersOf } from './places.js';
import type {
  DropRecord,
  EndRecord,
  GiveUpRecord,
  GroupDroppedRecord,
  LedgerRecord,
  ManifestGroup,
  Score,
} from './records.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/** What a Ledger asks of a request before it becomes a record. */

export function requireReward(episodeId: string, reward: number | null): void {
  if (reward === null || Number.isFinite(reward)) return;
  throw new LedgerError('bad_reward', `The reward of episode "${episodeId}" is ${reward}; it must be a finite number.`);
}

/** Throws LedgerError `bad_reward` unless each of them is finite. */
export function requireRewards(
  episodeId: string,
  { rewards = {}, turnRewards = [] }: Pick<EndRecord, 'rewards' | 'turnRewards'>,
): void {
  for (const reward of [...Object.values(rewards), ...turnRewards.map(({ value }) => value)])
    requireReward(episodeId, reward);
}

export function requireSameEnd(episode: Readonly<LedgerEpisode>, bodyHash: string): Readonly<LedgerEpisode> {
  if (episode.end?.bodyHash === bodyHash) return episode;
  const { status, reward } = episode.end ?? {};
  throw new LedgerError(
    'ended_differently',
    `Episode "${episode.episodeId}" has ended already, as ${status} with reward ${reward}, and this end differs.`,
  );
}

export function isForExactly(episodeIds: readonly string[], scores: readonly Score[]): boolean {
  const scored = new Set(scores.map(({ episodeId }) => episodeId));
  return scored.size === scores.length && scored.size === episodeIds.length && episodeIds.every((id) => scored.has(id));
}

export function rewardsOf(state: LedgerState, group: Readonly<LedgerGroup>): ManifestGroup['episodes'] {
  return membersOf(state, group).map(({ episodeId, reward, rewards, end }) => ({
    episodeId,
    reward: reward ?? 0,
    ...(rewards !== undefined && { rewards }),
    ...(end?.turnRewards !== undefined && { turnRewards: end.turnRewards }),
  }));
}

/** Whether a record may drop attempts that are running. */
export function isDropping(record: LedgerRecord): record is DropRecord | GiveUpRecord | GroupDroppedRecord {
  return record.kind === 'drop' || record.kind === 'give_up' || record.kind === 'group_dropped';
}
