import type { Rate } from '@agentjet/core/success';
import type { Examination } from './finding.js';
import type { FigureSeries } from './figures/series.js';

/** The names of the figures that causes read. Every source maps its metrics to these names. */
export const figureNames = [
  'reward', // mean reward of the training episodes
  'success', // share of the training episodes that succeeded
  'equal_groups', // share of groups whose rewards are all equal
  'entropy', // nats per token
  'kl', // nats per token to the reference model
  'clipped', // share of tokens whose gradient the clip removed
  'grad_norm', // before it is clipped
  'rate', // learning rate
  'answer_tokens', // mean tokens of an answer, or of an episode's answers
  'cut', // share of answers that a token limit cut
  'gap', // mean difference between the log-probabilities of sampler and trainer, in nats
  'outages', // share of attempts that were lost to outages
  'judge_outages', // share of attempts that waited for a judge that could not be reached
  'failed', // share of episodes that failed
] as const;

export type FigureName = (typeof figureNames)[number];

/** An evaluation on held-out tasks. */
export type ExaminedEvaluation = {
  readonly step: number;
  /** Success from 0 to 1, or a score of any scale if the source has no success. */
  readonly score: number;
  /** The 95% interval of the score. Absent if it is not known. */
  readonly low?: number;
  readonly high?: number;
  readonly temperature?: number;
  /** Success by kind of task. */
  readonly kinds?: ReadonlyMap<string, Rate & { readonly tasks: number }>;
};

/** The settings that causes quote. A setting is absent if the source does not know it. */
export type ExaminedSettings = {
  readonly groupSize?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** -1 or 0 for all tokens. */
  readonly topK?: number;
  readonly rate?: number;
  readonly answerLimit?: number;
  readonly contextLimit?: number;
  readonly usesKl?: boolean;
  readonly klCoefficient?: number;
  readonly entropyCoefficient?: number;
  readonly clip?: number;
  /** Optimizer steps that train the same samples, or samples of an older policy. */
  readonly trainsStale?: boolean;
  readonly reportBy?: string;
  readonly judge?: string;
  /** Whether the run trains further policies. Their tokens are not in these records, and rewards may depend on them. */
  readonly isOneOfSeveral?: boolean;
};

/** The part of an episode's record that causes read. */
export type EpisodeOf = {
  readonly id: string;
  readonly step: number;
  readonly phase: 'train' | 'evaluation';
  readonly group: string;
  readonly task: string;
  /** Equal for tasks that differ only in their ids. Undefined if the record does not have the whole task. */
  readonly content: string | undefined;
  readonly status: 'completed' | 'failed';
  readonly reward: number | undefined;
  readonly success: boolean;
  readonly parts: Readonly<Record<string, number>>;
  readonly reason: string | undefined;
  readonly error: { readonly code: string; readonly message: string; readonly outage: boolean } | undefined;
  readonly seconds: number;
  readonly tokens: number;
  readonly answers: number;
  readonly cut: number;
  /** Answers to requests that offered tools, and answers that call one. */
  readonly withTools: number;
  readonly callingTools: number;
  /** Tool calls that cannot be read. */
  readonly malformedCalls: number;
  /** Tool calls that could not be used: not readable, of unknown tools, or with wrong arguments. */
  readonly badCalls: number;
  /** Results of tools, and those of them that report an error. */
  readonly toolResults: number;
  readonly toolErrors: number;
  readonly swallowed: number;
  /** Seconds that it waited for a judge that could not be reached. Undefined if its judge answered at once. */
  readonly waited: number | undefined;
  /** Turns that began a new branch, by cause. */
  readonly forks: Readonly<Record<string, number>>;
  readonly kind: string | undefined;
  /** What the agent answered in the end, if the record has it. */
  readonly answer: string | undefined;
  /** The right answer, if the record has it and the verdict is about the answer alone. */
  readonly expected: string | undefined;
  /** Equal for episodes in which the model saw and wrote the same tokens. */
  readonly tokensHash: string;
};

/** The records of a run as causes read them, wherever they come from. */
export type ExaminedRun = {
  readonly source: Examination['source'];
  readonly steps: number;
  readonly figures: Readonly<Partial<Record<FigureName, FigureSeries>>>;
  /** The number of groups in each step, as far as it is known. */
  readonly groups: FigureSeries;
  /** The parts of the reward by name. */
  readonly parts: ReadonlyMap<string, FigureSeries>;
  readonly evaluations: readonly ExaminedEvaluation[];
  readonly settings: ExaminedSettings;
  /** The number of training tasks. */
  readonly trainingTasks?: number;
  /** Undefined if the source has metrics alone. */
  readonly episodes: readonly EpisodeOf[] | undefined;
  /** See `Examination`. */
  readonly episodesOf?: Examination['episodesOf'];
};
