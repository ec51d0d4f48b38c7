import type { DropReason } from './drop-reasons.js';
import { requireRecord } from './fold-episodes.js';
import type { GroupFate, GroupRecord } from './records.js';
import { emptyAccount } from './shares.js';
import type { LedgerEpisode, LedgerGroup, LedgerState, PolicyLine } from './state.js';

/**
 * A server may have several models. Each is a policy with its own steps and weights. Every policy that trains has a
 * *part* in each group and in each of its episodes. Each part has its own fate, while the place belongs to the episode.
 * Once any part is in a manifest, the place is closed for all policies: the place is not tried again, and its rewards
 * stay. In a run with one policy a group has no parts, and the fate is a property of the group itself.
 */

/** The policy of a run whose configuration names no policies. */
export const defaultPolicy = 'default';

/** The fate of one policy's part of a group. Fate and step are undefined until its step is decided. */
export type GroupPart = { readonly fate: GroupFate | undefined; readonly step: number | undefined };

/** The fate of one policy's part of an episode. */
export type EpisodePart = {
  readonly state: LedgerEpisode['state'];
  readonly reason: DropReason | undefined;
};

const onlyDefault: readonly string[] = [defaultPolicy];

export const policiesOf = ({ policies = onlyDefault }: Pick<GroupRecord, 'policies'>): readonly string[] => policies;

/** Returns whether a record, or a call, belongs to the policy. */
export const isOf = ({ policy = defaultPolicy }: { readonly policy?: string }, name: string): boolean =>
  policy === name;

/** Returns the progress of a policy's weights. For the default policy it is the state itself. */
export function lineOf(state: LedgerState, policy: string = defaultPolicy): PolicyLine {
  if (policy === defaultPolicy) return state;
  const known = state.lines.get(policy);
  if (known !== undefined) return known;
  const line = createLine();
  state.lines.set(policy, line);
  return line;
}

/** Returns the policy as a field of a record, which omits the default policy. */
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

/** Returns the fate of a policy's part of a group. */
export function groupPart(group: Readonly<LedgerGroup>, policy: string): GroupPart {
  return group.parts?.get(policy) ?? group;
}

export function episodePart(episode: Readonly<LedgerEpisode>, policy: string): EpisodePart {
  return episode.parts?.get(policy) ?? episode;
}

/** Puts the policy's part of the group into a step, and closes the places. */
export function takeGroup(group: LedgerGroup, policy: string, step: number): void {
  const { groupId, policies } = group;
  requireRecord(policiesOf(group).includes(policy), `group "${groupId}" has no part for the policy "${policy}"`);
  const { fate } = groupPart(group, policy);
  requireRecord(fate === undefined, `group "${groupId}" is in a manifest although it is ${fate}`);
  if (policies === undefined) group.step = step;
  else openParts(group, policies).set(policy, { fate: 'assigned', step });
  group.fate = 'assigned';
}

/** Adds a dropped group to the step of the policy, so that the step reports on the group. */
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

/** Ends the step of the policy for a group. */
export function settleGroup(group: LedgerGroup, policy: string, fate: GroupFate): void {
  if (group.parts === undefined) group.fate = fate;
  else {
    group.parts.set(policy, { fate, step: group.parts.get(policy)?.step });
    group.fate = fateOfAll([...group.parts.values()].map((part) => part.fate));
  }
}

/** Marks the episode as trained, or as dropped for a reason. */
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

/** Returns `assigned` while any part is not over. After that, returns `trained` if any part is trained. */
function fateOfAll(fates: readonly (GroupFate | undefined)[]): GroupFate | undefined {
  if (fates.some((fate) => fate === undefined || fate === 'assigned')) return 'assigned';
  return fates.find((fate) => fate === 'trained') ?? fates[0];
}
