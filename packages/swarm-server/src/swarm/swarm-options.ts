import type { StoreEntry, Host, LedgerRecord, RecordIndex, Store, StoreError } from '@agentjet/ledger';
import type { ModelPort } from '../model/model-port.js';
import type { EpisodeAccess } from './episode-answers.js';
import type { RewindTo } from './rewind.js';
import type { SwarmSettings } from './settings.js';
import type { SwarmPolicy } from './swarm-context.js';
import type { TaskPort, TrainerPort } from './trainer-port.js';

export type SwarmOptions = {
  readonly host: Host;
  readonly store: Store;
  readonly settings: SwarmSettings;
  /** Of the only policy. */
  readonly trainer?: TrainerPort | undefined;
  /** Several models, each with its own trainer; instead of `trainer`. */
  readonly policies?: readonly SwarmPolicy[] | undefined;
  /** Default: the table that clients post. */
  readonly tasks?: TaskPort;
  /** Where the model of an episode is served. */
  readonly access?: (episodeId: string) => EpisodeAccess;
  /** Seals episodes at their ends. Without it an end is recorded as it comes. */
  readonly model?: ModelPort;
  /** A decision, not a recovery: the steps after this one are void, and their episodes are dropped as `rewound`. */
  readonly rewindTo?: RewindTo | undefined;
  /** Called with the place of each record. */
  readonly records?: RecordIndex;
  /** Waited for before each commit, so that records of several requests share it. Default: the turn of the event loop. */
  readonly gather?: (() => Promise<void>) | undefined;
  /** The store failed, or another server took it over: this swarm is over. */
  readonly onEnd: (error: StoreError) => void;
  readonly onTrainerFailure?: (error: unknown) => void;
  /** An operator wants training to go on that has stopped. */
  readonly onWanted?: () => void;
  /** What an operator should read. */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** Sees records in the turn in which they are applied. */
  readonly onRecords?: (records: readonly LedgerRecord[]) => void;
  readonly onCommit?: (entries: readonly StoreEntry[]) => void;
};

export type SwarmListener = {
  readonly onEntries: (entries: readonly StoreEntry[]) => void;
  /** Time has passed: the state of training may have changed without a record. */
  readonly onTick: () => void;
  readonly onClose: () => void;
};

/** Answers a call with the weights of one version. */
export type GenerateCall = (weights: { readonly version: number; readonly incarnation: number }) => Promise<unknown>;
