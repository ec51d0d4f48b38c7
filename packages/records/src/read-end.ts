import type { Task, TurnReward } from '@agentjet/core';
import { unpackTurns, type CountsByAgent, type PackedTurns, type TrackerStats } from '@agentjet/context-tracker';
import { isOf, type EndRecord, type PolicyTurnReward, type TargetRewards } from '@agentjet/ledger';
import {
  noCalls,
  nothingTracked,
  type CallCounts,
  type Episode,
  type EpisodeError,
  type SpanRecord,
  type SwallowedError,
  type UntrainedCall,
} from '@agentjet/rollout';
import { openRows, type RowSpans } from './sealed-rows.js';

/**
 * The `content` of an end record, in the ledgers of runs and swarms. A field that is zero, empty or unknown may be
 * missing.
 */
export type EndContent = {
  /** The id of the episode in its step, if the ledger has another id for it. */
  readonly name?: string;
  /** The version of the weights that gave the episode's answers. Present only if no recorded call states it. */
  readonly incarnation?: number;
  readonly task_id?: string;
  readonly main_query?: string;
  /** The metadata of the task, without long values. */
  readonly task_metadata?: Task['metadata'];
  /** The index of the episode's place in its group. */
  readonly repeat_index?: number;
  readonly seed?: number;
  /** Default: 1. */
  readonly attempt?: number;
  /** The time that the client measured. Default: the time in the end record. */
  readonly seconds?: number;
  readonly seconds_judging?: number;
  readonly judge_outage?: NonNullable<Episode['judgeOutage']>;
  /** In milliseconds since 1970. */
  readonly began_at?: number;
  readonly spans?: readonly StoredSpan[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly log_metrics?: Readonly<Record<string, number>>;
  readonly parts?: Readonly<Record<string, number>>;
  readonly reason?: string;
  readonly error?: EpisodeError;
  /** Rewards of a failed episode. They are recorded but not trained. */
  readonly turn_rewards?: readonly TurnReward[];
  /** The calls of agents that do not learn, as our client sends them, or any value that another client sends. */
  readonly messages?: readonly Readonly<Record<string, unknown>>[];
  readonly swallowed_errors?: readonly {
    readonly agent_name: string;
    readonly code: string;
    readonly message: string;
    readonly times: number;
  }[];
  /** The fields that differ between policies. */
  readonly policies?: Readonly<Record<string, PolicyContent>>;
} & PolicyContent;

type PolicyContent = {
  readonly rows?: readonly RowSpans[];
  readonly turns?: PackedTurns;
  /** What the last answer says. */
  readonly answer?: string;
  readonly stats?: Partial<TrackerStats>;
  readonly calls?: Partial<CallCounts>;
  readonly ignored_parameters?: CountsByAgent<string>;
  /** The offset of these rows in the bytes of the end record. Default: 0. */
  readonly bytes_at?: number;
};

type StoredSpan = {
  readonly name: string;
  readonly began_ms: number;
  readonly ended_ms: number;
  readonly has_failed: boolean;
};

type Swallowed = NonNullable<EndContent['swallowed_errors']>[number];

/** An attempt of a swarm. The place and the task in its end record take precedence over `seat`. */
export type Ended = {
  readonly episodeId: string;
  /** The values of fields that the end record leaves out. */
  readonly seat?: { readonly taskId: string; readonly place: number; readonly attempt: number; readonly seed: number };
  /** Undefined if the attempt was lost before it ended. */
  readonly end: EndRecord | undefined;
  /** The current reward, which may be revised later. Null if there is none yet. */
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  readonly rewards?: TargetRewards | undefined;
  /** The reason if the attempt was dropped. */
  readonly dropped?: string | undefined;
};

/** Returns the episode of an end record in the form of an ordinary run. It contains the turns and rows of `policy`. */
export function readEnd(ended: Ended, policy: string): Episode {
  const { end, episodeId, seat } = ended;
  const content = contentOf(end, policy);
  const { rows = [], bytes_at: from, metadata = {}, log_metrics: logMetrics = {}, turns, calls } = content;
  const { attempt = seat !== undefined && seat.attempt > 1 ? seat.attempt : undefined } = content;
  const swallowed = content.swallowed_errors?.map(toSwallowedError);
  const spans = content.spans?.map(toSpan);
  const untrained = toUntrainedCalls(content.messages);
  const paid: readonly PolicyTurnReward[] = end?.turnRewards ?? content.turn_rewards ?? [];
  const turnRewards = paid.filter((each) => isOf(each, policy)).map(toTurnReward);
  return {
    episodeId,
    task: toTask(content.task_id ?? seat?.taskId ?? '', content),
    repeatIndex: content.repeat_index ?? seat?.place ?? 0,
    seed: content.seed ?? seat?.seed ?? 0,
    samples: openRows(episodeId, rows, end?.bytes?.slice(from)),
    turns: turns === undefined ? [] : unpackTurns(turns),
    stats: statsOf(content, end),
    calls: { ...noCalls, ...calls },
    ignoredParameters: content.ignored_parameters ?? {},
    metadata,
    logMetrics,
    seconds: content.seconds ?? end?.seconds ?? 0,
    ...(content.answer !== undefined && { answer: content.answer }),
    ...(content.began_at !== undefined && { beganAt: content.began_at }),
    ...(content.seconds_judging !== undefined && { secondsJudging: content.seconds_judging }),
    ...(content.judge_outage !== undefined && { judgeOutage: content.judge_outage }),
    ...(spans !== undefined && { spans }),
    ...(attempt !== undefined && { attempt }),
    ...(swallowed !== undefined && { swallowedErrors: swallowed }),
    ...(untrained !== undefined && { untrainedCalls: untrained }),
    ...(turnRewards.length > 0 && { turnRewards }),
    ...toOutcome(ended, content),
  };
}

/** Returns a task with only the id, the text and the metadata, because a record has no other fields of its task. */
const toTask = (taskId: string, { main_query: mainQuery = '', task_metadata: metadata = {} }: EndContent): Task => {
  return { taskId, mainQuery, initMessages: [], metadata };
};

/** Returns the content of the end record for one policy. */
export function contentOf(end: EndRecord | undefined, policy: string): EndContent {
  const content = (end?.content ?? {}) as EndContent;
  return { ...content, ...content.policies?.[policy] };
}

const toSpan = ({ name, began_ms: beganMs, ended_ms: endedMs, has_failed: hasFailed }: StoredSpan): SpanRecord => {
  return { name, beganMs, endedMs, hasFailed };
};

const toSwallowedError = ({ agent_name: agentName, ...error }: Swallowed): SwallowedError => ({ agentName, ...error });

const toTurnReward = ({ agentName, turnIndex, value }: PolicyTurnReward): TurnReward => ({
  agentName,
  turnIndex,
  value,
});

function statsOf({ stats, policies }: EndContent, end: EndRecord | undefined): TrackerStats {
  const generatedTokens = policies === undefined ? (end?.tokens ?? 0) : 0;
  return { ...nothingTracked, generatedTokens, ...stats };
}

type Outcome = Pick<Extract<Episode, { status: 'completed' }>, 'status' | 'reward' | 'isSuccess'> | Failure;
type Failure = Pick<Extract<Episode, { status: 'failed' }>, 'status' | 'error'>;

function toOutcome({ end, reward, isSuccess, rewards, dropped }: Ended, content: EndContent): Outcome {
  const { parts, reason } = content;
  if (end === undefined) return lost(dropped ?? 'no_end', 'The attempt was lost before it ended.', 'connection');
  if (end.status !== 'completed') return { status: 'failed', error: errorOf(end, content.error) };
  if (reward === null) return lost('no_reward', 'No reward came for this episode.', 'judge');
  return {
    status: 'completed',
    reward,
    isSuccess: isSuccess ?? false,
    ...(rewards !== undefined && { rewards }),
    ...(parts !== undefined && { parts }),
    ...(reason !== undefined && { reason }),
  };
}

/**
 * Returns the error of an attempt. The ledger decides whether an outage caused the failure, even if the client reported
 * no outage.
 */
function errorOf({ status, isSuspect }: EndRecord, said: EpisodeError | undefined): EpisodeError {
  const isOutage = status === 'outage' || isSuspect;
  const error = said ?? { code: isOutage ? 'outage' : 'workflow_failed', message: 'The client gave no reason.' };
  return isOutage && error.outage === undefined
    ? { ...error, outage: { source: 'workflow', host: 'workflow' } }
    : error;
}

function lost(code: string, message: string, source: 'connection' | 'judge' | 'workflow'): Failure {
  return { status: 'failed', error: { code, message, outage: { source, host: source } } };
}

/**
 * Converts the recorded messages to calls. If another client than ours recorded them, they become one call of an agent
 * without a name.
 */
function toUntrainedCalls(messages: EndContent['messages']): readonly UntrainedCall[] | undefined {
  if (messages === undefined || messages.length === 0) return undefined;
  if (messages.every(isCall)) return messages as readonly UntrainedCall[];
  const said = messages.map(({ role, content, ...more }) => {
    const isAtValTemperature =
      typeof role === 'string' && typeof content === 'string' && Object.keys(more).length === 0;
    return isAtValTemperature
      ? { role, content }
      : { role: 'user', content: JSON.stringify({ role, content, ...more }) };
  }) as UntrainedCall['messages'];
  return [{ agentName: '', model: '', repeatedMessages: 0, messages: said, answer: null, beganMs: 0, endedMs: 0 }];
}

const isCall = (message: Readonly<Record<string, unknown>>): boolean =>
  typeof message['agentName'] === 'string' && Array.isArray(message['messages']) && 'answer' in message;
