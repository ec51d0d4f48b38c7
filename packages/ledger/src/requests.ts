import type {
  EndRecord,
  EndStatus,
  GroupFate,
  LeftOut,
  LedgerRecord,
  ManifestRecord,
  Purpose,
  Score,
} from './records.js';
import type { FailedEpisodePolicy, LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/** The arguments and results of a Ledger's methods. */

export type LedgerOptions = {
  readonly rules?: Partial<LedgerRules>;
  /** Returns milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** The longest time that may pass between two readings of the clock. A server that reads it every second passes 10 s. */
  readonly maxStepMs?: number;
  /** Receives every record in the turn in which it was applied. */
  readonly journal?: (records: readonly LedgerRecord[]) => void;
  /** Called when a running attempt was dropped, so that its work can stop. */
  readonly onDrop?: (episode: Readonly<LedgerEpisode>) => void;
  /** A folded state to continue from. */
  readonly state?: LedgerState;
};

export type NewGroup = {
  readonly groupId: string;
  readonly taskId: string;
  /** Orders the groups of a batch. Default: the id. */
  readonly rank?: string;
  readonly numPlaces: number;
  /** Position in the schedule of tasks, from 0. */
  readonly draw?: number;
  /** Default: `default`. */
  readonly share?: string;
  readonly tryIndex?: number;
  readonly expiries?: number;
  readonly purpose?: Purpose;
  readonly revision?: string;
  readonly configRevision?: number;
  readonly isDrawn?: boolean;
  /** The policies that train on it. Default: the only one. */
  readonly policies?: readonly string[];
  readonly evaluates?: number;
};

export type OpenPlace = { readonly groupId: string; readonly place: number; readonly attempt: number };

export type NewClaim = {
  /** Unique among all attempts of the run. */
  readonly episodeId: string;
  /** The result of `placeSeed` of core. */
  readonly seed: number;
  /** Default: the episode's id. */
  readonly claimId?: string;
  readonly client?: string;
  readonly life?: string;
  readonly keyName?: string | undefined;
  readonly leaseMs?: number;
};

export type NewCall = {
  readonly requestId: string;
  readonly version: number;
  readonly incarnation: number;
  /** Default: `default`. */
  readonly policy?: string;
  readonly content?: unknown;
};

export type NewEnd = {
  readonly status: EndStatus;
  /** Null or absent with `completed`: the reward comes later. Ignored with the other two. */
  readonly reward?: number | null;
  readonly isSuccess?: boolean | null;
  /** Default: made from status, reward and success. */
  readonly bodyHash?: string;
  /** Default: the group's. */
  readonly revision?: string;
  readonly tokens?: number;
  readonly seconds?: number;
  /** False if the attempt was lost while the run was paused for an outage. Default: true. */
  readonly isCounted?: boolean;
  /** What a failure means for this episode. Default: as the rules say. */
  readonly policy?: FailedEpisodePolicy;
  readonly content?: unknown;
} & Pick<EndRecord, 'rewards' | 'turnRewards' | 'bytes'>;

export type NewScores = {
  readonly revision: string;
  /** The revision that these rewards replace. Null if there is none so far. */
  readonly replaces: string | null;
  readonly scores: readonly Score[];
};

export type NewStep = {
  /** The policy whose step it is. Default: `default`. */
  readonly policy: string;
  readonly configRevision: number;
  /** The groups of each optimizer step. Default: one optimizer step with all groups. */
  readonly optimizerSteps: readonly (readonly string[])[];
  readonly content: unknown;
  readonly shares: ManifestRecord['shares'];
  /** Groups of `order: drawn` that the step covers and does not train. */
  readonly idle: readonly Readonly<LedgerGroup>[];
};

export type Outcome = { readonly isApplied: boolean; readonly leftOut?: readonly LeftOut[] };

/** `policy`: the policy whose step it is. Default: `default`. */
export type PolicyOutcome = Outcome & { readonly policy?: string };

export type GroupStatus = GroupFate | 'sampling' | 'trainable';
