import {
  BackboneError,
  type Algorithm,
  type Backbone,
  type LossOptions,
  type OptimizerOverrides,
  type TrainStepMetrics,
} from '@agentjet/core';
import type { MetricsRecord, RunFolder } from '@agentjet/run-folder';
import type { LengthLimit } from '../packing/length-policy.js';
import type { PackOptions, PackReport } from '../packing/pack-trees.js';
import { checkLoss, chooseLoss } from './choose-loss.js';
import { creditGroups, type CreditedGroup } from './credit-groups.js';
import { toEpisodeRecords } from './episode-records.js';
import type { LeftOutEpisode } from './left-out.js';
import { toStepMetrics } from './step-metrics.js';
import type { TrainingGroup } from './training-group.js';
import {
  anchorParts,
  packParts,
  sortOut,
  toBatch,
  type Part,
  type SortedBatch,
  type StepLoss,
} from './update-weights.js';

/**
 * Batches whose optimizer steps are made one by one, by a caller who writes down what became of each: a server that must be
 * able to make the same steps again. What a batch is computed from is in its settings and its groups, nothing else.
 */

/** Everything but the groups that a batch is computed from. Plain JSON. */
export type BatchSettings = {
  readonly whitenAdvantages: boolean;
  readonly loss: LossOptions;
  readonly packing: PackOptions;
  readonly lengthLimit: LengthLimit;
  readonly numMiniBatches: number;
  readonly numEpochs: number;
};

export type BatchTrainerOptions = { readonly backbone: Backbone; readonly algorithm: Algorithm };

/** A batch on its way: credited, packed and divided. */
export type PreparedBatch = {
  /** Ids of the groups that each optimizer step trains, over all passes. Empty if nothing of the batch has a gradient. */
  readonly optimizerSteps: readonly (readonly string[])[];
  readonly leftOut: readonly LeftOutEpisode[];
  /**
   * Makes one optimizer step. Undefined if it was refused (`non_finite_gradient`), with the weights unchanged. With
   * `isOnPolicy` false, tokens of the present version count as sampled by other weights.
   */
  readonly optimize: (index: number, options?: OptimizeOptions) => Promise<TrainStepMetrics | undefined>;
  /** Writes down the step, with the episodes that it held. `more`: metrics of whoever chose the batch. */
  readonly record: (
    run: RunFolder,
    step: number,
    secondsSampling: number,
    more?: Readonly<Record<string, number>>,
  ) => Promise<MetricsRecord>;
};

export type OptimizeOptions = { readonly optimizer?: OptimizerOverrides; readonly isOnPolicy?: boolean };

/** Throws BackboneError `unsupported_loss` if the backbone cannot train this loss. */
export function prepareBatch(
  groups: readonly TrainingGroup[],
  settings: BatchSettings,
  { backbone, algorithm }: BatchTrainerOptions,
): PreparedBatch {
  checkLoss({ algorithm, backbone, loss: settings.loss });
  const loss = chooseLoss({ algorithm, loss: settings.loss });
  const credited = creditGroups(algorithm, groups, settings.whitenAdvantages);
  const packedAt = performance.now();
  const { lengthLimit, numMiniBatches, packing, numEpochs } = settings;
  const sorted = sortOut(credited, { lengthLimit, maxStaleness: Infinity, policyVersion: backbone.policyVersion });
  const parts = packParts(sorted, { numMiniBatches, loss, packing, backbone });
  const passes = Array.from({ length: numEpochs }, () => parts.map(({ groupIds }) => groupIds)).flat();
  const batch = new Batch({ groups, credited, sorted, parts, loss, backbone, numSteps: passes.length });
  batch.seconds.packing = (performance.now() - packedAt) / 1000;
  return {
    optimizerSteps: passes,
    leftOut: sorted.leftOut,
    optimize: (index, options) => batch.optimize(index, options),
    record: (run, step, secondsSampling, more) => batch.record(run, step, { secondsSampling, more }),
  };
}

type BatchContent = {
  readonly groups: readonly TrainingGroup[];
  readonly credited: readonly CreditedGroup<TrainingGroup>[];
  readonly sorted: SortedBatch;
  readonly parts: readonly Part[];
  readonly loss: StepLoss;
  readonly backbone: Backbone;
  readonly numSteps: number;
};

type Recorded = { readonly secondsSampling: number; readonly more?: Readonly<Record<string, number>> | undefined };

class Batch {
  readonly seconds = { packing: 0, training: 0 };
  readonly #content: BatchContent;
  readonly #updates: { readonly report: PackReport; readonly metrics: TrainStepMetrics }[] = [];
  #anchored: readonly Part[] | undefined;

  constructor(content: BatchContent) {
    this.#content = content;
  }

  async optimize(
    index: number,
    { optimizer, isOnPolicy = true }: OptimizeOptions = {},
  ): Promise<TrainStepMetrics | undefined> {
    const { parts, loss, backbone, numSteps } = this.#content;
    this.#anchored ??= numSteps > 1 ? await anchorParts(parts, backbone, loss) : parts;
    const part = this.#anchored[index % this.#anchored.length];
    if (part === undefined) throw new RangeError(`There is no optimizer step ${index}; the batch has ${numSteps}.`);
    const startedAt = performance.now();
    const batch = toBatch(part, backbone.policyVersion, loss);
    try {
      const metrics = await backbone.trainStep({
        ...batch,
        isOnPolicy: isOnPolicy && batch.isOnPolicy === true,
        ...(optimizer !== undefined && { optimizer }),
      });
      this.#updates.push({ report: part.report, metrics });
      return metrics;
    } catch (error) {
      if (error instanceof BackboneError && error.code === 'non_finite_gradient') return undefined;
      throw error;
    } finally {
      this.seconds.training += (performance.now() - startedAt) / 1000;
    }
  }

  async record(run: RunFolder, step: number, { secondsSampling, more = {} }: Recorded): Promise<MetricsRecord> {
    const { groups, credited, sorted, backbone } = this.#content;
    const metrics = {
      ...toStepMetrics({
        ...sorted,
        step,
        policyVersion: backbone.policyVersion,
        groups,
        updates: this.#updates,
        isAhead: false,
        seconds: { sampling: secondsSampling, ...this.seconds },
      }),
      ...more,
    };
    await run.recordStep(metrics, toEpisodeRecords(credited));
    return metrics;
  }
}
