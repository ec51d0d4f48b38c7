import { givesUpPlace, isLost, type DropReason } from './drop-reasons.js';
import { LedgerError } from './ledger-error.js';
import type { EndRecord, ScoreRecord } from './records.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/** Throws LedgerError `broken_record` unless the condition is true. */
export function requireRecord(condition: boolean, problem: string): asserts condition {
  if (condition) return;
  throw new LedgerError('broken_record', `The ledger contradicts itself: ${problem}.`);
}

export function findGroup(state: LedgerState, groupId: string): LedgerGroup {
  const group = state.groups.get(groupId);
  requireRecord(group !== undefined, `a record names group "${groupId}", which no record made`);
  return group;
}

export function requireEpisode(state: LedgerState, episodeId: string): LedgerEpisode {
  const episode = state.episodes.get(episodeId);
  requireRecord(episode !== undefined, `a record names episode "${episodeId}", which no record claimed`);
  return episode;
}

export function applyEnd(state: LedgerState, record: EndRecord): void {
  const episode = requireEpisode(state, record.episodeId);
  requireRecord(episode.end === undefined, `episode "${record.episodeId}" ended twice`);
  requireRecord(episode.state === 'running', `episode "${record.episodeId}" ended after it was ${episode.state}`);
  episode.end = withoutContent(record);
  if (record.status === 'outage') return dropEpisode(state, episode, { ...record, reason: 'outage' });
  const isZero = record.status === 'failed' && record.policy === 'zero_reward';
  if (record.status === 'failed' && !isZero) return dropEpisode(state, episode, { ...record, reason: 'failed' });
  episode.reward = isZero ? 0 : record.reward;
  episode.isSuccess = isZero ? false : record.isSuccess;
  episode.rewards = record.rewards;
  episode.rewardRevision = record.revision;
  episode.state = episode.reward === null ? 'ended' : 'pooled';
}

/**
 * Returns the record without its content and bytes, which are large and which few readers need. It copies the keys one
 * by one, because it takes longer to remove two keys from a copy than to apply the rest of the record.
 */
function withoutContent(record: EndRecord): Omit<EndRecord, 'content' | 'bytes'> {
  const { rewards, turnRewards } = record;
  const end = {
    kind: record.kind,
    groupId: record.groupId,
    episodeId: record.episodeId,
    status: record.status,
    reward: record.reward,
    isSuccess: record.isSuccess,
    bodyHash: record.bodyHash,
    policy: record.policy,
    revision: record.revision,
    tokens: record.tokens,
    seconds: record.seconds,
    isCounted: record.isCounted,
    isSuspect: record.isSuspect,
  };
  if (rewards === undefined && turnRewards === undefined) return end;
  return { ...end, ...(rewards !== undefined && { rewards }), ...(turnRewards !== undefined && { turnRewards }) };
}

export function applyScore(state: LedgerState, record: ScoreRecord): void {
  const group = findGroup(state, record.groupId);
  requireRecord(group.fate === undefined, `group "${record.groupId}" was scored after it was ${group.fate}`);
  for (const { episodeId, reward, isSuccess, rewards } of record.scores) {
    const episode = requireEpisode(state, episodeId);
    const isScorable = episode.state === 'ended' || episode.state === 'pooled';
    requireRecord(isScorable, `episode "${episodeId}" was scored while it was ${episode.state}`);
    Object.assign(episode, { reward, isSuccess, rewards, state: 'pooled' });
    if (record.revision !== null) episode.rewardRevision = record.revision;
  }
  if (record.revision !== null) group.scoreRevision = record.revision;
}

type Drop = { readonly reason: DropReason; readonly isCounted: boolean };

/** Drops an episode and frees its place, or gives the place up if the reason requires it. */
export function dropEpisode(state: LedgerState, episode: LedgerEpisode, { reason, isCounted }: Drop): void {
  const isOpen = episode.state === 'running' || episode.state === 'ended' || episode.state === 'pooled';
  requireRecord(isOpen, `episode "${episode.episodeId}" was dropped after it was ${episode.state}`);
  episode.state = 'dropped';
  episode.reason = reason;
  const place = findGroup(state, episode.groupId).places[episode.place];
  if (place === undefined || place.episodeId !== episode.episodeId) return;
  place.episodeId = undefined;
  if (givesUpPlace(reason)) place.isGivenUp = true;
  else if (isLost(reason) && isCounted) place.losses++;
}
