import type { ChatRequest, ChatResponse } from '@agentjet/core';
import type { Episode } from '@agentjet/rollout';

/** One model call as the agent's framework made it. */
export type TranscriptCall = {
  readonly agentName: string;
  /** The agent's name unless given. */
  readonly targetTag?: string;
  readonly request: ChatRequest;
  readonly seconds: number;
  /** In milliseconds since the episode began. */
  readonly beganMs: number;
  /** Present for an agent that does not learn: the model that answers it. */
  readonly untrainedModel?: string;
} & ({ readonly response: ChatResponse } | { readonly error: string });

/** An episode in messages, for reading. */
export type EpisodeTranscript = { readonly episode: Episode; readonly calls: readonly TranscriptCall[] };

/** How well the model foresees answers that it was not trained on. */
export type HeldOutLoss = {
  /** After how many optimizer steps. */
  readonly step: number;
  /** Nats per imitated token. */
  readonly loss: number;
  readonly tokens: number;
  readonly examples: number;
  readonly seconds: number;
};

/** `evaluate`, `sample` and `debug` run episodes; `train` makes one optimizer step. */
export type Phase = 'evaluate' | 'sample' | 'train' | 'debug';

/** How good the model is on the evaluation tasks. */
export type Evaluation = {
  /** After how many optimizer steps. */
  readonly step: number;
  readonly episodes: number;
  readonly failedEpisodes: number;
  /** Of the failed ones, those that the world or the judge lost: they count in no mean. Absent if there are none. */
  readonly unscoredEpisodes?: number;
  /** Places that no episode has filled when the patience with a swarm's clients was over. Absent if there are none. */
  readonly missingEpisodes?: number;
  /** Share of the scored episodes that succeeded, 0..1; a failed episode did not. */
  readonly successRate: number;
  /** Over the scored episodes; a failed one counts as 0. */
  readonly rewardMean: number;
  /** Answers of models that learn. */
  readonly answers: number;
  /** Answers that a token limit cut. */
  readonly cutAnswers: number;
  readonly generatedTokens: number;
  readonly seconds: number;
  /** Means of what the workflow logged. */
  readonly logMetrics: Readonly<Record<string, number>>;
  /** Means of the judge's parts (`judge/<name>`) and of rewards of single targets (`reward/<target>`), if there are any. */
  readonly means?: Readonly<Record<string, number>>;
  /** With several episodes per task (`val_pass_n`): the share of tasks of which any episode, or all of them, succeeded. */
  readonly passes?: { readonly episodesPerTask: number; readonly any: number; readonly all: number };
};

/** One line of metrics.jsonl. */
export type StepMetrics = Readonly<Record<string, number>>;

/** How a job ended. */
export type JobResult = {
  /** Null if nothing is written: backbone `debug`. */
  readonly runDir: string | null;
  /** Folder of the tuned model in the Hugging Face layout; null when nothing was trained. */
  readonly modelDir: string | null;
  /** Null if there was no evaluation. */
  readonly successBefore: number | null;
  readonly successAfter: number | null;
  /** Wall time of this process, loading included. */
  readonly seconds: number;
  /** Episodes of training steps. */
  readonly secondsSampling: number;
  readonly secondsTraining: number;
  readonly secondsEvaluating: number;
  /** The number of optimizer steps that the model has had, including those before a resume. */
  readonly policyVersion: number;
  /** Whether the run was stopped before its last step. */
  readonly isInterrupted: boolean;
  /** Only with `debug.collect`: what has been kept. */
  readonly collected?: { readonly episodes: number; readonly successes: number; readonly failed: number };
};

/** How a run that imitates transcripts ended. */
export type SftResult = Pick<
  JobResult,
  'modelDir' | 'policyVersion' | 'seconds' | 'secondsTraining' | 'secondsEvaluating' | 'isInterrupted'
> & {
  readonly runDir: string;
  /** Nats per token on the examples that are held out; null if there are none, or they were not asked for. */
  readonly lossBefore: number | null;
  readonly lossAfter: number | null;
  readonly examples: number;
  readonly heldOutExamples: number;
  /** How many examples were left out, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly steps: number;
};

/** How much a run has before it. `firstStep` is more than 1 after a resume. */
export type RunPlan = {
  readonly firstStep: number;
  readonly totalSteps: number;
  readonly tasksPerStep: number;
  readonly episodesPerTask: number;
  /** What a step is made of; tasks unless given. */
  readonly unit?: 'example';
};

/** What happens in a job, in order, for a part that shows it. */
export type JobEvent =
  /** `modelSummary`: its parameters, memory and time, if they are known before. */
  | {
      readonly type: 'run_started';
      readonly runDir: string;
      readonly model: string;
      readonly modelSummary?: string;
      readonly plan: RunPlan;
    }
  | { readonly type: 'phase_started'; readonly phase: Phase; readonly step: number; readonly episodes: number }
  | { readonly type: 'episode_finished'; readonly phase: Phase; readonly step: number; readonly episode: Episode }
  | { readonly type: 'phase_finished'; readonly phase: Phase; readonly step: number; readonly seconds: number }
  /** `subject`: the model folder, where it is evaluated outside of a run. */
  | { readonly type: 'evaluated'; readonly evaluation: Evaluation; readonly subject?: string }
  | {
      readonly type: 'step_finished';
      readonly step: number;
      readonly totalSteps: number;
      readonly metrics: StepMetrics;
    }
  /** The loss on transcripts that are not trained. */
  | { readonly type: 'held_out'; readonly heldOut: HeldOutLoss }
  | { readonly type: 'sft_finished'; readonly result: SftResult }
  | { readonly type: 'checkpoint_saved'; readonly step: number; readonly dir: string }
  | { readonly type: 'transcript'; readonly transcript: EpisodeTranscript }
  | { readonly type: 'notice'; readonly message: string }
  /** Whether episodes are kept from beginning, because the world is down or the judge is away. */
  | { readonly type: 'pause'; readonly isHeld: boolean }
  | { readonly type: 'run_finished'; readonly result: JobResult };

export type JobListener = (event: JobEvent) => void;
