import type { DropReason } from './drop-reasons.js';
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
 * What the records say, as maps. Only the fold changes a state; everything else reads it. Groups and episodes keep the
 * order in which they began.
 */
export type LedgerState = PolicyLine & {
  readonly groups: Map<string, LedgerGroup>;
  readonly episodes: Map<string, LedgerEpisode>;
  /** Claim id to episode id. */
  readonly claims: Map<string, string>;
  /** By share. */
  readonly schedules: Map<string, Schedule>;
  /** Of policies other than `default`; read with `lineOf`. */
  readonly lines: Map<string, PolicyLine>;
  readonly configs: ConfigRecord[];
  /** By `taskKey`: the same id may be in both tables. */
  readonly tasks: Map<string, TaskRecord>;
  readonly keys: Map<string, KeyRecord>;
  readonly audit: AuditRecord[];
  operation: OperationRecord;
  /** What was ordered, by the ids of the requests. */
  readonly operationIds: Map<string, NonNullable<OperationRecord['order']>>;
  bootId: string | undefined;
  /** Groups whose records may be gone, and their episodes. */
  readonly finished: FinishedGroups;
};

/** How far the weights of one policy are. */
export type PolicyLine = {
  /** What the batches so far had of each share. */
  shares: ShareAccount;
  readonly manifests: Map<number, ManifestRecord>;
  readonly outcomes: Map<number, (OutcomeRecord | undefined)[]>;
  /** Step of the newest manifest. A version of the weights is a manifest. */
  step: number;
  /** The newest step there ever was: above `step` only after training was sent back. */
  highestStep: number;
  readonly checkpoints: Set<number>;
  readonly evaluations: Map<number, EvaluationRecord>;
  incarnation: number;
};

/**
 * `open`: may be claimed. `taken`: an attempt runs, or waits for its score. `filled`: a pooled episode.
 * `given_up`: nobody tries again. A group is closed if none of its places is open or taken.
 */
export type PlaceState = 'open' | 'taken' | 'filled' | 'given_up';

export type Place = {
  /** Attempts begun. */
  attempts: number;
  /** Attempts lost to the world that count against `maxAttempts`. */
  losses: number;
  isGivenUp: boolean;
  episodeId: string | undefined;
};

export type LedgerGroup = GroupRecord & {
  readonly places: readonly Place[];
  /** All of its attempts so far, those too that were lost. */
  readonly episodeIds: string[];
  /** What became of it; undefined while it is sampled or pooled. */
  fate: GroupFate | undefined;
  /** The step whose manifest holds it; with several policies the parts say it. */
  step: number | undefined;
  /** By policy, once one of several has taken it. */
  parts: Map<string, GroupPart> | undefined;
  /** Name of the newest rewards that were put for the whole group. */
  scoreRevision: string | null;
};

export type EpisodeState = 'running' | 'ended' | 'pooled' | 'assigned' | 'trained' | 'evaluated' | 'dropped';

export type CallMark = Pick<CallRecord, 'requestId' | 'version' | 'incarnation' | 'policy'>;

export type LedgerEpisode = ClaimRecord & {
  state: EpisodeState;
  reason: DropReason | undefined;
  /** By policy, once one of several has taken it. */
  parts: Map<string, EpisodePart> | undefined;
  readonly calls: CallMark[];
  /** The accepted end, without its content and its bytes. */
  end: Omit<EndRecord, 'content' | 'bytes'> | undefined;
  reward: number | null;
  isSuccess: boolean | null;
  /** By target, if they differ. */
  rewards: TargetRewards | undefined;
  /** Revision of the reward it has. */
  rewardRevision: string | null;
};

/** How far the tasks of a share are drawn. */
export type Schedule = {
  readonly draws: Map<number, DrawState>;
  /** Draws that make another group, oldest first. */
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
    keys: new Map(),
    audit: [],
    operation: { kind: 'operation', requestId: '', isPaused: false, isDraining: false, isStopped: false },
    operationIds: new Map(),
    bootId: undefined,
    finished,
  };
}

/** The schedule of a share; an empty one, which is not part of the state, if nothing was drawn of it yet. */
export const scheduleOf = (
  { schedules }: Pick<LedgerState, 'schedules'>,
  share: string | undefined = defaultShare,
): Schedule => schedules.get(share) ?? { draws: new Map(), returned: new Set(), nextDraw: 0 };

/** Under which a task is kept in `LedgerState.tasks`. */
export const taskKey = ({ taskId, split, share }: Pick<TaskRecord, 'taskId' | 'split' | 'share'>): string =>
  [
    ...(share === undefined || share === defaultShare ? [] : ['share', share]),
    ...(split === undefined ? [] : [split]),
    taskId,
  ].join('\u0000');
