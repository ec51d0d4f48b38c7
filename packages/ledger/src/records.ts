import type { TurnReward } from '@agentjet/core';
import type { DropReason } from './drop-reasons.js';
import type { FailedEpisodePolicy } from './rules.js';
import type { ShareAccount } from './shares.js';

/**
 * The entries of the ledger. The state is the fold of its records and nothing else: what no record says has not
 * happened. A record holds everything its own effect depends on, so folding needs neither configuration nor time.
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
  /** Position in the schedule of the share's tasks, from 0. For an evaluation group: position among its tasks. */
  readonly draw: number;
  /** Absent: the share `default`. */
  readonly share?: string;
  /** How many groups this draw made before. */
  readonly tryIndex: number;
  /** How many of those expired. */
  readonly expiries: number;
  readonly purpose: Purpose;
  readonly taskId: string;
  /** What its batch is ordered by. Absent: its id. */
  readonly rank?: string;
  readonly numPlaces: number;
  /** Name of the agent and reward code. A group never mixes two. */
  readonly revision: string;
  /** Revision of the configuration that gives the group its sampling settings. */
  readonly configRevision: number;
  /** It belongs to a window of `order: drawn`: a step covers it even if it was dropped. */
  readonly isDrawn?: boolean;
  /** Which policies train on it. Absent: the only one, `default`. */
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
  /** Random for each start of the client. */
  readonly life: string;
  readonly seed: number;
  /** Name of the key that claimed it, if keys are asked for. */
  readonly keyName?: string;
};

/** A model call was answered. `content` is what rebuilds the tracker; the fold ignores it. */
export type CallRecord = {
  readonly kind: 'call';
  readonly groupId: string;
  readonly episodeId: string;
  readonly requestId: string;
  readonly version: number;
  readonly incarnation: number;
  /** Which policy answered, and whose version it is. Absent: `default`. */
  readonly policy?: string;
  readonly content?: unknown;
  /** Numbers of the content that would be long as text; kept as they are. */
  readonly bytes?: readonly Uint8Array[];
};

/** What a running episode has to remember for its next call. The fold ignores it. */
export type MemoRecord = {
  readonly kind: 'memo';
  readonly groupId: string;
  readonly episodeId: string;
  readonly content: unknown;
};

/** `completed`: with a reward, or waiting for one. `failed`: the agent's own failure. `outage`: the world's. */
export type EndStatus = 'completed' | 'failed' | 'outage';

export type EndRecord = {
  readonly kind: 'end';
  readonly groupId: string;
  readonly episodeId: string;
  readonly status: EndStatus;
  /** Null: not known yet. */
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  /** Identifies the body of the end: a repeated end is compared with it. */
  readonly bodyHash: string;
  /** The policy that was in force: says what a failure means. */
  readonly policy: FailedEpisodePolicy;
  /** Revision of the reward, the claim's unless told otherwise. */
  readonly revision: string;
  /** Generated tokens and seconds, for the comparison of trained with claimed episodes. */
  readonly tokens: number;
  readonly seconds: number;
  /** False: lost while the whole run was paused for an outage, which says nothing about this place. */
  readonly isCounted: boolean;
  /** True: an outage that is treated as a failure, because only this task has them. */
  readonly isSuspect: boolean;
  /** By target, if they differ; a target that is not named has `reward`. */
  readonly rewards?: TargetRewards;
  /** What was earned on the way, in addition to the reward. */
  readonly turnRewards?: readonly PolicyTurnReward[];
  /** The sealed rows and what else was said of the episode. The state does not keep it: it is read from the store. */
  readonly content?: unknown;
  /** Numbers of the content that would be long as text; kept as they are. */
  readonly bytes?: readonly Uint8Array[];
};

/** `policy`: whose turn it is. Absent: `default`. */
export type PolicyTurnReward = TurnReward & { readonly policy?: string };

export type TargetRewards = Readonly<Record<string, number>>;

export type Score = {
  readonly episodeId: string;
  readonly reward: number;
  readonly isSuccess: boolean | null;
  /** By target; absent: every target has `reward`. */
  readonly rewards?: TargetRewards;
};

export type ScoreRecord = {
  readonly kind: 'score';
  readonly groupId: string;
  /** Name of this set of rewards. Null: one episode's first reward, put by its own judge. */
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

/** Places that nobody waits for any longer. Their unpooled episodes are dropped for the reason. */
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
  /** The draw makes another group. */
  readonly returns: boolean;
};

export type ManifestGroup = {
  readonly groupId: string;
  readonly rank?: string;
  /** Under `order: drawn`. */
  readonly draw?: number;
  readonly episodes: readonly ManifestEpisode[];
};

export type IdleGroup = Omit<ManifestGroup, 'episodes'> & { readonly draw: number };

export type ManifestEpisode = {
  readonly episodeId: string;
  readonly place: number;
  readonly reward: number;
  /** Absent: nobody said. */
  readonly isSuccess?: boolean;
  readonly rewards?: TargetRewards;
  readonly turnRewards?: readonly PolicyTurnReward[];
};

/**
 * Everything a step is computed from. Writing it is the decision to train.
 *
 * Worked example: two groups, trained in two optimizer steps over one epoch:
 * `{ kind: 'manifest', step: 4, configRevision: 1, groups: [{ groupId: 'g7', ... }, { groupId: 'g8', ... }],
 *    optimizerSteps: [['g7'], ['g8']] }`
 */
export type ManifestRecord = {
  readonly kind: 'manifest';
  readonly step: number;
  /** Whose step it is. Absent: `default`. */
  readonly policy?: string;
  readonly configRevision: number;
  readonly groups: readonly ManifestGroup[];
  /** Under `order: drawn`: the groups of its draws that were dropped. The step reports on them, and trains nothing of them. */
  readonly idle?: readonly IdleGroup[];
  /** Which groups each optimizer step holds. */
  readonly optimizerSteps: readonly (readonly string[])[];
  /** After this step. Absent in a run without shares. */
  readonly shares?: ShareAccount;
  /** Algorithm, loss, packing, rates, code hash, our version. The fold ignores it. */
  readonly content?: unknown;
};

export type LeftOut = { readonly episodeId: string; readonly reason: DropReason };

/** What became of one optimizer step. */
export type OutcomeRecord = {
  readonly kind: 'outcome';
  readonly step: number;
  readonly policy?: string;
  readonly index: number;
  readonly isApplied: boolean;
  /** Episodes that the step did not hold: `too_long`, `nothing_to_train`. */
  readonly leftOut: readonly LeftOut[];
};

/** An evaluation is over; its groups are never trained. */
export type EvaluationRecord = {
  readonly kind: 'evaluation';
  readonly step: number;
  /** Whose step it is; the others are measured with it. Absent: `default`. */
  readonly policy?: string;
  readonly groupIds: readonly string[];
  /** Number of tasks that the result rests on. */
  readonly restsOn: number;
  /** How long it took. */
  readonly seconds?: number;
  /** False: its rewards are of several revisions, and it compares with nothing. */
  readonly isUsed?: false;
};

export type CheckpointRecord = { readonly kind: 'checkpoint'; readonly step: number; readonly policy?: string };

/** One policy's part of a group that another policy has trained: no step of this one will take it. */
export type PartDroppedRecord = {
  readonly kind: 'part_dropped';
  readonly groupId: string;
  readonly policy: string;
  readonly reason: DropReason;
};

/** Training was sent back to a step: the manifests after it are void. */
export type RewoundRecord = { readonly kind: 'rewound'; readonly toStep: number; readonly policy?: string };

/** Weights may from now on differ from those that the same version numbers meant before. */
export type IncarnationRecord = {
  readonly kind: 'incarnation';
  readonly value: number;
  readonly policy?: string;
};

/** A recovery is finished; `bootId` names the start of the machine under which it ran. */
export type RecoveredRecord = { readonly kind: 'recovered'; readonly bootId: string };

export type OperationRecord = {
  readonly kind: 'operation';
  /** Identifies the order, so that a late copy of it changes nothing. */
  readonly requestId: string;
  /** What was ordered; a checkpoint once it is saved. Absent in stores of earlier versions. */
  readonly order?: RunOrder | 'checkpoint';
  readonly isPaused: boolean;
  readonly isDraining: boolean;
  readonly isStopped: boolean;
};

export type RunOrder = 'start' | 'pause' | 'resume' | 'drain' | 'stop';

export type ConfigRecord = {
  readonly kind: 'config';
  readonly revision: number;
  readonly fromStep: number;
  /** By policy, if there are several; `fromStep` is then that of the first. */
  readonly fromSteps?: Readonly<Record<string, number>>;
  /** Identifies the request, so that its repetition gets the same revision. */
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
  /** Which table: `evaluation`, or else that of training. */
  readonly split?: 'evaluation';
  /** Absent: the share `default`. */
  readonly share?: string;
  /** How many tasks the table has in all, with the part that completes it. */
  readonly total?: number;
  readonly content?: unknown;
};

export type KeyRecord = {
  readonly kind: 'key';
  readonly name: string;
  /** Null: deleted. */
  readonly content: unknown;
};

/** What an operator asked for. It changes nothing by itself. */
export type AuditRecord = {
  readonly kind: 'audit';
  /** Time as ISO 8601 has it. */
  readonly at: string;
  /** Name of the key; empty if none is asked for. */
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
  /** Hash of the accepted end; absent if it never ended. */
  readonly bodyHash?: string;
  /** What became of it in each policy, if there are several. */
  readonly parts?: Readonly<Record<string, FinishedPart>>;
};

export type FinishedPart = Pick<FinishedEpisode, 'fate' | 'reason' | 'step'>;

/** Takes the place of all records of a group that is over for good. The fold applies these before all others. */
export type FinishedRecord = {
  readonly kind: 'finished';
  readonly groupId: string;
  readonly draw: number;
  readonly share?: string;
  readonly tryIndex: number;
  readonly expiries: number;
  readonly purpose: Purpose;
  readonly fate: GroupFate;
  readonly returns: boolean;
  readonly step?: number;
  readonly episodes: readonly FinishedEpisode[];
};

export type GroupFate = 'assigned' | 'trained' | 'evaluated' | DropReason;
