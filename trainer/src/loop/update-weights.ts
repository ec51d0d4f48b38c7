import type { Backbone, LossOptions, Sample, TrainStepMetrics, TreePack } from '@agentjet/core';
import { limitLengths, type LengthLimit, type LimitedSamples } from '../packing/length-policy.js';
import { packTrees, type PackOptions, type PackReport } from '../packing/pack-trees.js';
import type { CreditedGroup } from './credit-groups.js';
import { dropStaleEpisodes, type FreshSamples } from './stale-episodes.js';
import type { TrainingGroup } from './training-group.js';

export type UpdateOptions = {
  readonly backbone: Backbone;
  readonly loss: LossOptions;
  readonly packing: PackOptions;
  readonly lengthLimit?: LengthLimit;
  readonly numMiniBatches?: number;
  readonly numEpochs?: number;
  /** Most versions that a trained token's weights may be behind; default 0. */
  readonly maxStaleness?: number;
};

export type Update = {
  readonly groupsSkipped: number;
  readonly limited: LimitedSamples;
  readonly fresh: FreshSamples;
  /** One per optimizer step. */
  readonly updates: readonly { readonly report: PackReport; readonly metrics: TrainStepMetrics }[];
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
  } = options;
  const groups = credited.filter(({ hasGradient }) => hasGradient);
  const fresh = dropStaleEpisodes(
    groups.flatMap(({ samples }) => samples),
    { policyVersion: backbone.policyVersion, maxStaleness },
  );
  const limited = limitLengths(fresh.samples, lengthLimit);
  const packedAt = performance.now();
  const parts = divide(groups, numMiniBatches)
    .map((part) => packPart(samplesOf(part, limited), packing))
    .filter(({ packs }) => packs.length > 0);
  const trainedAt = performance.now();
  const updates: { report: PackReport; metrics: TrainStepMetrics }[] = [];
  const steps = parts.length * numEpochs > 1 ? await anchor(parts, backbone, loss) : parts;
  for (let pass = 0; pass < numEpochs; pass++) {
    for (const { samples, packs, report } of steps) {
      const isOnPolicy = samples.every((sample) => isSampledBy(backbone.policyVersion, sample));
      updates.push({ report, metrics: await backbone.trainStep({ packs, loss, isOnPolicy }) });
    }
  }
  const seconds = { packing: (trainedAt - packedAt) / 1000, training: (performance.now() - trainedAt) / 1000 };
  return { groupsSkipped: credited.length - groups.length, limited, fresh, updates, seconds };
}

/** What one optimizer step trains. */
type Part = { readonly samples: readonly Sample[]; readonly packs: readonly TreePack[]; readonly report: PackReport };

function packPart(samples: readonly Sample[], packing: PackOptions): Part {
  return { samples, ...packTrees(samples, packing) };
}

/** Gives the terms of all parts the logprobs of the weights as they are before the first of them is trained, where the loss asks for them. */
async function anchor(parts: readonly Part[], backbone: Backbone, loss: LossOptions): Promise<readonly Part[]> {
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
