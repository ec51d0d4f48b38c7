import { LedgerError } from './ledger-error.js';
import { membersOf, seatStateOf } from './places.js';
import type {
  DropRecord,
  EndRecord,
  GiveUpRecord,
  GroupDroppedRecord,
  IdleGroup,
  LedgerRecord,
  ManifestGroup,
  Score,
} from './records.js';
import type { NewGroup } from './requests.js';
import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState, Place } from './state.js';

/** Checks that a Ledger makes before a request becomes a record. */

export function requireReward(episodeId: string, reward: number | null): void {
  if (reward === null || Number.isFinite(reward)) return;
  throw new LedgerError('bad_reward', `The reward of episode "${episodeId}" is ${reward}; it must be a finite number.`);
}

/** Throws LedgerError `bad_reward` unless each reward is finite. */
export function requireRewards(
  episodeId: string,
  { rewards, turnRewards }: Pick<EndRecord, 'rewards' | 'turnRewards'>,
): void {
  if (rewards === undefined && turnRewards === undefined) return;
  requireFinite(episodeId, { rewards, turnRewards });
}

function requireFinite(
  episodeId: string,
  { rewards = {}, turnRewards = [] }: { readonly [Key in 'rewards' | 'turnRewards']: EndRecord[Key] | undefined },
): void {
  for (const reward of [...Object.values(rewards), ...turnRewards.map(({ value }) => value)])
    requireReward(episodeId, reward);
}

/**
 * Throws LedgerError `unknown_group` if the id is already in use, and `bad_rules` if `numPlaces` is not a whole number
 * of at least 1.
 */
export function requireNewGroup(state: LedgerState, { groupId, numPlaces }: NewGroup): void {
  if (state.groups.has(groupId) || state.finished.has(groupId)) {
    throw new LedgerError('unknown_group', `The group "${groupId}" exists already; give each draw another id.`);
  }
  if (Number.isInteger(numPlaces) && numPlaces >= 1) return;
  throw new LedgerError('bad_rules', `numPlaces is ${numPlaces}; it must be a whole number of at least 1.`);
}

/**
 * Returns the place if it may be claimed. Throws LedgerError `unknown_place` if the group has no such place, and
 * `group_over` if the place is not open.
 */
export function requireOpenSeat(
  state: LedgerState,
  group: Readonly<LedgerGroup>,
  { place, rules }: { readonly place: number; readonly rules: LedgerRules },
): Place {
  const { groupId, places, fate } = group;
  const seat = places[place];
  if (seat === undefined)
    throw new LedgerError('unknown_place', `Group "${groupId}" has no place ${place}; it has ${places.length}.`);
  const found = fate ?? seatStateOf(state, group, { place: seat, rules });
  if (found === 'open') return seat;
  throw new LedgerError('group_over', `Place ${place} of group "${groupId}" cannot be claimed: it is ${found}.`);
}

export const notWhole = (groupId: string, ended: readonly string[]): LedgerError =>
  new LedgerError(
    'not_whole_group',
    `Group "${groupId}" is scored as a whole, once no place is open or running. Its ended episodes: ${ended.join(', ') || 'none'}.`,
  );

/** Throws LedgerError `revision_conflict` unless `replaces` is the revision of the group's current rewards. */
export function requireReplaced({ groupId, scoreRevision }: Readonly<LedgerGroup>, replaces: string | null): void {
  if (scoreRevision === replaces) return;
  const has = scoreRevision === null ? 'no rewards of a revision' : `revision "${scoreRevision}"`;
  throw new LedgerError(
    'revision_conflict',
    `Group "${groupId}" has ${has}, not ${JSON.stringify(replaces)}. Read it again.`,
  );
}

export function requireSameEnd(episode: Readonly<LedgerEpisode>, bodyHash: string): Readonly<LedgerEpisode> {
  if (episode.end?.bodyHash === bodyHash) return episode;
  const { status, reward } = episode.end ?? {};
  throw new LedgerError(
    'ended_differently',
    `Episode "${episode.episodeId}" has already ended as ${status} with reward ${reward}, and this end differs.`,
  );
}

export function isForExactly(episodeIds: readonly string[], scores: readonly Score[]): boolean {
  const scored = new Set(scores.map(({ episodeId }) => episodeId));
  return scored.size === scores.length && scored.size === episodeIds.length && episodeIds.every((id) => scored.has(id));
}

export const toManifestGroup = (state: LedgerState, group: Readonly<LedgerGroup>): ManifestGroup => ({
  groupId: group.groupId,
  ...(group.rank !== undefined && { rank: group.rank }),
  ...(group.isDrawn === true && { draw: group.draw }),
  episodes: rewardsOf(state, group),
});

function rewardsOf(state: LedgerState, group: Readonly<LedgerGroup>): ManifestGroup['episodes'] {
  return membersOf(state, group).map(({ episodeId, place, reward, isSuccess, rewards, end }) => ({
    episodeId,
    place,
    reward: reward ?? 0,
    ...(isSuccess !== null && { isSuccess }),
    ...(rewards !== undefined && { rewards }),
    ...(end?.turnRewards !== undefined && { turnRewards: end.turnRewards }),
  }));
}

export const toIdleGroup = ({ groupId, rank, draw }: Readonly<LedgerGroup>): IdleGroup => ({
  groupId,
  ...(rank !== undefined && { rank }),
  draw,
});

/** Returns whether a record has no consequences for other episodes or groups. */
export const hasNoConsequence = ({ kind }: LedgerRecord): boolean => kind === 'call' || kind === 'memo';

/** Returns whether a record may drop running attempts. */
export function isDropping(record: LedgerRecord): record is DropRecord | GiveUpRecord | GroupDroppedRecord {
  return record.kind === 'drop' || record.kind === 'give_up' || record.kind === 'group_dropped';
}
