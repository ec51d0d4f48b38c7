import { hasAllOutcomes } from '../fold-steps.js';
import { nextTurn } from '../host.js';
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
 * Removes the files of a store that no kept checkpoint needs. A group is finished if it was dropped or evaluated, or if
 * its step has all outcomes and is not newer than the oldest checkpoint that is kept. A file may be removed if every
 * group that its records name is finished, including the groups of its manifests and outcomes. It is removed only after
 * the records that replace it are synced in another file.
 *
 * A file is read in pages, and the records that replace it are written in parts, so that a large file delays no request.
 * Create one instance for each store.
 */
export class FileRetirement {
  readonly #parts: RetiringStore;
  /** A record of each file that must still be kept, because of this record. */
  readonly #blocked = new Map<number, LedgerRecord>();
  /** Files that are never removed, because most of their records would have to be written again. */
  readonly #kept = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: RetiringStore) {
    this.#parts = parts;
  }

  /** Removes files and returns their numbers. If it is called again meanwhile, the second call waits for the first. */
  retire(oldest: number | OldestCheckpoint): Promise<readonly number[]> {
    const oldestCheckpoint = typeof oldest === 'number' ? () => oldest : oldest;
    const result = this.#turn.then(() => this.#retire(oldestCheckpoint));
    this.#turn = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  async #retire(oldestCheckpoint: OldestCheckpoint): Promise<readonly number[]> {
    const { store, ledger, writer } = this.#parts;
    const sealed = store.files().filter(({ isSealed }) => isSealed);
    const old: OldFile[] = [];
    for (const { number } of sealed) old.push(...(await this.#lookThrough(number, oldestCheckpoint)));
    if (old.length === 0) return [];
    await this.#finish([...new Set(old.flatMap(({ named }) => [...named]))]);
    const removed = old.filter(({ file }) => !this.#kept.has(file));
    await this.#carry(removed.flatMap(({ lasting }) => lasting));
    await writer.synced();
    const files = removed.map(({ file }) => file);
    if (files.length > 0) await store.remove(files);
    forgetSteps(
      ledger.state,
      old.flatMap(({ steps }) => steps),
    );
    return files;
  }

  /** Replaces the records of finished groups. */
  async #finish(groupIds: readonly string[]): Promise<void> {
    const { ledger, writer } = this.#parts;
    const { state } = ledger;
    for (const part of partsOf(groupIds)) {
      const groups = part.flatMap((groupId) => state.groups.get(groupId) ?? []);
      // The records are created when they are written, because the draws of the groups may change in between.
      if (groups.length > 0) ledger.append(...groups.map((group) => finishedRecord(state, group)));
      await writer.committed();
    }
  }

  async #carry(entries: readonly StoreEntry[]): Promise<void> {
    const { writer } = this.#parts;
    for (const part of partsOf(entries)) {
      writer.carry(part.map((entry) => ({ ...entry, isCarried: true })));
      await writer.committed();
    }
  }

  /**
   * Returns the groups and steps that a file names and the records that must be kept. Returns nothing if the whole file
   * must be kept. Reading stops at the first record for which the whole file must be kept, and the next look begins with
   * that record.
   */
  async #lookThrough(file: number, oldestCheckpoint: OldestCheckpoint): Promise<readonly OldFile[]> {
    const { state } = this.#parts.ledger;
    const blocking = this.#blocked.get(file);
    if (this.#kept.has(file)) return [];
    if (blocking !== undefined && !isDone(state, blocking, oldestCheckpoint)) return [];
    const named = new Set<string>();
    const lasting: StoreEntry[] = [];
    const steps: RetiredStep[] = [];
    let numEntries = 0;
    for await (const entry of this.#read(file)) {
      const { record } = entry;
      if (!isDone(state, record, oldestCheckpoint)) {
        this.#blocked.set(file, record);
        return [];
      }
      for (const groupId of groupsNamed(state, record)) named.add(groupId);
      if (isLasting(entry)) lasting.push(entry);
      if (record.kind === 'manifest') steps.push({ step: record.step, policy: record.policy });
      numEntries++;
    }
    this.#blocked.delete(file);
    const numWritten = lasting.length + [...named].filter((groupId) => state.groups.has(groupId)).length;
    if (2 * numWritten > numEntries) this.#kept.add(file);
    return [{ file, named, lasting, steps }];
  }

  /** Reads all entries of a file. Other work runs after each page. */
  async *#read(file: number): AsyncGenerator<StoreEntry> {
    const { store } = this.#parts;
    for (const lane of ['events', 'carried', 'finished'] as const) {
      let after: number | undefined;
      for (let count = pageEntries; count === pageEntries; ) {
        count = 0;
        for (const entry of store.read(file, lane, after)) {
          yield entry;
          after = entry.sequence;
          if (++count === pageEntries) break;
        }
        if (count === pageEntries) await nextTurn();
      }
    }
  }
}

/** The store, the ledger and the writer, which the removal of old files changes. */
type RetiringStore = {
  readonly store: Pick<Store, 'files' | 'read' | 'remove'>;
  readonly ledger: Pick<Ledger, 'append' | 'state'>;
  readonly writer: Pick<StoreWriter, 'carry' | 'committed' | 'synced'>;
};

type OldFile = {
  readonly file: number;
  readonly named: ReadonlySet<string>;
  readonly lasting: readonly StoreEntry[];
  /** Steps whose manifests are in the file. */
  readonly steps: readonly RetiredStep[];
};

type RetiredStep = { readonly step: number; readonly policy: ManifestRecord['policy'] | undefined };

/** The number of entries that are read before other work runs. */
const pageEntries = 256;
/** The number of entries that are written before other work runs. The account is updated for each of their episodes. */
const partEntries = 64;

function* partsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += partEntries) yield items.slice(at, at + partEntries);
}

/** Removes the manifests and outcomes of these steps from the state, because no checkpoint needs them. */
function forgetSteps(state: LedgerState, steps: readonly RetiredStep[]): void {
  for (const { step, policy } of steps) {
    const line = lineOf(state, policy);
    line.manifests.delete(step);
    line.outcomes.delete(step);
  }
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
