import type { Notice } from '../log/log-entry.js';
import type { StoreEntry, Host, LedgerRecord, RecordIndex, Store, StoreError } from '@agentjet/ledger';
import type { ModelPort } from '../model/model-port.js';
import type { EpisodeAccess } from './episode-answers.js';
import type { NewestStep } from './policy-progress.js';
import type { RewindTo } from './rewind.js';
import type { SwarmSettings } from './settings.js';
import type { SwarmPolicy } from './swarm-context.js';
import type { TaskPort, TrainerPort } from './trainer-port.js';

export type SwarmOptions = {
  readonly host: Host;
  readonly store: Store;
  readonly settings: SwarmSettings;
  /** The trainer of the only policy. */
  readonly trainer?: TrainerPort | undefined;
  /** Several models, each with a trainer. Replaces `trainer`. */
  readonly policies?: readonly SwarmPolicy[] | undefined;
  /** The tasks. Default: the table that clients post. */
  readonly tasks?: TaskPort;
  /** The address of an episode's model. */
  readonly access?: (episodeId: string) => EpisodeAccess;
  /** Seals episodes at their ends. Without it, an end is recorded as it arrives. */
  readonly model?: ModelPort;
  /** The step to which the operator goes back. Later steps become void, and their episodes are dropped as `rewound`. */
  readonly rewindTo?: RewindTo | undefined;
  /** The index that gets the position of each record in the store. */
  readonly records?: RecordIndex;
  /**
   * Awaited before each commit, so that the records of several requests share the commit. Default: a turn of the event
   * loop.
   */
  readonly gather?: (() => Promise<void>) | undefined;
  /** Called when the swarm is over because the store failed or another server took it over. */
  readonly onEnd: (error: StoreError) => void;
  readonly onTrainerFailure?: (error: unknown) => void;
  /** Called when an operator starts stopped training again. */
  readonly onWanted?: () => void;
  /** The disk of the run folder. Training waits while it is full. */
  readonly runDisk?: RunDisk | undefined;
  /** The name of the run, for people. */
  readonly name?: string | undefined;
  /** The time of `host.now` when the server began to serve the run. Default: now. */
  readonly sinceMs?: number;
  readonly meter?: SwarmMeter;
  /** Called with a message for the operator. */
  readonly onNotice?: Notice | undefined;
  /** Called with records in the turn of the event loop in which they are applied. */
  readonly onRecords?: (records: readonly LedgerRecord[]) => void;
  readonly onCommit?: (entries: readonly StoreEntry[]) => void;
};

export type RunDisk = {
  /** Returns a message for the operator if the error means that the disk is full. */
  readonly problemOf: (error: unknown) => string | undefined;
  /** Whether training may continue. */
  readonly hasRoom: () => boolean;
};

/** Measures the work of a swarm. */
export type SwarmMeter = {
  /** Called after each answered model call, with the time since the call arrived. */
  readonly onCall: (call: { readonly policy: string; readonly share: string }, seconds: number) => void;
  /** Called when a policy has made a step in this process. */
  readonly onStep: (policy: string, step: NewestStep) => void;
};

export type SwarmListener = {
  readonly onEntries: (entries: readonly StoreEntry[]) => void;
  /** Called at regular intervals, because the state of training may change without a record. */
  readonly onTick: () => void;
  readonly onClose: () => void;
};

/** Answers a call with the weights of one version. */
export type GenerateCall = (weights: { readonly version: number; readonly incarnation: number }) => Promise<unknown>;
