import type { ChatModel, Sample, Task, WorkflowOutput } from '@agentjet/core';
import type { TrackerStats } from '@agentjet/context-tracker';

/** Options of every adapter's `asModel`. `M` is the framework's own model type. */
export type ModelOptions<M> = {
  readonly agentName: string;
  /** What `trainable_targets` selects by; the agent's name where it is left out. */
  readonly targetTag?: string;
  /** Used, as it is, for a target that does not learn. */
  readonly debugModel?: M;
};

/** Handed to one episode; gives out models. */
export interface Tuner {
  readonly episodeId: string;
  /** Aborts when the episode times out or the run stops. */
  readonly signal: AbortSignal;
  isTrainable(targetTag: string): boolean;
  /**
   * The door behind every adapter: the tuned model for a target that learns, else `debugModel` itself.
   * Throws ConfigError naming the agent when the target does not learn and there is no debugModel.
   */
  selectModel<M>(options: ModelOptions<M>, toNative: (model: ChatModel) => M): M;
}

/** The user's agent program. */
export interface WorkflowLike {
  execute(task: Task, tuner: Tuner): Promise<WorkflowOutput>;
}

/** One finished run of a workflow on a task: a failed one keeps its error and is data. */
export type Episode = {
  readonly episodeId: string;
  readonly task: Task;
  /** 0..numRepeat-1 */
  readonly repeatIndex: number;
  readonly seed: number;
  readonly samples: readonly Sample[];
  readonly stats: TrackerStats;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly logMetrics: Readonly<Record<string, number>>;
  readonly seconds: number;
} & (
  | { readonly status: 'completed'; readonly reward: number; readonly isSuccess: boolean }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string; readonly stack?: string } }
);
