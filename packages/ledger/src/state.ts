import type { DropReason } from './drop-reasons.js';
import type { TableVersions } from './task-tables.js';
import { FinishedGroups } from './finished-groups.js';
import { createLine, type EpisodePart, type GroupPart } from './policies.js';
import type {
  AuditRecord,
  CallRecord,
  ClaimRecord,
  ConfigRecord,
  EndRecord,
  EvaluationRecord,
  GroupFate,
  GroupRecord,
  KeyRecord,
  ManifestRecord,
  OperationRecord,
  OutcomeRecord,
  TargetRewards,
  TaskRecord,
} from './records.js';
import { defaultShare, type ShareAccount } from './shares.js';

/**
 * The content of the records, as maps. Only the fold changes a state; everything else reads it. Groups and episodes
 * keep the order in which they began.
 */
export type LedgerState = PolicyLine & {
  readonly groups: Map<string, LedgerGroup>;
  readonly episodes: Map<string, LedgerEpisode>;
  /** Maps a claim id to an episode id. */
  readonly claims: Map<string, string>;
  /** Schedules by share. */
  readonly schedules: Map<string, Schedule>;
  /** The progress of policies other than `default`. Read it with `lineOf`. */
  readonly lines: Map<string, PolicyLine>;
  readonly configs: ConfigRecord[];
  /** The key is `taskKey`, because the training table and the evaluation table may have the same id. */
  readonly tasks: Map<string, TaskRecord>;
  /** The versions of each table of tasks after the first, by `tableName`. */
  readonly tables: Map<string, TableVersions>;
  readonly keys: Map<string, KeyRecord>;
  readonly audit: AuditRecord[];
  operation: OperationRecord;
  /** The orders of operators. The key is the id of the request. */
  readonly operationIds: Map<string, OperationRecord['order']>;
  bootId: string | undefined;
  /** Groups whose records may be gone, with their episodes. */
  readonly finished: FinishedGroups;
};

/** The progress of one policy's weights. */
export type PolicyLine = {
  /** Totals of each share in the batches so far. */
  shares: ShareAccount;
  readonly manifests: Map<number, ManifestRecord>;
  readonly outcomes: Map<number, (OutcomeRecord | undefined)[]>;
  /** Step of the newest manifest. Each manifest makes one version of the weights. */
  step: number;
  /** The newest step that ever existed. It is above `step` only after training went back to an earlier step. */
  highestStep: number;
  readonly checkpoints: Set<number>;
  readonly evaluations: Map<number, EvaluationRecord>;
  incarnation: number;
};

/**
 * `open`: may be claimed. `taken`: an attempt runs or waits for its score. `filled`: it has a pooled episode.
 * `given_up`: it is not tried again. A group is closed if none of its places is open or taken.
 */
export type PlaceState = 'open' | 'taken' | 'filled' | 'given_up';

export type Place = {
  /** The number of attempts begun. */
  attempts: number;
  /** The number of attempts lost to outages that count against `maxAttempts`. */
  losses: number;
  isGivenUp: boolean;
  episodeId: string | undefined;
};

export type LedgerGroup = GroupRecord & {
  readonly places: readonly Place[];
  /** All of its attempts so far, including lost ones. */
  readonly episodeIds: string[];
  /** Undefined while it is sampled or pooled. */
  fate: GroupFate | undefined;
  /** The step whose manifest contains it. With several policies, `parts` has the steps. */
  step: number | undefined;
  /** Parts by policy, once one of several policies has taken it. */
  parts: Map<string, GroupPart> | undefined;
  /** Name of the newest rewards that were set for the whole group. */
  scoreRevision: string | null;
};

export type EpisodeState = 'running' | 'ended' | 'pooled' | 'assigned' | 'trained' | 'evaluated' | 'dropped';

export type CallMark = Pick<CallRecord, 'requestId' | 'version' | 'incarnation' | 'policy'>;

export type LedgerEpisode = ClaimRecord & {
  state: EpisodeState;
  reason: DropReason | undefined;
  /** Parts by policy, once one of several policies has taken it. */
  parts: Map<string, EpisodePart> | undefined;
  readonly calls: CallMark[];
  /** The accepted end, without its content and its bytes. */
  end: Omit<EndRecord, 'content' | 'bytes'> | undefined;
  reward: number | null;
  isSuccess: boolean | null;
  /** Rewards by target, if they differ. */
  rewards: TargetRewards | undefined;
  /** Revision of its reward. */
  rewardRevision: string | null;
};

/** The progress of the draws of a share. */
export type Schedule = {
  readonly draws: Map<number, DrawState>;
  /** Draws that get another group because their last one was dropped, oldest first. */
  readonly returned: Set<number>;
  nextDraw: number;
};

export type DrawState = {
  readonly tryIndex: number;
  readonly expiries: number;
  readonly fate: 'open' | 'returned' | 'over';
};

export function createState(finished = new FinishedGroups()): LedgerState {
  return {
    ...createLine(),
    lines: new Map(),
    groups: new Map(),
    episodes: new Map(),
    claims: new Map(),
    schedules: new Map(),
    configs: [],
    tasks: new Map(),
    tables: new Map(),
    keys: new Map(),
    audit: [],
    operation: {
      kind: 'operation',
      requestId: '',
      order: 'start',
      isPaused: false,
      isDraining: false,
      isStopped: false,
    },
    operationIds: new Map(),
    bootId: undefined,
    finished,
  };
}

/** Returns the schedule of a share. If nothing of it was drawn yet, the result is empty and not part of the state. */
export const scheduleOf = (
  { schedules }: Pick<LedgerState, 'schedules'>,
  share: string | undefined = defaultShare,
): Schedule => schedules.get(share) ?? { draws: new Map(), returned: new Set(), nextDraw: 0 };
