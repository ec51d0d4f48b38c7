import type { ChatRequest, ChatResponse, MetricValues } from '@agentjet/core';
import type { Interval, KindScore, KindSuccess, RateDifference } from '@agentjet/core/success';
import type { Episode } from '@agentjet/rollout';

/** One model call as the agent's framework made it. */
export type TranscriptCall = {
  readonly agentName: string;
  /** Default: the agent's name. */
  readonly targetTag?: string;
  readonly request: ChatRequest;
  readonly seconds: number;
  /** In milliseconds since the episode began. */
  readonly beganMs: number;
  /** The model of an agent that does not learn. Absent for an agent that learns. */
  readonly untrainedModel?: string;
} & ({ readonly response: ChatResponse } | { readonly error: string });

/** An episode as messages, for people to read. */
export type EpisodeTranscript = { readonly episode: Episode; readonly calls: readonly TranscriptCall[] };

/** The loss of the model on answers that it was not trained on. */
export type HeldOutLoss = {
  /** The number of optimizer steps before the measurement. */
  readonly step: number;
  /** Nats per imitated token. */
  readonly loss: number;
  readonly tokens: number;
  readonly examples: number;
  readonly seconds: number;
};

/** `evaluate`, `sample`, `probe` and `debug` run episodes; `train` makes one optimizer step. */
export type Phase = 'evaluate' | 'sample' | 'train' | 'probe' | 'debug';

/** The results of the model on the evaluation tasks. */
export type Evaluation = {
  /** The number of optimizer steps before the measurement. */
  readonly step: number;
  readonly episodes: number;
  readonly failedEpisodes: number;
  /**
   * The failed episodes that were lost to an outage or to the judge. No mean includes them. Absent if there are none.
   */
  readonly unscoredEpisodes?: number;
  /**
   * The number of episodes that clients had not finished when the server stopped waiting for them. Absent if it is 0.
   */
  readonly missingEpisodes?: number;
  /** Share of the scored episodes that succeeded, 0..1. A failed episode is not a success. */
  readonly successRate: number;
  /** The 95% interval of the success rate. */
  readonly interval: Interval;
  /** The temperature of the episodes, unless their requests asked for another one. */
  readonly temperature: number;
  /** The scored episodes by task, in the order of the tasks. */
  readonly scores: readonly TaskResult[];
  /** Success by kind of task. Kinds with the most tasks come first. Absent if no task has a kind. */
  readonly kinds?: readonly KindSuccess[];
  /** The change since the first evaluation of the run, on the tasks that both have. Absent for the first one. */
  readonly change?: EvaluationChange;
  /** The results of further episodes that were sampled as in training. Present if `val_sampled` is above 0. */
  readonly sampled?: SampledResult;
  /** The mean over the scored episodes; a failed episode counts as 0. */
  readonly rewardMean: number;
  /** Answers of models that learn. */
  readonly answers: number;
  /** Answers that a token limit cut. */
  readonly cutAnswers: number;
  readonly generatedTokens: number;
  readonly seconds: number;
  /** Means of what the workflow logged. */
  readonly logMetrics: Readonly<Record<string, number>>;
  /**
   * Means of the judge's parts (`judge/<name>`) and of rewards of single targets (`reward/<target>`), if there are any.
   */
  readonly means?: MetricValues;
  /**
   * The shares of tasks of which at least one episode, or every episode, succeeded. Present if `val_pass_n` is above 1.
   */
  readonly passes?: { readonly episodesPerTask: number; readonly any: number; readonly all: number };
};

/** The scored episodes of one task in an evaluation. */
export type TaskResult = KindScore & { readonly taskId: string };

/**
 * `sinceStep`: the step of the earlier evaluation that this one is compared with. `tasks`: the number of tasks that are
 * in both evaluations.
 */
export type EvaluationChange = RateDifference & { readonly sinceStep: number; readonly tasks: number };

/** Success at the sampling settings of the training. */
export type SampledResult = {
  readonly temperature: number;
  readonly successRate: number;
  readonly interval: Interval;
  readonly episodes: number;
};

/** One line of metrics.jsonl. */
export type StepMetrics = Readonly<Record<string, number>>;

/** How a run ended for one of several policies. */
export type PolicyResult = Pick<JobResult, 'modelDir' | 'policyVersion'>;

/** The transcripts of `debug.collect`. */
export type Collected = {
  readonly episodes: number;
  readonly successes: number;
  readonly failed: number;
  readonly tasks: number;
  /** The 95% interval of the success rate. */
  readonly interval: Interval;
};

/** How a job ended. */
export type JobResult = {
  /** Null if no files are written, as with the backbone `debug`. */
  readonly runDir: string | null;
  /**
   * The folder of the tuned model in the Hugging Face layout. Null if nothing was trained, and in a run of several
   * policies.
   */
  readonly modelDir: string | null;
  /** The models of a run of several policies, by name. The other fields are about the first policy. */
  readonly policies?: Readonly<Record<string, PolicyResult>>;
  /** Null if there was no evaluation. */
  readonly successBefore: number | null;
  readonly successAfter: number | null;
  /** The change from the first evaluation of the run to the last one. Absent if there is only one. */
  readonly successChange?: EvaluationChange;
  /** The wall time of this process, including loading. */
  readonly seconds: number;
  /** The part of `seconds` in which episodes of training steps were sampled. */
  readonly secondsSampling: number;
  readonly secondsTraining: number;
  readonly secondsEvaluating: number;
  /** The number of optimizer steps that the model has had, including those before a resume. */
  readonly policyVersion: number;
  /** Whether the run was stopped before its last step. */
  readonly isInterrupted: boolean;
  /** The transcripts that were kept. Present only with `debug.collect`. */
  readonly collected?: Collected;
};

/** How a run that imitates transcripts ended. */
export type SftResult = Pick<
  JobResult,
  'modelDir' | 'policyVersion' | 'seconds' | 'secondsTraining' | 'secondsEvaluating' | 'isInterrupted'
> & {
  readonly runDir: string;
  /**
   * The loss on the held-out examples in nats per token. Null if there are no such examples, or no evaluation was
   * requested.
   */
  readonly lossBefore: number | null;
  readonly lossAfter: number | null;
  readonly examples: number;
  readonly heldOutExamples: number;
  /** The number of examples that were left out, for each reason. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly steps: number;
  /** The step whose checkpoint has the lowest held-out loss, and is the result. Present if `sft.epochs` is `auto`. */
  readonly bestStep?: number;
  /** The success of the result on the evaluation tasks. Absent if it could not be measured. */
  readonly success?: Evaluation;
};

/** The work that a run still has to do. `firstStep` is more than 1 after a resume. */
export type RunPlan = {
  readonly firstStep: number;
  readonly totalSteps: number;
  readonly tasksPerStep: number;
  readonly episodesPerTask: number;
  /** The temperature at which the training samples. */
  readonly temperature?: number;
  /** The unit that a step consists of. Default: tasks. */
  readonly unit?: 'example';
};

/** The events of a job, in order, for programs that display them. */
export type JobEvent =
  /** `modelSummary` has the parameters, memory and time of the model, if they are known before the start. */
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
  /** `subject` is the model folder, if the model is evaluated outside of a run. */
  | { readonly type: 'evaluated'; readonly evaluation: Evaluation; readonly subject?: string }
  | {
      readonly type: 'step_finished';
      readonly step: number;
      readonly totalSteps: number;
      readonly metrics: StepMetrics;
      /** The policy that made the step, if there are several. */
      readonly policy?: string;
    }
  /** The loss on transcripts that are not trained. */
  | { readonly type: 'held_out'; readonly heldOut: HeldOutLoss }
  | { readonly type: 'sft_finished'; readonly result: SftResult }
  | { readonly type: 'checkpoint_saved'; readonly step: number; readonly dir: string }
  | { readonly type: 'transcript'; readonly transcript: EpisodeTranscript }
  | { readonly type: 'notice'; readonly message: string }
  /** Whether new episodes are held back, because of an outage or because the judge cannot be reached. */
  | { readonly type: 'pause'; readonly isHeld: boolean }
  | { readonly type: 'run_finished'; readonly result: JobResult };

/** Receives the events of a run in their order. */
export type JobListener = (event: JobEvent) => void;
