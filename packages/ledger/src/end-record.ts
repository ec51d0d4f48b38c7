import type { EndRecord } from './records.js';
import type { NewEnd } from './requests.js';

type EndFacts = Pick<EndRecord, 'groupId' | 'episodeId' | 'reward' | 'bodyHash' | 'isCounted' | 'isSuspect'> &
  /** Defaults for an end that gives no other values. */
  Pick<EndRecord, 'policy' | 'revision'>;

/**
 * Returns the record of an accepted end. Keys are copied one by one, because spreading optional keys takes longer than
 * all other work here.
 */
export function toEndRecord(end: NewEnd, facts: EndFacts): EndRecord {
  const record: { -readonly [Key in keyof EndRecord]: EndRecord[Key] } = {
    kind: 'end',
    groupId: facts.groupId,
    episodeId: facts.episodeId,
    status: facts.isSuspect ? 'failed' : end.status,
    reward: facts.reward,
    isSuccess: end.isSuccess ?? null,
    bodyHash: facts.bodyHash,
    policy: end.policy ?? facts.policy,
    revision: end.revision ?? facts.revision,
    tokens: end.tokens ?? 0,
    seconds: end.seconds ?? 0,
    isCounted: facts.isCounted,
    isSuspect: facts.isSuspect,
  };
  if (end.rewards !== undefined) record.rewards = end.rewards;
  if (end.turnRewards !== undefined) record.turnRewards = end.turnRewards;
  if (end.content !== undefined) record.content = end.content;
  if (end.bytes !== undefined) record.bytes = end.bytes;
  return record;
}
