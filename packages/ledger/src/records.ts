import type { TurnReward } from '@agentjet/core';
import type { DropReason } from './drop-reasons.js';
import type { FailedEpisodePolicy } from './rules.js';
import type { ShareAccount } from './shares.js';

/**
 * The entries of the ledger. The state is computed only from its records (this is called folding them), so a change
 * without a record has not happened. A record contains everything that its effect depends on, so folding needs neither
 * configuration nor time.
 */
export type LedgerRecord =
  | GroupRecord
  | ClaimRecord
  | CallRecord
  | MemoRecord
  | EndRecord
  | ScoreRecord
  | DropRecord
  | GiveUpRecord
  | GroupDroppedRecord
  | ManifestRecord
  | OutcomeRecord
  | EvaluationRecord
  | CheckpointRecord
  | PartDroppedRecord
  | RewoundRecord
  | IncarnationRecord
  | RecoveredRecord
  | OperationRecord
  | ConfigRecord
  | TaskRecord
  | KeyRecord
  | AuditRecord
  | FinishedRecord;

export type RecordKind = LedgerRecord['kind'];

export type Purpose = 'train' | 'evaluation';

/** A task was drawn. */
export type GroupRecord = {
  readonly kind: 'group';
  readonly groupId: string;
  /**
   * Position in the schedule of the share's tasks, from 0. For an evaluation group it is the position among its tasks.
   */
  readonly draw: number;
  /** Absent: the share `default`. */
  readonly share?: string;
  /** The number of groups that this draw made before. */
  readonly tryIndex: number;
  /** The number of those groups that expired. */
  readonly expiries: number;
  readonly purpose: Purpose;
  readonly taskId: string;
  /** The version of the table that contains the task. Absent: 0, the first version. */
  readonly table?: number;
  /** Orders the groups of a batch. Absent: the id. */
  readonly rank?: string;
  readonly numPlaces: number;
  /** Name of the agent and reward code. A group has only one. */
  readonly revision: string;
  /** Revision of the configuration that gives the group its sampling settings. */
  readonly configRevision: number;
  /** Whether the group was drawn with `order: drawn`. A step then covers the group even if it was dropped. */
  readonly isDrawn?: boolean;
  /** The policies that train on it. Absent: only `default`. */
  readonly policies?: readonly string[];
  /** For an evaluation: the step that is evaluated. */
  readonly evaluates?: number;
};

/** An attempt to fill a place began. */
export type ClaimRecord = {
  readonly kind: 'claim';
  readonly groupId: string;
  readonly place: number;
  readonly attempt: number;
  readonly episodeId: string;
  readonly claimId: string;
  readonly client: string;
  /** A random id for each start of the client. */
  readonly life: string;
  readonly seed: number;
  /** Name of the key that claimed it, if keys are required. */
  readonly keyName?: string;
};

/** A model call was answered. The tracker is rebuilt from `content`, which the fold ignores. */
export type CallRecord = {
  readonly kind: 'call';
  readonly groupId: string;
  readonly episodeId: string;
  readonly requestId: string;
  readonly version: number;
  readonly incarnation: number;
  /** The policy that answered, to whose weights the version belongs. Absent: `default`. */
  readonly policy?: string;
  readonly content?: unknown;
  /** Numbers of the content. They are stored as bytes, because they would be long as JSON. */
  readonly bytes?: readonly Uint8Array[];
};

/** Content that a running episode keeps for its next call. The fold ignores it. */
export type MemoRecord = {
  readonly kind: 'memo';
  readonly groupId: string;
  readonly episodeId: string;
  readonly content: unknown;
};

/** `completed`: it has a reward or waits for one. `failed`: the agent failed. `outage`: an outside service failed. */
export type EndStatus = 'completed' | 'failed' | 'outage';

export type EndRecord = {
  readonly kind: 'end';
  readonly groupId: string;
  readonly episodeId: string;
  readonly status: EndStatus;
  /** Null if not known yet. */
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  /** Identifies the body of the end, so that a repeated end can be compared. */
  readonly bodyHash: string;
  /** The policy for failed episodes that was valid at this end. It decides the effect of a failure. */
  readonly policy: FailedEpisodePolicy;
  /** Revision of the reward. By default it is the revision of the claim. */
  readonly revision: string;
  /** The generated tokens, and the seconds that the episode took. Metrics compare lost and trained episodes by them. */
  readonly tokens: number;
  readonly seconds: number;
  /**
   * False if the attempt was lost while the whole run was paused for an outage. Such a loss does not count against its
   * place.
   */
  readonly isCounted: boolean;
  /** True if the outage is counted as a failure of the agent, because only this task has outages. */
  readonly isSuspect: boolean;
  /** Rewards by target, if they differ. A target that is not named gets `reward`. */
  readonly rewards?: TargetRewards;
  /** Rewards earned during the episode, in addition to `reward`. */
  readonly turnRewards?: readonly PolicyTurnReward[];
  /** The sealed rows and other facts about the episode. The state does not keep them; they are read from the store. */
  readonly content?: unknown;
  /** Numbers of the content. They are stored as bytes, because they would be long as JSON. */
  readonly bytes?: readonly Uint8Array[];
};

/** `policy` is the policy that sampled the turn. Absent: `default`. */
export type PolicyTurnReward = TurnReward & { readonly policy?: string };

export type TargetRewards = Readonly<Record<string, number>>;

export type Score = {
  readonly episodeId: string;
  readonly reward: number;
  readonly isSuccess: boolean | null;
  /** Rewards by target. If absent, every target gets `reward`. */
  readonly rewards?: TargetRewards;
};

export type ScoreRecord = {
  readonly kind: 'score';
  readonly groupId: string;
  /** Name of this set of rewards. Null for one episode's first reward, which its own judge gave. */
  readonly revision: string | null;
  readonly scores: readonly Score[];
};

export type DropRecord = {
  readonly kind: 'drop';
  readonly groupId: string;
  readonly episodeId: string;
  readonly reason: DropReason;
  readonly isCounted: boolean;
};

/** Places that are given up. Their episodes are dropped for `reason`, except pooled ones. */
export type GiveUpRecord = {
  readonly kind: 'give_up';
  readonly groupId: string;
  readonly places: readonly number[];
  readonly reason: DropReason;
};

export type GroupDroppedRecord = {
  readonly kind: 'group_dropped';
  readonly groupId: string;
  readonly reason: DropReason;
  /** Whether another group is made for the same draw. */
  readonly returns: boolean;
};

export type ManifestGroup = {
  readonly groupId: string;
  readonly rank?: string;
  /** The draw, under `order: drawn`. */
  readonly draw?: number;
  readonly episodes: readonly ManifestEpisode[];
};

export type IdleGroup = Omit<ManifestGroup, 'episodes'> & { readonly draw: number };

export type ManifestEpisode = {
  readonly episodeId: string;
  readonly place: number;
  readonly reward: number;
  /** Absent if it is unknown. */
  readonly isSuccess?: boolean;
  readonly rewards?: TargetRewards;
  readonly turnRewards?: readonly PolicyTurnReward[];
};

/**
 * The complete input of a step. Writing this record is the decision to train.
 *
 * Worked example: two groups, trained in two optimizer steps over one epoch:
 * `{ kind: 'manifest', step: 4, configRevision: 1, groups: [{ groupId: 'g7', ... }, { groupId: 'g8', ... }],
 *    optimizerSteps: [['g7'], ['g8']] }`
 */
export type ManifestRecord = {
  readonly kind: 'manifest';
  readonly step: number;
  /** The policy whose step it is. Absent: `default`. */
  readonly policy?: string;
  readonly configRevision: number;
  readonly groups: readonly ManifestGroup[];
  /** Under `order: drawn`: dropped groups of the step's draws. The step reports on them and trains nothing of them. */
  readonly idle?: readonly IdleGroup[];
  /** The groups of each optimizer step. */
  readonly optimizerSteps: readonly (readonly string[])[];
  /** Totals of the shares after this step. Absent in a run without shares. */
  readonly shares?: ShareAccount;
  /** Algorithm, loss, packing, rates, code hash and version. The fold ignores it. */
  readonly content?: unknown;
};

export type LeftOut = { readonly episodeId: string; readonly reason: DropReason };

/** The outcome of one optimizer step. */
export type OutcomeRecord = {
  readonly kind: 'outcome';
  readonly step: number;
  readonly policy?: string;
  readonly index: number;
  readonly isApplied: boolean;
  /** Episodes that the step left out: `too_long`, `nothing_to_train`. */
  readonly leftOut: readonly LeftOut[];
};

/** An evaluation is over; its groups are never trained. */
export type EvaluationRecord = {
  readonly kind: 'evaluation';
  readonly step: number;
  /** The policy whose step is evaluated. The other policies are measured at the same time. Absent: `default`. */
  readonly policy?: string;
  readonly groupIds: readonly string[];
  /** The number of tasks that the result is based on. */
  readonly restsOn: number;
  /** How long it took. */
  readonly seconds?: number;
  /** False if its rewards have several revisions. Such an evaluation cannot be compared with others. */
  readonly isUsed?: false;
};

export type CheckpointRecord = { readonly kind: 'checkpoint'; readonly step: number; readonly policy?: string };

/**
 * One policy's part of a group was dropped, although another policy has trained the group. No step of this policy will
 * train it.
 */
export type PartDroppedRecord = {
  readonly kind: 'part_dropped';
  readonly groupId: string;
  readonly policy: string;
  readonly reason: DropReason;
};

/** Training was sent back to a step. Manifests after that step are void. */
export type RewoundRecord = { readonly kind: 'rewound'; readonly toStep: number; readonly policy?: string };

/**
 * Begins a new incarnation of the weights. From this record on, a version number may mean other weights than before.
 */
export type IncarnationRecord = {
  readonly kind: 'incarnation';
  readonly value: number;
  readonly policy?: string;
};

/** A recovery is finished; `bootId` identifies the boot of the machine during which it ran. */
export type RecoveredRecord = { readonly kind: 'recovered'; readonly bootId: string };

export type OperationRecord = {
  readonly kind: 'operation';
  /** Identifies the order, so that a copy that arrives late changes nothing. */
  readonly requestId: string;
  /** The order. `checkpoint` is recorded once the checkpoint is saved. */
  readonly order: RunOrder | 'checkpoint';
  readonly isPaused: boolean;
  readonly isDraining: boolean;
  readonly isStopped: boolean;
};

export type RunOrder = 'start' | 'pause' | 'resume' | 'drain' | 'stop';

export type ConfigRecord = {
  readonly kind: 'config';
  readonly revision: number;
  readonly fromStep: number;
  /** The first step for each policy, if there are several; `fromStep` is then that of the first policy. */
  readonly fromSteps?: Readonly<Record<string, number>>;
  /** The id of the request. A repeated request gets the same revision. */
  readonly requestId: string;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly by: string;
};

export type TaskRecord = {
  readonly kind: 'task';
  readonly taskId: string;
  /** Position in the table of tasks. */
  readonly index: number;
  readonly hash: string;
  /** The table: `evaluation`, or the training table if absent. */
  readonly split?: 'evaluation';
  /** Absent: the share `default`. */
  readonly share?: string;
  /** The number of tasks in the whole table. Only the part that completes the table has it. */
  readonly total?: number;
  /** The version of the table. Absent: 0, the first version. */
  readonly table?: number;
  /** Only the record that completes a later version has this. */
  readonly replaces?: ReplacedTable;
  readonly content?: unknown;
};

/** The point at which a new version of a table of tasks replaces the former version. */
export type ReplacedTable = {
  /** A hash of the ids and contents of the tasks in the new list. */
  readonly list: string;
  /** The same hash of the list that the new list replaces. */
  readonly former: string;
  /** The first draw that comes from the new version. */
  readonly firstDraw: number;
  /** The first pass that comes from the new version. */
  readonly firstPass: number;
};

export type KeyRecord = {
  readonly kind: 'key';
  readonly name: string;
  /** Null if it was deleted. */
  readonly content: unknown;
};

/** A request of an operator. It changes nothing by itself. */
export type AuditRecord = {
  readonly kind: 'audit';
  /** The time in ISO 8601. */
  readonly at: string;
  /** Name of the key. It is empty if no keys are required. */
  readonly by: string;
  readonly what: string;
  readonly detail: Readonly<Record<string, unknown>>;
};

export type FinishedEpisode = {
  readonly episodeId: string;
  readonly claimId: string;
  readonly fate: 'trained' | 'evaluated' | 'dropped';
  readonly reason?: DropReason;
  readonly step?: number;
  /** Hash of the accepted end. Absent if the episode never ended. */
  readonly bodyHash?: string;
  /** The fate in each policy, if there are several. */
  readonly parts?: Readonly<Record<string, FinishedPart>>;
};

export type FinishedPart = Pick<FinishedEpisode, 'fate' | 'reason' | 'step'>;

/** Replaces all records of a group that is over for good. The fold applies these records before all others. */
export type FinishedRecord = Pick<GroupRecord, 'groupId' | 'draw' | 'share' | 'tryIndex' | 'expiries' | 'purpose'> & {
  readonly kind: 'finished';
  readonly fate: GroupFate;
  readonly returns: boolean;
  readonly step?: number;
  readonly episodes: readonly FinishedEpisode[];
};

export type GroupFate = 'assigned' | 'trained' | 'evaluated' | DropReason;
