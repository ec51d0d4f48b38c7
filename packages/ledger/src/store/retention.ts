import { hasAllOutcomes } from '../fold-steps.js';
import { attemptsOf, isMember } from '../places.js';
import { defaultPolicy, episodePart, groupPart, lineOf, policiesOf } from '../policies.js';
import type { FinishedEpisode, FinishedPart, FinishedRecord, LedgerRecord, ManifestRecord } from '../records.js';
import { scheduleOf, type LedgerEpisode, type LedgerGroup, type LedgerState } from '../state.js';
import { isLasting } from './entry.js';
import type { StoreEntry } from './store-entry.js';
import type { Store } from './store.js';
import type { StoreWriter } from './store-writer.js';
import type { Ledger } from '../ledger.js';

/**
 * Decides which files may be removed. A group is finished if it was dropped or evaluated, or if its step has all
 * outcomes and is not newer than the oldest checkpoint that is kept. A file may be removed if every group that its
 * records name is finished, including the groups of its manifests and outcomes. It is removed only after the records
 * that replace it are synced in another file.
 */

export type Retirement = {
  readonly files: readonly number[];
  /** Write these before the files are removed. */
  readonly finished: readonly FinishedRecord[];
  readonly carried: readonly StoreEntry[];
  /** Steps whose manifests are removed with the files. */
  readonly steps: readonly RetiredStep[];
};

export type RetiredStep = { readonly step: number; readonly policy: ManifestRecord['policy'] | undefined };

/** The store, the ledger and the writer, which the removal of old files changes. */
type RetiringStore = {
  readonly store: Pick<Store, 'files' | 'read' | 'remove'>;
  readonly ledger: Pick<Ledger, 'append' | 'state'>;
  readonly writer: Pick<StoreWriter, 'carry' | 'synced'>;
};

/** Removes the files that no kept checkpoint needs, after the records that replace them are synced. */
export async function retireFiles(
  { store, ledger, writer }: RetiringStore,
  oldest: number | OldestCheckpoint,
): Promise<void> {
  const plan = planRetirement(store, ledger.state, oldest);
  if (plan === undefined) return;
  if (plan.finished.length > 0) ledger.append(...plan.finished);
  writer.carry(plan.carried);
  await writer.synced();
  await store.remove(plan.files);
  forgetSteps(ledger.state, plan.steps);
}

/** Removes the manifests and outcomes of these steps from the state, because the store no longer has them. */
function forgetSteps(state: LedgerState, steps: readonly RetiredStep[]): void {
  for (const { step, policy } of steps) {
    const line = lineOf(state, policy);
    line.manifests.delete(step);
    line.outcomes.delete(step);
  }
}

export function planRetirement(
  store: Pick<Store, 'files' | 'read'>,
  state: LedgerState,
  oldest: number | OldestCheckpoint,
): Retirement | undefined {
  const oldestCheckpoint = typeof oldest === 'number' ? () => oldest : oldest;
  const sealed = store.files().filter(({ isSealed }) => isSealed);
  const old = sealed.flatMap(({ number }) => lookThrough(store, number, { state, oldestCheckpoint }) ?? []);
  if (old.length === 0) return undefined;
  const named = new Set(old.flatMap((file) => [...file.named]));
  const groups = [...named].flatMap((groupId) => state.groups.get(groupId) ?? []);
  return {
    files: old.map(({ file }) => file),
    finished: groups.map((group) => finishedRecord(state, group)),
    carried: old.flatMap(({ lasting }) => lasting).map((entry) => ({ ...entry, isCarried: true })),
    steps: old.flatMap(({ steps }) => steps),
  };
}

type OldFile = {
  readonly file: number;
  readonly named: ReadonlySet<string>;
  readonly lasting: readonly StoreEntry[];
  readonly steps: readonly RetiredStep[];
};

type Knowledge = { readonly state: LedgerState; readonly oldestCheckpoint: OldestCheckpoint };

/**
 * Returns the groups and steps that a file names and the records that must be kept, or undefined if the whole file must
 * be kept. Reading stops at the first record for which the whole file must be kept.
 */
function lookThrough(
  store: Pick<Store, 'read'>,
  file: number,
  { state, oldestCheckpoint }: Knowledge,
): OldFile | undefined {
  const named = new Set<string>();
  const lasting: StoreEntry[] = [];
  const steps: RetiredStep[] = [];
  for (const lane of ['events', 'carried', 'finished'] as const) {
    for (const entry of store.read(file, lane)) {
      if (!isDone(state, entry.record, oldestCheckpoint)) return undefined;
      for (const groupId of groupsNamed(state, entry.record)) named.add(groupId);
      if (isLasting(entry)) lasting.push(entry);
      if (entry.record.kind === 'manifest') steps.push({ step: entry.record.step, policy: entry.record.policy });
    }
  }
  return { file, named, lasting, steps };
}

/** Returns the oldest checkpoint of a policy that is kept. */
export type OldestCheckpoint = (policy: string) => number;

function isDone(state: LedgerState, record: LedgerRecord, oldestCheckpoint: OldestCheckpoint): boolean {
  const isDecision = record.kind === 'manifest' || record.kind === 'outcome';
  if (isDecision && record.step > oldestCheckpoint(record.policy ?? defaultPolicy)) return false;
  return groupsNamed(state, record).every((groupId) => isFinished(state, groupId, oldestCheckpoint));
}

function isFinished(state: LedgerState, groupId: string, oldestCheckpoint: OldestCheckpoint): boolean {
  const group = state.groups.get(groupId);
  if (group === undefined) return state.finished.has(groupId);
  if (group.fate === undefined || group.fate === 'assigned') return false;
  const parts = group.parts ?? new Map([[defaultPolicy, group]]);
  return [...parts].every(([policy, { fate, step }]) => {
    if (step === undefined && group.isDrawn === true) return fate === 'surplus'; // otherwise a step will report on it
    return step === undefined || (step <= oldestCheckpoint(policy) && hasAllOutcomes(lineOf(state, policy), step));
  });
}

/**
 * Returns the groups that a record names. For an outcome, these are the groups of its manifest. Manifests and outcomes
 * decide the fate of groups whose other records may be in older files.
 */
function groupsNamed(state: LedgerState, record: LedgerRecord): readonly string[] {
  if (record.kind === 'finished') return [];
  if (record.kind === 'manifest') return coveredBy(record);
  if (record.kind === 'outcome') {
    const { manifests } = lineOf(state, record.policy);
    const manifest = manifests.get(record.step);
    return manifest === undefined ? [] : coveredBy(manifest);
  }
  if (record.kind === 'evaluation') return record.groupIds;
  return 'groupId' in record ? [record.groupId] : [];
}

const coveredBy = ({ groups, idle = [] }: ManifestRecord): readonly string[] =>
  [...groups, ...idle].map(({ groupId }) => groupId);

/** Returns the record that replaces all records of a group. */
function finishedRecord(state: LedgerState, group: LedgerGroup): FinishedRecord {
  const { groupId, draw, share, tryIndex, expiries, purpose, fate, step } = group;
  const episodes = attemptsOf(state, group);
  const known = scheduleOf(state, share).draws.get(draw);
  return {
    kind: 'finished',
    groupId,
    draw,
    ...(share !== undefined && { share }),
    tryIndex,
    expiries,
    purpose,
    fate: fate ?? 'run_stopped',
    returns: purpose === 'train' && known?.tryIndex === tryIndex && known.fate === 'returned',
    ...(step !== undefined && { step }),
    episodes: episodes.map((episode): FinishedEpisode => {
      const { episodeId, claimId, state: found, reason, end } = episode;
      const isDropped = found !== 'trained' && found !== 'evaluated';
      return {
        episodeId,
        claimId,
        fate: isDropped ? 'dropped' : found,
        ...(reason !== undefined && { reason }),
        ...(step !== undefined && isMember(group, episode) && { step }),
        ...(end !== undefined && { bodyHash: end.bodyHash }),
        ...(group.policies !== undefined && { parts: finishedParts(group, episode) }),
      };
    }),
  };
}

function finishedParts(group: LedgerGroup, episode: LedgerEpisode): Readonly<Record<string, FinishedPart>> {
  const parts = policiesOf(group).map((policy): [string, FinishedPart] => {
    const { state, reason } = episodePart(episode, policy);
    const { step } = isMember(group, episode) ? groupPart(group, policy) : {};
    const fate = state === 'trained' || state === 'evaluated' ? state : 'dropped';
    return [policy, { fate, ...(reason !== undefined && { reason }), ...(step !== undefined && { step }) }];
  });
  return Object.fromEntries(parts);
}
