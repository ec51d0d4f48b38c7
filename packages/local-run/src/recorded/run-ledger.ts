import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { toErrorMessage, type CommonConfig, type Task } from '@agentjet/core';
import {
  FileRetirement,
  Ledger,
  LedgerError,
  LmdbStore,
  recover,
  RecordIndex,
  settleFinished,
  StoreError,
  StoreWriter,
  systemHost,
  type EndRecord,
  type LedgerEpisode,
  type LedgerState,
  type NewEnd,
} from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';
import { openEnd } from './stored-episode.js';
import { sealEpisode } from '@agentjet/records';
import { type PlaceRecord, type SampledFor, placeRules } from './place-record.js';
import { toRunError } from './run-error.js';

const maxFileBytes = 32 * 2 ** 20;
const maxFileEntries = 100_000;

/**
 * The ledger of an ordinary run on disk. The run is like a swarm with one client and without HTTP. It has the same
 * rules, and the same records in the same order, as a swarm server. Only the process that has claimed the run folder
 * writes the ledger.
 */
export class RunLedger implements PlaceRecord {
  readonly ledger: Ledger;
  readonly isKept = true;
  readonly #store: LmdbStore;
  readonly #writer: StoreWriter;
  readonly #index: RecordIndex;
  readonly #retirement: FileRetirement;
  readonly #failure: Failure;

  private constructor(parts: Opened) {
    this.ledger = parts.ledger;
    this.#store = parts.store;
    this.#writer = parts.writer;
    this.#index = parts.index;
    this.#retirement = new FileRetirement(parts);
    this.#failure = parts.failure;
  }

  /**
   * Opens the ledger in `dir`, and creates the folder if it does not exist. If the ledger cannot be read, its folder is
   * renamed, and a notice says so. Rejects with BackboneError `run_folder`.
   */
  static async open(
    dir: string,
    config: CommonConfig,
    { onNotice }: { readonly onNotice: (message: string) => void },
  ): Promise<RunLedger> {
    try {
      return await RunLedger.#open(dir, config);
    } catch (error) {
      if (!isUnreadable(error) || !existsSync(dir)) throw toRunError(error);
      const aside = `${dir}.unreadable-${Date.now()}`;
      await rename(dir, aside);
      onNotice(
        `The recorded episodes cannot be read, so their folder was renamed to ${aside}: ${toErrorMessage(error)}`,
      );
      return await RunLedger.#open(dir, config);
    }
  }

  static async #open(dir: string, config: CommonConfig): Promise<RunLedger> {
    const failure: Failure = { error: undefined };
    const onLost = (error: unknown): void => void (failure.error ??= error);
    const store = await LmdbStore.open(dir, { takeOver: true, onLost }); // only this process writes the run folder
    try {
      const index = new RecordIndex(store);
      const { state, nextSequence } = await recover(store, index.note);
      const writer = new StoreWriter(store, {
        nextSequence,
        maxFileBytes,
        maxFileEntries,
        onFailure: onLost,
        onCommit: (entries) => {
          entries.forEach(index.note);
          settleFinished(state, entries);
        },
      });
      const ledger = new Ledger({
        rules: placeRules(config),
        now: systemHost.now,
        state,
        journal: writer.append.bind(writer),
      });
      const opened = new RunLedger({ ledger, store, writer, index, failure });
      opened.#giveUpGhosts();
      return opened;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get state(): LedgerState {
    return this.ledger.state;
  }

  /**
   * Returns the ledger's id of a group. If the configuration was changed or training went back to a checkpoint, all
   * groups get new ids.
   */
  groupIdOf = (groupId: string, { step }: SampledFor): string => {
    const generation = this.state.configs.findLast(({ fromStep }) => fromStep <= step)?.revision ?? 0;
    let id = `${generation}:${step}:${groupId}`;
    while (this.state.finished.has(id)) id = `+${id}`; // a finished step whose records were removed has used this id
    return id;
  };

  newEpisode = (episodeId: string, groupId: string): { readonly episodeId: string; readonly claimId: string } => {
    const claimId = claimIdOf(groupId, episodeId);
    let attempt = 0;
    const idOf = (): string => (attempt === 0 ? claimId : `${claimId}~${attempt}`);
    while (this.state.episodes.has(idOf()) || this.state.finished.episode(idOf()) !== undefined) attempt++;
    return { episodeId: idOf(), claimId };
  };

  newestOf = (episodeId: string, groupId: string): Readonly<LedgerEpisode> | undefined =>
    this.state.episodes.get(this.state.claims.get(claimIdOf(groupId, episodeId)) ?? '');

  recall = (episodeId: string, groupId: string, task: Task): Episode | undefined => {
    const known = this.newestOf(episodeId, groupId);
    const end = known === undefined ? undefined : this.#index.end(known.episodeId);
    return end === undefined ? undefined : openEnd(end, task);
  };

  sealOf = (episode: Episode): Pick<NewEnd, 'content' | 'bytes'> => sealEpisode(episode, this.state.incarnation);

  /** Reads the end record of an episode. Throws BackboneError `redo_impossible` if it is in no file of the ledger. */
  read(episodeId: string): EndRecord {
    const end = this.#index.end(episodeId);
    if (end !== undefined) return end;
    throw toRunError(
      new LedgerError('redo_impossible', `The end of episode "${episodeId}" is in no file of the ledger.`),
    );
  }

  check = (): void => {
    if (this.#failure.error !== undefined) throw toRunError(this.#failure.error);
  };

  /** Resolves when all records survive a crash of the machine. Rejects with BackboneError `run_folder`. */
  async synced(): Promise<void> {
    await this.#writer.synced().catch((error: unknown) => {
      throw toRunError(error);
    });
  }

  /** Resolves when all records survive a crash of this process. */
  async committed(): Promise<void> {
    await this.#writer.committed().catch((error: unknown) => {
      throw toRunError(error);
    });
  }

  /** Drops the groups of undecided steps, so that new groups are sampled. */
  startAnew(reason: 'superseded' | 'rewound', changes: Readonly<Record<string, unknown>>, fromStep: number): void {
    for (const { groupId, fate } of this.state.groups.values())
      if (fate === undefined) this.ledger.dropGroup(groupId, reason);
    const revision = (this.state.configs.at(-1)?.revision ?? 0) + 1;
    this.ledger.append({ kind: 'config', revision, fromStep, requestId: `r${revision}`, changes, by: 'run' });
  }

  /** Removes files that no kept checkpoint needs, after the records that replace them are synced. */
  async retire(oldestCheckpoint: number): Promise<void> {
    await this.#retirement.retire(oldestCheckpoint).catch((error: unknown) => {
      throw toRunError(error);
    });
  }

  async close(): Promise<void> {
    this.#giveUpRunning();
    await this.#writer.synced().catch(() => undefined); // callers that waited for a step report the error
    this.#writer.close(new StoreError('closed', 'The run has ended.'));
    await this.#store.close();
  }

  /** Marks as lost all episodes that ran when an earlier process ended. They do not count as failures. */
  #giveUpGhosts(): void {
    this.#giveUpRunning();
    const { bootId } = this.#store;
    if (this.state.bootId !== bootId) this.ledger.append({ kind: 'recovered', bootId });
  }

  #giveUpRunning(): void {
    if (this.#failure.error !== undefined) return;
    for (const { episodeId, state } of this.state.episodes.values())
      if (state === 'running') this.ledger.drop(episodeId, 'abandoned', { isCounted: false });
  }
}

type Failure = { error: unknown };

type Opened = {
  readonly ledger: Ledger;
  readonly store: LmdbStore;
  readonly writer: StoreWriter;
  readonly index: RecordIndex;
  readonly failure: Failure;
};

/** Returns the id of the claim that all attempts at an episode share. */
const claimIdOf = (groupId: string, episodeId: string): string => `${groupId} ${episodeId}`;

const isUnreadable = (error: unknown): boolean =>
  error instanceof LedgerError || (error instanceof StoreError && error.code === 'damaged');
