import type { DropReason } from './drop-reasons.js';
import { dropEpisode, findEpisode, findGroup, requireRecord } from './fold-episodes.js';
import type { EvaluationRecord, ManifestRecord, OutcomeRecord, RewoundRecord } from './records.js';
import { emptyAccount } from './shares.js';
import { scheduleOf, type LedgerState } from './state.js';

/** How manifests and their outcomes decide what becomes of episodes. */

export function applyManifest(state: LedgerState, record: ManifestRecord): void {
  requireRecord(record.step > state.step, `the manifest of step ${record.step} comes after that of step ${state.step}`);
  state.manifests.set(record.step, record);
  state.step = record.step;
  if (record.shares !== undefined) state.shares = record.shares;
  state.highestStep = Math.max(state.highestStep, record.step);
  for (const { groupId, episodes } of record.groups) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    requireRecord(group.fate === undefined, `group "${groupId}" is in a manifest although it is ${group.fate}`);
    group.fate = 'assigned';
    group.step = record.step;
    for (const { episodeId } of episodes) {
      const episode = findEpisode(state, episodeId);
      requireRecord(episode.state === 'pooled', `episode "${episodeId}" is in a manifest while ${episode.state}`);
      episode.state = 'assigned';
    }
  }
}

export function applyOutcome(state: LedgerState, record: OutcomeRecord): void {
  const outcomes = state.outcomes.get(record.step) ?? [];
  state.outcomes.set(record.step, outcomes);
  requireRecord(outcomes[record.index] === undefined, `optimizer step ${record.step}.${record.index} has two outcomes`);
  outcomes[record.index] = record;
  const manifest = state.manifests.get(record.step);
  if (manifest !== undefined && hasAllOutcomes(state, record.step)) concludeStep(state, manifest);
}

/** Whether every optimizer step of a step has its outcome. True also if its manifest is gone with its file. */
export function hasAllOutcomes(state: LedgerState, step: number): boolean {
  const manifest = state.manifests.get(step);
  if (manifest === undefined) return true;
  const outcomes = state.outcomes.get(step) ?? [];
  return manifest.optimizerSteps.every((_groups, index) => outcomes[index] !== undefined);
}

/** With the last outcome, every episode of the step is trained, or dropped for the reason that kept it out. */
function concludeStep(state: LedgerState, manifest: ManifestRecord): void {
  const outcomes = state.outcomes.get(manifest.step) ?? [];
  const reasons = new Map(outcomes.flatMap((outcome) => outcome?.leftOut ?? []).map((left) => [left.episodeId, left]));
  for (const { groupId, episodes } of manifest.groups) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    const isHeld = manifest.optimizerSteps.some(
      (groupIds, index) => outcomes[index]?.isApplied === true && groupIds.includes(groupId),
    );
    for (const { episodeId } of episodes) {
      const reason = reasons.get(episodeId)?.reason ?? (isHeld ? undefined : 'non_finite_gradient');
      settle(state, episodeId, reason);
    }
    group.fate = isHeld ? 'trained' : 'non_finite_gradient';
    const { draw, tryIndex, expiries, share } = group;
    const { draws } = scheduleOf(state, share);
    if (draws.get(draw)?.tryIndex === tryIndex) draws.set(draw, { tryIndex, expiries, fate: 'over' });
  }
}

function settle(state: LedgerState, episodeId: string, reason: DropReason | undefined): void {
  const episode = findEpisode(state, episodeId);
  requireRecord(episode.state === 'assigned', `the step of episode "${episodeId}" ended while it was ${episode.state}`);
  episode.state = reason === undefined ? 'trained' : 'dropped';
  episode.reason = reason;
}

export function applyEvaluation(state: LedgerState, record: EvaluationRecord): void {
  state.evaluations.set(record.step, record);
  for (const groupId of record.groupIds) {
    if (state.finished.has(groupId)) continue;
    const group = findGroup(state, groupId);
    requireRecord(group.fate === undefined, `group "${groupId}" was evaluated after it was ${group.fate}`);
    for (const { episodeId } of group.places) {
      if (episodeId === undefined) continue;
      const episode = findEpisode(state, episodeId);
      if (episode.state === 'pooled') episode.state = 'evaluated';
      else dropEpisode(state, episode, { reason: 'group_expired', isCounted: false });
    }
    group.fate = 'evaluated';
  }
}

/** Manifests after the step are void: their episodes were in weights that nobody will ever use again. */
export function applyRewound(state: LedgerState, { toStep }: RewoundRecord): void {
  for (const manifest of [...state.manifests.values()].filter(({ step }) => step > toStep)) {
    for (const { groupId, episodes } of manifest.groups) {
      if (state.finished.has(groupId)) continue;
      findGroup(state, groupId).fate = 'rewound';
      for (const { episodeId } of episodes) {
        const episode = findEpisode(state, episodeId);
        if (episode.state !== 'dropped') Object.assign(episode, { state: 'dropped', reason: 'rewound' });
      }
    }
    state.manifests.delete(manifest.step);
    state.outcomes.delete(manifest.step);
  }
  for (const step of state.checkpoints) if (step > toStep) state.checkpoints.delete(step);
  for (const step of state.evaluations.keys()) if (step > toStep) state.evaluations.delete(step);
  state.shares = state.manifests.get(toStep)?.shares ?? emptyAccount;
  state.step = Math.min(state.step, toStep);
}
