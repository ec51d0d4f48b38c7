import type { DropReason } from './drop-reasons.js';
import { requireRecord } from './fold-episodes.js';
import type { GroupFate, GroupRecord } from './records.js';
import { emptyAccount } from './shares.js';
import type { LedgerEpisode, LedgerGroup, LedgerState, PolicyLine } from './state.js';

/**
 * A server may hold several models, each a policy with its own steps and weights. Every policy that trains has a *part* in each
 * group and in each of its episodes: the part's fate is the policy's own, while the place is the episode's. Once any part is in a
 * manifest, the place is closed for all: nobody tries it again, and its rewards stay. A group of a run with one policy has no
 * parts; what became of it is said of the group itself.
 */

/** The policy of a run that names none. */
export const defaultPolicy = 'default';

/** What became of one policy's part of a group. Fate and step are undefined while its step is not decided. */
export type GroupPart = { readonly fate: GroupFate | undefined; readonly step: number | undefined };

/** What became of one policy's part of an episode. */
export type EpisodePart = {
  readonly state: LedgerEpisode['state'];
  readonly reason: DropReason | undefined;
};

const onlyDefault: readonly string[] = [defaultPolicy];

export const policiesOf = ({ policies = onlyDefault }: Pick<GroupRecord, 'policies'>): readonly string[] => policies;

/** Whether a record, or a call, is of the policy. */
export const isOf = ({ policy = defaultPolicy }: { readonly policy?: string }, name: string): boolean =>
  policy === name;

/** How far the weights of a policy are. The state itself says it of the default policy. */
export function lineOf(state: LedgerState, policy: string = defaultPolicy): PolicyLine {
  if (policy === defaultPolicy) return state;
  const known = state.lines.get(policy);
  if (known !== undefined) return known;
  const line = createLine();
  state.lines.set(policy, line);
  return line;
}

/** For a record: the default policy is not named. */
export const named = (policy: string): { readonly policy?: string } => (policy === defaultPolicy ? {} : { policy });

export function createLine(): PolicyLine {
  return {
    shares: emptyAccount,
    manifests: new Map(),
    outcomes: new Map(),
    step: 0,
    highestStep: 0,
    checkpoints: new Set(),
    evaluations: new Map(),
    incarnation: 0,
  };
}

/** What became of a policy's part of a group. */
export function groupPart(group: Readonly<LedgerGroup>, policy: string): GroupPart {
  return group.parts?.get(policy) ?? group;
}

export function episodePart(episode: Readonly<LedgerEpisode>, policy: string): EpisodePart {
  return episode.parts?.get(policy) ?? episode;
}

/** The step of the policy takes its part of the group, and the places are closed. */
export function takeGroup(group: LedgerGroup, policy: string, step: number): void {
  const { groupId, policies } = group;
  requireRecord(policiesOf(group).includes(policy), `group "${groupId}" has no part for the policy "${policy}"`);
  const { fate } = groupPart(group, policy);
  requireRecord(fate === undefined, `group "${groupId}" is in a manifest although it is ${fate}`);
  if (policies === undefined) group.step = step;
  else openParts(group, policies).set(policy, { fate: 'assigned', step });
  group.fate = 'assigned';
}

/** The step of the policy covers a dropped group: it reports on it. */
export function coverGroup(group: LedgerGroup, policy: string, step: number): void {
  const { fate } = groupPart(group, policy);
  const isOver = fate !== undefined && fate !== 'assigned';
  requireRecord(isOver, `group "${group.groupId}" is idle in a manifest although it is ${fate ?? 'sampled'}`);
  if (group.policies === undefined) {
    group.step = step;
    return;
  }
  group.parts ??= new Map(group.policies.map((name) => [name, { fate: group.fate, step: undefined }]));
  group.parts.set(policy, { fate, step });
}

export function takeEpisode(group: LedgerGroup, episode: LedgerEpisode, policy: string): void {
  const { state } = episodePart(episode, policy);
  requireRecord(state === 'pooled', `episode "${episode.episodeId}" is in a manifest while ${state}`);
  if (group.policies !== undefined) {
    episode.parts ??= new Map(group.policies.map((name) => [name, { state: 'pooled', reason: undefined }]));
    episode.parts.set(policy, { state: 'assigned', reason: undefined });
  }
  episode.state = 'assigned';
}

/** The step of the policy is over. */
export function settleGroup(group: LedgerGroup, policy: string, fate: GroupFate): void {
  if (group.parts === undefined) group.fate = fate;
  else {
    group.parts.set(policy, { fate, step: group.parts.get(policy)?.step });
    group.fate = fateOfAll([...group.parts.values()].map((part) => part.fate));
  }
}

/** The episode was trained, or dropped for a reason. */
export function settleEpisode(episode: LedgerEpisode, policy: string, reason: DropReason | undefined): void {
  const part: EpisodePart = { state: reason === undefined ? 'trained' : 'dropped', reason };
  if (episode.parts === undefined) {
    Object.assign(episode, part);
    return;
  }
  episode.parts.set(policy, part);
  const parts = [...episode.parts.values()];
  const open = parts.find(({ state }) => state === 'pooled' || state === 'assigned');
  const { state, reason: first } = parts.find((each) => each.state === 'trained') ?? part;
  Object.assign(episode, open === undefined ? { state, reason: first } : { state: 'assigned', reason: undefined });
}

function openParts(group: LedgerGroup, policies: readonly string[]): Map<string, GroupPart> {
  group.parts ??= new Map(policies.map((name) => [name, { fate: undefined, step: undefined }]));
  return group.parts;
}

/** Trained if any part is; assigned while one is not over. */
function fateOfAll(fates: readonly (GroupFate | undefined)[]): GroupFate | undefined {
  if (fates.some((fate) => fate === undefined || fate === 'assigned')) return 'assigned';
  return fates.find((fate) => fate === 'trained') ?? fates[0];
}
