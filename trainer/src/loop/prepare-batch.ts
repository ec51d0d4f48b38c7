import { setImmediate as laterTurn } from 'node:timers/promises';
import {
  BackboneError,
  type Algorithm,
  type Backbone,
  type LossOptions,
  type MetricValues,
  type OptimizerOverrides,
  type RewardedEpisode,
  type TermReport,
  type TrainStepMetrics,
} from '@agentjet/core';
import type { AnnotationLine, MetricsRecord, RunFolder } from '@agentjet/run-folder';
import type { LengthLimit } from '../packing/length-policy.js';
import type { PackOptions } from '../packing/check-options.js';
import type { PackReport } from '../packing/pack-trees.js';
import { scoreMetrics } from './ask-teacher.js';
import { checkLoss, chooseLoss } from './choose-loss.js';
import { creditGroups, type CreditedGroup } from './credit-groups.js';
import { toEpisodeRecords } from './episode-records.js';
import type { LeftOutEpisode } from './left-out.js';
import { shapeRewards, shapingMetrics, type RewardShaping } from './shape-rewards.js';
import { toStepMetrics, type TrainedStep } from './step-metrics.js';
import { annotateTokens, type TokenRecording } from './token-records.js';
import type { TrainingGroup } from './training-group.js';
import { anchorParts, packParts, sortOut, toBatch, type Part, type SortedBatch, type StepLoss } from './batch-parts.js';

/**
 * Turns one batch of groups into optimizer steps. The caller makes the steps one by one and can record each outcome. A
 * batch depends only on its settings and its groups, so a resumed run can repeat the same steps.
 */

/** All inputs of a batch except its groups, as plain JSON. */
export type BatchSettings = {
  readonly whitenAdvantages: boolean;
  readonly loss: LossOptions;
  readonly packing: PackOptions;
  readonly lengthLimit: LengthLimit;
  readonly numMiniBatches: number;
  readonly numEpochs: number;
  /** The maximum age of a trained token, in versions of the weights. Absent means no limit. */
  readonly maxStaleness?: number;
  /** What is subtracted from rewards before they are compared. Default: nothing. */
  readonly shaping?: RewardShaping;
  /**
   * Leaves out episodes with an answer that a token limit cut (overlong filtering, Yu et al. 2025, "DAPO"). Their
   * rewards stay in the baseline. Default: false.
   */
  readonly masksCutAnswers?: boolean;
};

export type BatchTrainerOptions = {
  readonly backbone: Backbone;
  readonly algorithm: Algorithm;
  /** Default: nothing is recorded of single tokens. */
  readonly recordTokens?: TokenRecording | undefined;
};

/** A batch that is credited, packed and divided into optimizer steps. */
export type PreparedBatch = {
  /**
   * Ids of the groups that each optimizer step trains, over all passes. The list is empty if no group has a gradient.
   */
  readonly optimizerSteps: readonly (readonly string[])[];
  readonly leftOut: readonly LeftOutEpisode[];
  /** Makes one optimizer step. If the step is refused (`non_finite_gradient`), the weights do not change. */
  readonly optimize: (index: number, options?: OptimizeOptions) => Promise<OptimizerOutcome>;
  /** Records the step and its episodes in the run folder. */
  readonly record: (run: Pick<RunFolder, 'recordStep'>, step: RecordedStep) => Promise<MetricsRecord>;
  /** The seconds spent on the batch so far. */
  readonly seconds: { readonly packing: number; readonly training: number };
};

export type OptimizeOptions = {
  readonly optimizer?: OptimizerOverrides;
  /** If false, tokens that have the current version are still treated as sampled by other weights. */
  readonly isOnPolicy?: boolean;
};

export type OptimizerOutcome =
  | { readonly isApplied: true; readonly metrics: TrainStepMetrics }
  | { readonly isApplied: false; readonly error: BackboneError };

export type RecordedStep = Pick<TrainedStep, 'step' | 'plannedRate'> & {
  readonly secondsSampling: number;
  /** True if the source samples ahead of training. Default: false. */
  readonly isAhead?: boolean;
  /** Further metrics from the caller that chose the batch. */
  readonly more?: MetricValues;
};

/** Throws BackboneError `unsupported_loss` if the backbone cannot train this loss. */
export function prepareBatch(
  groups: readonly TrainingGroup[],
  settings: BatchSettings,
  { backbone, algorithm, recordTokens }: BatchTrainerOptions,
): PreparedBatch {
  checkLoss({ algorithm, backbone, loss: settings.loss });
  const loss = chooseLoss({ algorithm, backbone, loss: settings.loss });
  const { shaping } = settings;
  const shaped = shaping === undefined ? groups : shapeRewards(groups, shaping);
  const scoring = {
    ...scoreMetrics(groups, shaping?.kl === undefined ? 'teacher_kl' : 'reference_kl'),
    ...(shaping && shapingMetrics(groups, shaped)),
  };
  const credited = withOwnRewards(creditGroups(algorithm, shaped, settings.whitenAdvantages), groups);
  const packedAt = performance.now();
  const { lengthLimit, masksCutAnswers, numMiniBatches, packing, numEpochs, maxStaleness = Infinity } = settings;
  const { policyVersion } = backbone;
  const sorted = sortOut(credited, { lengthLimit, masksCutAnswers, maxStaleness, policyVersion });
  const parts = packParts(sorted, { numMiniBatches, loss, packing, backbone });
  const passes = Array.from({ length: numEpochs }, () => parts.map(({ groupIds }) => groupIds)).flat();
  const content = { groups, credited, sorted, scoring, parts, loss, backbone, recordTokens };
  const batch = new Batch({ ...content, numSteps: passes.length });
  batch.seconds.packing = (performance.now() - packedAt) / 1000;
  return {
    optimizerSteps: passes,
    leftOut: sorted.leftOut,
    optimize: (index, options) => batch.optimize(index, options),
    record: (run, step) => batch.record(run, step),
    seconds: batch.seconds,
  };
}

/** Returns the credited groups with the rewards before shaping, because the records keep these. */
function withOwnRewards(
  credited: readonly CreditedGroup<TrainingGroup>[],
  groups: readonly TrainingGroup[],
): readonly CreditedGroup<TrainingGroup>[] {
  const rewards = new Map(
    groups.flatMap(({ episodes }) => episodes.map(({ episodeId, reward }) => [episodeId, reward] as const)),
  );
  const own = (episode: RewardedEpisode): RewardedEpisode => {
    const reward = rewards.get(episode.episodeId) ?? episode.reward;
    return reward === episode.reward ? episode : { ...episode, reward };
  };
  return credited.map((each) => ({ ...each, group: { ...each.group, episodes: each.group.episodes.map(own) } }));
}

type BatchContent = {
  readonly groups: readonly TrainingGroup[];
  readonly credited: readonly CreditedGroup<TrainingGroup>[];
  readonly sorted: SortedBatch;
  /** The metrics of the teacher and of the shaping of rewards. */
  readonly scoring: MetricValues;
  readonly parts: readonly Part[];
  readonly loss: StepLoss;
  readonly backbone: Backbone;
  readonly recordTokens: TokenRecording | undefined;
  readonly numSteps: number;
};

class Batch {
  readonly seconds = { packing: 0, training: 0 };
  readonly #content: BatchContent;
  readonly #updates: { readonly report: PackReport; readonly metrics: TrainStepMetrics }[] = [];
  readonly #annotations: AnnotationLine[] = [];
  #anchored: readonly Part[] | undefined;
  #lines: ReturnType<typeof toEpisodeRecords> | undefined;

  constructor(content: BatchContent) {
    this.#content = content;
  }

  async optimize(index: number, options: OptimizeOptions = {}): Promise<OptimizerOutcome> {
    const startedAt = performance.now();
    try {
      return await this.#optimize(index, options);
    } catch (error) {
      if (error instanceof BackboneError && error.code === 'non_finite_gradient') return { isApplied: false, error };
      throw error;
    } finally {
      this.seconds.training += (performance.now() - startedAt) / 1000;
    }
  }

  async #optimize(index: number, { optimizer, isOnPolicy = true }: OptimizeOptions): Promise<OptimizerOutcome> {
    const { parts, loss, backbone, credited, numSteps, recordTokens } = this.#content;
    const isRecorded = recordTokens !== undefined && recordTokens.mode !== 'none';
    this.#anchored ??= await anchorParts(parts, backbone, loss, {
      numSteps,
      isOnPolicy: isOnPolicy && parts.every((each) => toBatch(each, backbone.policyVersion, loss).isOnPolicy === true),
    });
    const part = this.#anchored[index % this.#anchored.length];
    if (part === undefined) throw new RangeError(`There is no optimizer step ${index}; the batch has ${numSteps}.`);
    const batch = toBatch(part, backbone.policyVersion, loss);
    const training = backbone.trainStep({
      ...batch,
      ...(isRecorded && { reportTerms: true }),
      isOnPolicy: isOnPolicy && batch.isOnPolicy === true,
      ...(optimizer !== undefined && { optimizer }),
    });
    await Promise.race([training, laterTurn()]);
    this.#lines ??= toEpisodeRecords(credited); // the backbone trains in the meantime
    const { terms, ...metrics } = await training;
    this.#updates.push({ report: part.report, metrics });
    if (isRecorded) this.#annotate(index, part, terms);
    return { isApplied: true, metrics };
  }

  #annotate(update: number, { samples, packs }: Part, reports: readonly TermReport[] | undefined): void {
    const { recordTokens } = this.#content;
    if (recordTokens === undefined || recordTokens.mode === 'none') return;
    if (reports === undefined) return recordTokens.onMissing();
    this.#annotations.push(...annotateTokens({ update, mode: recordTokens.mode, samples, packs, reports }));
  }

  async record(run: Pick<RunFolder, 'recordStep'>, given: RecordedStep): Promise<MetricsRecord> {
    const { groups, credited, sorted, scoring, backbone } = this.#content;
    const { step, secondsSampling: sampling, isAhead = false, plannedRate, more = {} } = given;
    const metrics = {
      ...toStepMetrics({
        ...sorted,
        step,
        policyVersion: backbone.policyVersion,
        groups,
        updates: this.#updates,
        isAhead,
        ...(plannedRate !== undefined && { plannedRate }),
        seconds: { sampling, ...this.seconds },
      }),
      ...scoring,
      ...more,
    };
    await run.recordStep(metrics, this.#lines ?? toEpisodeRecords(credited), this.#annotations);
    return metrics;
  }
}
