import type {
  CallRecord,
  ClaimRecord,
  EndRecord,
  GroupFate,
  GroupRecord,
  LeftOut,
  LedgerRecord,
  ManifestRecord,
  Score,
} from './records.js';
import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/** The arguments and results of a Ledger's methods. */

export type LedgerOptions = {
  readonly rules?: Partial<LedgerRules>;
  /** Returns milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** The longest time that one reading may add to the clock. A server that reads the clock every second sets 10 s. */
  readonly maxStepMs?: number;
  /** Receives every record in the turn in which it was applied. */
  readonly journal?: (records: readonly LedgerRecord[]) => void;
  /** Called when a running attempt was dropped, so that its work can stop. */
  readonly onDrop?: (episode: Readonly<LedgerEpisode>) => void;
  /** The state to continue from, which was folded from records. */
  readonly state?: LedgerState;
};

/** Defaults: `rank` is the group's id, `share` is `default`, and the only policy is `default`. */
export type NewGroup = Pick<GroupRecord, 'groupId' | 'taskId' | 'numPlaces'> & Partial<Omit<GroupRecord, 'kind'>>;

export type OpenPlace = { readonly groupId: string; readonly place: number; readonly attempt: number };

/** `seed` comes from `placeSeed` of core. `claimId` defaults to the episode's id. */
export type NewClaim = Pick<ClaimRecord, 'episodeId' | 'seed'> &
  Partial<Pick<ClaimRecord, 'claimId' | 'client' | 'life'>> & {
    readonly keyName?: string | undefined;
    readonly leaseMs?: number;
  };

export type NewCall = Pick<CallRecord, 'requestId' | 'version' | 'incarnation' | 'policy' | 'content'>;

/**
 * With the status `completed`, a `reward` that is null or absent is expected later. With another status, `reward` is
 * ignored. Defaults: `bodyHash` is made of status, reward and success, `revision` is the group's, `isCounted` is true,
 * and `policy` is that of the rules.
 */
export type NewEnd = Pick<EndRecord, 'status'> &
  Partial<Omit<EndRecord, 'kind' | 'groupId' | 'episodeId' | 'isSuspect'>>;

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
