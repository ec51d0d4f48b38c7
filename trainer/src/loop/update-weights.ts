import type { Backbone, OptimizerOverrides, Sample, TrainBatch, TrainStepMetrics, TreePack } from '@agentjet/core';
import { withKeptTokens } from '../slope/train-in-passes.js';
import { limitLengths, type LengthLimit, type LimitedSamples } from '../packing/length-policy.js';
import { packFor } from '../packing/pack-for.js';
import type { PackOptions, PackReport } from '../packing/pack-trees.js';
import type { CreditedGroup } from './credit-groups.js';
import { findLeftOut, type LeftOutEpisode } from './left-out.js';
import { dropStaleEpisodes, type FreshSamples } from './stale-episodes.js';
import { toTokenReports, type TokenReport } from './token-reports.js';
import type { TrainingGroup } from './training-group.js';

export type StepLoss = TrainBatch['loss'];

/** One of the optimizer steps of a batch. */
export type OptimizerStep = {
  /** Counted from 0 within the batch, over all passes. */
  readonly index: number;
  /** The version of the weights that it is made on. */
  readonly policyVersion: number;
};

/** What a step may change for itself. */
export type StepChanges = {
  /** Changes of all its optimizer steps, or of each. */
  readonly optimizer?: OptimizerOverrides | ((at: OptimizerStep) => OptimizerOverrides);
  /** False: tokens of the present version count as sampled by other weights. */
  readonly isOnPolicy?: boolean;
};

export type UpdateOptions = {
  readonly backbone: Backbone;
  readonly loss: StepLoss;
  readonly packing: PackOptions;
  readonly lengthLimit?: LengthLimit;
  readonly numMiniBatches?: number;
  readonly numEpochs?: number;
  /** Most versions that a trained token's weights may be behind; default 0. */
  readonly maxStaleness?: number;
  /** Learning rate of each optimizer step, unless the changes say another one. Default: the backbone's own schedule. */
  readonly learningRate?: ((at: OptimizerStep) => number) | undefined;
  /** Awaited before the first optimizer step. */
  readonly beforeUpdate?: (leftOut: readonly LeftOutEpisode[]) => Promise<StepChanges | undefined>;
  readonly reportTokens?: boolean;
};

export type Update = {
  readonly groupsSkipped: number;
  readonly limited: LimitedSamples;
  readonly fresh: FreshSamples;
  readonly leftOut: readonly LeftOutEpisode[];
  /** One per optimizer step. */
  readonly updates: readonly {
    readonly report: PackReport;
    readonly metrics: TrainStepMetrics;
    /** One per sample, if asked for. */
    readonly tokens?: readonly TokenReport[];
  }[];
  readonly seconds: { readonly packing: number; readonly training: number };
};

/**
 * The optimizer steps of one batch. Groups without a gradient are left out of the loss and of its denominators, and so
 * are stale episodes; over-long samples follow the policy after credit. Makes no optimizer step where nothing is left to train.
 */
export async function updateWeights(
  credited: readonly CreditedGroup<TrainingGroup>[],
  options: UpdateOptions,
): Promise<Update> {
  const {
    backbone,
    loss,
    packing,
    lengthLimit = { maxSampleTokens: Infinity, policy: 'error' },
    numMiniBatches = 1,
    numEpochs = 1,
    maxStaleness = 0,
    reportTokens = false,
  } = options;
  const sorted = sortOut(credited, { lengthLimit, maxStaleness, policyVersion: backbone.policyVersion });
  const changes = await options.beforeUpdate?.(sorted.leftOut);
  const packedAt = performance.now();
  const parts = packParts(sorted, { numMiniBatches, loss, packing, backbone });
  const trainedAt = performance.now();
  const updates: Update['updates'][number][] = [];
  const steps = parts.length * numEpochs > 1 ? await anchorParts(parts, backbone, loss) : parts;
  for (let pass = 0; pass < numEpochs; pass++) {
    for (const part of steps) {
      const { samples, packs, report } = part;
      const metrics = await backbone.trainStep({
        ...toBatch(part, backbone.policyVersion, loss),
        ...toBatchChanges(changes, options.learningRate, {
          index: updates.length,
          policyVersion: backbone.policyVersion,
        }),
        ...(reportTokens && { reportTerms: true }),
      });
      const { terms } = metrics;
      updates.push({ report, metrics, ...(terms && { tokens: toTokenReports(samples, packs, terms) }) });
    }
  }
  const seconds = { packing: (trainedAt - packedAt) / 1000, training: (performance.now() - trainedAt) / 1000 };
  return { ...sorted, updates, seconds };
}

function toBatchChanges(
  { optimizer, isOnPolicy }: StepChanges = {},
  learningRate: UpdateOptions['learningRate'],
  at: OptimizerStep,
): Partial<TrainBatch> {
  const overrides = typeof optimizer === 'function' ? optimizer(at) : optimizer;
  const planned = learningRate && { learningRate: learningRate(at) };
  return {
    ...((overrides ?? planned) && { optimizer: { ...planned, ...overrides } }),
    ...(isOnPolicy === false && { isOnPolicy }),
  };
}

/** A batch without what is not trained. */
export type SortedBatch = Pick<Update, 'groupsSkipped' | 'limited' | 'fresh' | 'leftOut'> & {
  /** Those with a gradient. */
  readonly groups: readonly CreditedGroup<TrainingGroup>[];
};

export function sortOut(
  credited: readonly CreditedGroup<TrainingGroup>[],
  limits: { readonly lengthLimit: LengthLimit; readonly maxStaleness: number; readonly policyVersion: number },
): SortedBatch {
  const { lengthLimit, maxStaleness, policyVersion } = limits;
  const groups = credited.filter(({ hasGradient }) => hasGradient);
  const fresh = dropStaleEpisodes(
    groups.flatMap(({ samples }) => samples),
    { policyVersion, maxStaleness },
  );
  const limited = limitLengths(fresh.samples, lengthLimit);
  const leftOut = findLeftOut(credited, { fresh: fresh.samples, limited: limited.samples });
  return { groupsSkipped: credited.length - groups.length, groups, limited, fresh, leftOut };
}

/** One part for each optimizer step of a pass; fewer if some would hold nothing. */
export function packParts(
  { groups, limited }: SortedBatch,
  {
    numMiniBatches,
    loss,
    packing,
    backbone,
  }: {
    readonly numMiniBatches: number;
    readonly loss: StepLoss;
    readonly packing: PackOptions;
    readonly backbone: Backbone;
  },
): readonly Part[] {
  return divide(groups, numMiniBatches)
    .map((part) => ({
      groupIds: part.map(({ group }) => group.groupId),
      ...packPart(withTemperatures(samplesOf(part, limited), loss), packing, backbone),
    }))
    .filter(({ packs }) => packs.length > 0);
}

export function toBatch({ samples, packs }: Part, policyVersion: number, loss: StepLoss): TrainBatch {
  return { packs, loss, isOnPolicy: samples.every((sample) => isSampledBy(policyVersion, sample)) };
}

/** What one optimizer step trains. */
export type Part = {
  readonly groupIds: readonly string[];
  readonly samples: readonly Sample[];
  readonly packs: readonly TreePack[];
  readonly report: PackReport;
};

function packPart(samples: readonly Sample[], packing: PackOptions, backbone: Backbone): Omit<Part, 'groupIds'> {
  return { samples, ...packFor(backbone, samples, packing) };
}

/** Temperatures are packed only if a trained token has another one than the loss, and then those of all samples. */
function withTemperatures(samples: readonly Sample[], { temperature = 1 }: StepLoss): readonly Sample[] {
  if (samples.every(({ temperatures }) => temperatures === undefined)) return samples;
  const isOther = ({ temperatures, lossMask }: Sample): boolean =>
    temperatures?.some((value, t) => lossMask[t] === 1 && Math.fround(temperature) !== value) ?? false;
  const areMixed = samples.some(isOther);
  return samples.map(({ temperatures, ...sample }) => {
    if (!areMixed) return sample;
    return { ...sample, temperatures: temperatures ?? new Float32Array(sample.ids.length).fill(temperature) };
  });
}

/** Gives the terms of all parts what the loss asks for of the weights as they are before the first of them is trained. */
export async function anchorParts(
  given: readonly Part[],
  backbone: Backbone,
  loss: StepLoss,
): Promise<readonly Part[]> {
  const parts = await keepTokens(given, backbone, loss);
  if (backbone.proximalLogprobs === undefined || loss.kind !== 'policy') return parts;
  const proximal = await backbone.proximalLogprobs(
    parts.flatMap(({ packs }) => packs),
    loss.temperature,
  );
  let next = 0;
  return parts.map((part) => ({
    ...part,
    packs: part.packs.map((pack) => ({
      ...pack,
      terms: { ...pack.terms, proximal: proximal[next++] ?? new Float32Array() },
    })),
  }));
}

/** Adds the sets that the sampler kept, because later steps of the batch must not compute them from their own weights. */
async function keepTokens(parts: readonly Part[], backbone: Backbone, loss: StepLoss): Promise<readonly Part[]> {
  const packs = await withKeptTokens(
    parts.flatMap((part) => part.packs),
    loss,
    backbone,
  );
  let next = 0;
  return parts.map((part) => ({ ...part, packs: packs.slice(next, (next += part.packs.length)) }));
}

/** The samples of these groups that the length policy has left. */
function samplesOf(groups: readonly CreditedGroup<TrainingGroup>[], limited: LimitedSamples): readonly Sample[] {
  const episodes = new Set(groups.flatMap(({ group }) => group.episodes.map(({ episodeId }) => episodeId)));
  return limited.samples.filter(({ episodeId }) => episodes.has(episodeId));
}

/** Whether every token that is trained comes from these weights. */
function isSampledBy(policyVersion: number, { lossMask, policyVersions }: Sample): boolean {
  return policyVersions.every((version, at) => lossMask[at] !== 1 || version === policyVersion);
}

/** At most `parts` lists of nearly the same length, in order. */
function divide<T>(items: readonly T[], parts: number): T[][] {
  const bounds = Array.from({ length: parts + 1 }, (_, part) => Math.round((part * items.length) / parts));
  return bounds
    .slice(1)
    .map((end, part) => items.slice(bounds[part], end))
    .filter((list) => list.length > 0);
}
