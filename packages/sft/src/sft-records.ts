import { roundTime } from '@agentjet/core';
import type { EpisodeRecord, MetricsLine, RunFolder } from '@agentjet/run-folder';
import type { TrainObserver, TrainOptions } from '@agentjet/run';
import type { HeldOutLoss } from '@agentjet/records';

/** This file writes the records of a run of imitation, in the form that all runs have. */

/** Figures of a step that make sense only if the model sampled the trained tokens. */
const ofSampling = new Set([
  'reward_mean',
  'success_rate',
  'success_low',
  'success_high',
  'episodes',
  'failed_episodes',
  'generated_tokens',
  'groups',
  'groups_skipped',
  'overlong_samples',
  'dropped_episodes',
  'truncated_samples',
  'lost_tokens',
  'stale_episodes',
  'staleness_mean',
  'staleness_max',
  'kl',
  'clip_fraction',
  'logprob_gap_max',
  'logprob_gap_mean',
  'seconds_sampling',
]);

/** Returns the line of a step. `epoch` is the number of passes over the examples so far, such as 1.5. */
function toSftMetrics(metrics: MetricsLine, size: number, drawn: number): MetricsLine {
  const { step, policy_version: version = 0, groups = 0 } = metrics;
  const kept = Object.entries(metrics).filter(([key]) => !ofSampling.has(key));
  return {
    step,
    policy_version: version,
    epoch: Math.round((drawn / size) * 1e4) / 1e4,
    examples: groups,
    ...Object.fromEntries(kept),
  };
}

/** The metric by which `trainer_common.keep_best` keeps the checkpoint with the lowest held-out loss. */
export const heldOutFigure = 'held_out_logprob';

export function toHeldOutRecord({ step, loss, tokens, examples, seconds }: HeldOutLoss): MetricsLine {
  return {
    step,
    held_out_loss: loss,
    /** A figure for `trainer_common.keep_best`, which keeps the checkpoint with the highest value. */
    [heldOutFigure]: -loss,
    held_out_tokens: tokens,
    held_out_examples: examples,
    seconds: roundTime(seconds),
  };
}

type Recorder = Pick<TrainOptions, 'run' | 'observer'>;

/**
 * Returns a run folder and an observer that write steps in this form. Each example is recorded once, when it is trained
 * for the first time.
 */
export function recordSft(
  { folder, observer }: { readonly folder: RunFolder; readonly observer: TrainObserver },
  { size, drawn: drawnBefore }: { readonly size: number; readonly drawn: number },
): Recorder {
  let drawn = drawnBefore;
  let recorded: MetricsLine | undefined;
  return {
    run: {
      recordStep: async (metrics: MetricsLine, episodes?: readonly EpisodeRecord[]) => {
        drawn += metrics['groups'] ?? 0;
        recorded = toSftMetrics(metrics, size, drawn);
        await folder.recordStep(
          recorded,
          (episodes ?? []).filter(({ episode_id: id }) => id.startsWith(epochPrefix(0))),
        );
      },
      save: (backbone, state, options) => folder.save(backbone, state, options),
    },
    observer: { ...observer, onStep: (metrics) => observer.onStep?.(recorded ?? metrics) },
  };
}

export const epochPrefix = (epoch: number): string => `e${epoch + 1}-`;
