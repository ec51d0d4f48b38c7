import { createHash } from 'node:crypto';
import { AgentJetError, ConfigError, type CommonConfig, type Task } from '@agentjet/core';
import type { Conversation, Transcript } from './conversation.js';
import { countImitated, longestRow, toExampleRow, type Example, type ExampleRow } from './example.js';
import { contentOfTask, createHeldOutTasks, hasContent, normalize } from './held-out-tasks.js';
import { replayTranscript, type ReplayOptions } from './replay-transcript.js';
import { splitExamples, type SplitExamples } from './split-examples.js';

/** The reasons why transcripts are not trained. */
export type SkipReason =
  | 'failed'
  | 'not_successful'
  | 'below_min_reward'
  | 'held_out_task'
  | 'nothing_imitated'
  | 'unprintable'
  | 'refused_by_template'
  | 'too_long'
  | 'duplicate';

export type DropCounts = Readonly<Partial<Record<SkipReason, number>>>;

export type PreparedExamples = SplitExamples & {
  readonly dropped: DropCounts;
  /** The location and the error of the first transcript that was left out, for each reason. */
  readonly firstDropped: Readonly<Partial<Record<SkipReason, string>>>;
  /** SHA-256 of everything that is trained, in order. Equal hashes mean equal training. */
  readonly sha256: string;
};

export type PrepareOptions = {
  readonly config: CommonConfig;
  readonly replay: ReplayOptions;
  readonly evaluationTasks: readonly Task[];
  readonly signal?: AbortSignal | undefined;
};

type Dropped = { readonly reason: SkipReason; readonly message?: string };

/**
 * Turns transcripts into tokens, and splits them into examples that are trained and held out. Throws ConfigError
 * `example_too_long` if `sft.overlong` is `error`, and `nothing_to_imitate` if nothing is left.
 */
export async function prepareExamples(
  transcripts: readonly Transcript[],
  { config, replay, evaluationTasks, signal }: PrepareOptions,
): Promise<PreparedExamples> {
  const isHeldOut = createHeldOutTasks(evaluationTasks);
  const dropped: Partial<Record<SkipReason, number>> = {};
  const firstDropped: Partial<Record<SkipReason, string>> = {};
  const seen = new Set<string>();
  const examples: Example[] = [];
  for (const transcript of transcripts) {
    if (signal?.aborted) throw new AgentJetError('aborted', 'Stopped before anything was trained.');
    const outcome = findUnwanted(transcript, config, isHeldOut) ?? (await toExample(transcript, config, replay));
    const found = 'reason' in outcome ? outcome : (findOverlong(outcome, config) ?? findDuplicate(outcome, seen));
    if (found === undefined) examples.push(outcome as Example);
    else {
      dropped[found.reason] = (dropped[found.reason] ?? 0) + 1;
      firstDropped[found.reason] ??= [transcript.place, found.message].filter(Boolean).join(': ');
    }
  }
  const split = splitExamples(examples, config.sft.heldOut);
  if (split.training.length === 0) throw nothingLeft(transcripts.length, dropped, firstDropped);
  return { ...split, dropped, firstDropped, sha256: sumOf(split.training) };
}

function findUnwanted(
  transcript: Transcript,
  { sft }: CommonConfig,
  isHeldOut: (transcript: Transcript) => boolean,
): Dropped | undefined {
  const { hasFailed, isSuccess, reward } = transcript;
  if (hasFailed) return { reason: 'failed' };
  if (sft.onlySuccess && isSuccess === false) return { reason: 'not_successful' };
  if (sft.minReward !== null && reward !== null && reward < sft.minReward) return { reason: 'below_min_reward' };
  return isHeldOut(transcript) ? { reason: 'held_out_task' } : undefined;
}

async function toExample(
  transcript: Transcript,
  config: CommonConfig,
  replay: ReplayOptions,
): Promise<Example | Dropped> {
  const isImitated = wantedAgents(config);
  const { id, place, reward, tokens } = transcript;
  const common = { id, place, reward, taskKey: taskKeyOf(transcript) };
  if (tokens !== undefined) {
    const rows = tokens.rows.filter(isImitated);
    return imitatesAnything(rows) ? { ...common, rows, turns: [] } : { reason: 'nothing_imitated' };
  }
  const conversations = transcript.conversations.filter(isImitated).filter(({ imitated }) => imitated.includes(true));
  if (conversations.length === 0) return { reason: 'nothing_imitated', ...describeOthers(transcript, config) };
  const replayed = await replayTranscript({ ...transcript, conversations }, replay);
  if ('refused' in replayed) return { reason: replayed.refused, message: replayed.message };
  const rows = replayed.samples.map(toExampleRow);
  return imitatesAnything(rows) ? { ...common, rows, turns: replayed.turns } : { reason: 'nothing_imitated' };
}

type Agent = Pick<Conversation, 'agentName' | 'targetTag'>;

function wantedAgents({ sft, trainableTargets }: CommonConfig): (agent: Agent) => boolean {
  const wanted = sft.agents ?? trainableTargets;
  return ({ agentName, targetTag }) =>
    wanted === null || wanted.includes(targetTag) || (sft.agents !== null && wanted.includes(agentName));
}

/** Names the agents that answered, if none of them is wanted. */
function describeOthers(
  { conversations }: Transcript,
  { sft, trainableTargets }: CommonConfig,
): { readonly message?: string } {
  const answered = conversations.filter(({ imitated }) => imitated.includes(true)).map(({ agentName }) => agentName);
  const [key, wanted] = sft.agents === null ? ['trainable_targets', trainableTargets] : ['sft.agents', sft.agents];
  if (answered.length === 0 || wanted === null) return {};
  return { message: `its agent is ${[...new Set(answered)].join(', ')}, and ${key} names ${wanted.join(', ')}` };
}

function imitatesAnything(rows: readonly ExampleRow[]): boolean {
  return rows.some(({ lossMask }) => lossMask.includes(1));
}

/**
 * Returns a key for the task. It is the task's content if this is known, because different sources may use the same
 * ids. Otherwise it is the task's id, or the first messages of the conversation.
 */
function taskKeyOf({ task, tokens, conversations }: Transcript): string {
  if (tokens !== undefined) return `id ${tokens.taskId}`;
  if (task !== null) return hasContent(task) ? `content ${contentOfTask(task)}` : `id ${task.taskId}`;
  const first = conversations[0]?.messages.find(({ role }) => role === 'user')?.content ?? '';
  return `question ${normalize(first)}`;
}

/** Throws ConfigError `example_too_long` if `sft.overlong` is `error`. */
function findOverlong(example: Example, { sft, rollout }: CommonConfig): Dropped | undefined {
  const limit = sft.maxLength ?? rollout.maxModelLen;
  const length = longestRow(example);
  if (length <= limit) return undefined;
  const message = `${length} tokens, and ${sft.maxLength === null ? 'rollout.max_model_len' : 'sft.max_length'} is ${limit}`;
  if (sft.overlong === 'drop') return { reason: 'too_long', message };
  throw new ConfigError(
    'example_too_long',
    `${example.place} has ${message}. Raise it (as far as the model allows), shorten the conversation, or set sft.overlong=drop.`,
  );
}

function findDuplicate(example: Example, seen: Set<string>): Dropped | undefined {
  const sum = sumOf([example]);
  if (seen.has(sum)) return { reason: 'duplicate' };
  seen.add(sum);
  return undefined;
}

function sumOf(examples: readonly Example[]): string {
  const hash = createHash('sha256');
  for (const { rows } of examples)
    for (const { ids, lossMask } of rows) hash.update(`${ids.length} `).update(ids).update(lossMask);
  return hash.digest('hex');
}

function nothingLeft(total: number, dropped: DropCounts, firstDropped: PreparedExamples['firstDropped']): ConfigError {
  const reasons = describeDropped(dropped);
  const firsts = Object.values(firstDropped).map((place) => `\n  - ${place}`);
  return new ConfigError(
    'nothing_to_imitate',
    `No example is left to imitate, of ${total}: ${reasons === '' ? 'sft.transcripts is empty' : reasons}.${firsts.length === 0 ? '' : ` The first of each:${firsts.join('')}`}`,
  );
}

const reasonWords: Readonly<Record<SkipReason, string>> = {
  failed: 'failed',
  not_successful: 'not successful',
  below_min_reward: 'below sft.min_reward',
  held_out_task: 'of an evaluation task',
  nothing_imitated: 'without an answer to imitate',
  unprintable: 'changed by the chat template',
  refused_by_template: 'refused by the chat template',
  too_long: 'too long',
  duplicate: 'repeated',
};

/**
 * Describes the transcripts that were dropped, such as "12 not successful, 3 repeated". Returns an empty string if none
 * was dropped.
 */
export function describeDropped(dropped: DropCounts): string {
  return Object.entries(dropped)
    .map(([reason, count]) => `${count} ${reasonWords[reason as SkipReason]}`)
    .join(', ');
}

export function countTokens(examples: readonly Example[]): { readonly tokens: number; readonly imitated: number } {
  return {
    tokens: examples.reduce((sum, { rows }) => sum + rows.reduce((all, { ids }) => all + ids.length, 0), 0),
    imitated: examples.reduce((sum, example) => sum + countImitated(example), 0),
  };
}
