import { dropEpisode, requireEpisode, findGroup, requireRecord } from './fold-episodes.js';
import {
  coverGroup,
  defaultPolicy,
  episodePart,
  groupPart,
  lineOf,
  settleEpisode,
  settleGroup,
  takeEpisode,
  takeGroup,
} from './policies.js';
import type { EvaluationRecord, ManifestRecord, OutcomeRecord, PartDroppedRecord, RewoundRecord } from './records.js';
import { emptyAccount } from './shares.js';
import { scheduleOf, type LedgerState, type PolicyLine, type DrawState } from './state.js';

/** Applies manifests and their outcomes, which decide the fate of episodes. */

export function applyManifest(state: LedgerState, record: ManifestRecord): void {
  const { step, policy = defaultPolicy } = record;
  const line = lineOf(state, policy);
  requireRecord(step > line.step, `the manifest of step ${step} comes after that of step ${line.step}`);
  line.manifests.set(step, record);
  line.step = step;
  if (record.shares !== undefined) line.shares = record.shares;
  line.highestStep = Math.max(line.highestStep, step);
  for (const { groupId } of record.idle ?? []) {
    if (!state.finished.has(groupId)) coverGroup(findGroup(state, groupId), policy, step);
  }
  for (const { groupId, episodes } of record.groups) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    takeGroup(group, policy, step);
    for (const { episodeId } of episodes) takeEpisode(group, requireEpisode(state, episodeId), policy);
  }
}

export function applyOutcome(state: LedgerState, record: OutcomeRecord): void {
  const line = lineOf(state, record.policy);
  const outcomes = line.outcomes.get(record.step) ?? [];
  line.outcomes.set(record.step, outcomes);
  requireRecord(outcomes[record.index] === undefined, `optimizer step ${record.step}.${record.index} has two outcomes`);
  outcomes[record.index] = record;
  const manifest = line.manifests.get(record.step);
  if (manifest !== undefined && hasAllOutcomes(line, record.step)) concludeStep(state, manifest);
}

/**
 * Returns whether every optimizer step of a step has its outcome. This is also true if the file with its manifest was
 * removed.
 */
export function hasAllOutcomes({ manifests, outcomes }: PolicyLine, step: number): boolean {
  const manifest = manifests.get(step);
  if (manifest === undefined) return true;
  const known = outcomes.get(step) ?? [];
  return manifest.optimizerSteps.every((_groups, index) => known[index] !== undefined);
}

/**
 * Applies the last outcome of a step. Every episode of the step is then trained, or dropped for the reason why it was
 * left out.
 */
function concludeStep(state: LedgerState, manifest: ManifestRecord): void {
  const { policy = defaultPolicy } = manifest;
  const outcomes = lineOf(state, policy).outcomes.get(manifest.step) ?? [];
  const reasons = new Map(outcomes.flatMap((outcome) => outcome?.leftOut ?? []).map((left) => [left.episodeId, left]));
  for (const { groupId, episodes } of manifest.groups) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    const isHeld = manifest.optimizerSteps.some(
      (groupIds, index) => outcomes[index]?.isApplied === true && groupIds.includes(groupId),
    );
    for (const { episodeId } of episodes) {
      const episode = requireEpisode(state, episodeId);
      const found = episodePart(episode, policy).state;
      requireRecord(found === 'assigned', `the step of episode "${episodeId}" ended while it was ${found}`);
      settleEpisode(episode, policy, reasons.get(episodeId)?.reason ?? (isHeld ? undefined : 'non_finite_gradient'));
    }
    settleGroup(group, policy, isHeld ? 'trained' : 'non_finite_gradient');
    const { draw, tryIndex, expiries, share } = group;
    const { draws } = scheduleOf(state, share);
    if (draws.get(draw)?.tryIndex === tryIndex) draws.set(draw, drawState({ tryIndex, expiries, fate: 'over' }));
  }
}

export function applyPartDropped(state: LedgerState, { groupId, policy, reason }: PartDroppedRecord): void {
  const group = findGroup(state, groupId);
  const { fate } = groupPart(group, policy);
  const isOpen = group.parts?.has(policy) === true && fate === undefined;
  requireRecord(isOpen, `the part of "${policy}" in group "${groupId}" was dropped while it was ${fate ?? 'sampled'}`);
  for (const { episodeId } of group.places) {
    if (episodeId !== undefined) settleEpisode(requireEpisode(state, episodeId), policy, reason);
  }
  settleGroup(group, policy, reason);
}

export function applyEvaluation(state: LedgerState, record: EvaluationRecord): void {
  lineOf(state, record.policy).evaluations.set(record.step, record);
  for (const groupId of record.groupIds) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    requireRecord(group.fate === undefined, `group "${groupId}" was evaluated after it was ${group.fate}`);
    for (const { episodeId } of group.places) {
      if (episodeId === undefined) continue;
      const episode = requireEpisode(state, episodeId);
      if (episode.state === 'pooled') episode.state = 'evaluated';
      else dropEpisode(state, episode, { reason: 'group_expired', isCounted: false });
    }
    group.fate = 'evaluated';
  }
}

/** Makes the manifests after the step void, because the weights that their episodes trained are discarded. */
export function applyRewound(state: LedgerState, { toStep, policy = defaultPolicy }: RewoundRecord): void {
  const line = lineOf(state, policy);
  for (const manifest of [...line.manifests.values()].filter(({ step }) => step > toStep)) {
    for (const { groupId, episodes } of manifest.groups) {
      if (state.finished.has(groupId)) continue;
      settleGroup(findGroup(state, groupId), policy, 'rewound');
      for (const { episodeId } of episodes) {
        const episode = requireEpisode(state, episodeId);
        if (episodePart(episode, policy).state !== 'dropped') settleEpisode(episode, policy, 'rewound');
      }
    }
    line.manifests.delete(manifest.step);
    line.outcomes.delete(manifest.step);
  }
  for (const step of line.checkpoints) if (step > toStep) line.checkpoints.delete(step);
  for (const step of line.evaluations.keys()) if (step > toStep) line.evaluations.delete(step);
  line.shares = line.manifests.get(toStep)?.shares ?? emptyAccount;
  line.step = Math.min(line.step, toStep);
}

const known = new Map<string, DrawState>();

/**
 * Returns the same object for equal draws. This saves memory, because a long run remembers every draw and nearly all of
 * them are over.
 */
export function drawState({ tryIndex, expiries, fate }: DrawState): DrawState {
  const name = `${tryIndex} ${expiries} ${fate}`;
  const found = known.get(name) ?? Object.freeze({ tryIndex, expiries, fate });
  if (known.size < mostKnown) known.set(name, found);
  return found;
}

const mostKnown = 1000;
