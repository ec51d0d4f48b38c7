import {
  BackboneError,
  type Backbone,
  type Sample,
  type SlopeLoss,
  type TrainBatch,
  type TreePack,
} from '@agentjet/core';
import { needsProximal } from '../losses/to-trained-loss.js';
import { withKeptTokens } from '../slope/train-in-passes.js';
import { limitLengths, type LengthLimit, type LimitedSamples } from '../packing/length-policy.js';
import { packFor } from '../packing/pack-for.js';
import type { PackOptions } from '../packing/check-options.js';
import type { PackReport } from '../packing/pack-trees.js';
import type { CreditedGroup } from './credit-groups.js';
import { findLeftOut, type LeftOutEpisode } from './left-out.js';
import { dropStaleEpisodes, type FreshSamples } from './stale-episodes.js';
import type { TrainingGroup } from './training-group.js';

/** Selects the samples of a batch to train, and divides them into optimizer steps. */

export type StepLoss = TrainBatch['loss'];

/** A batch without the episodes that are not trained. */
export type SortedBatch = {
  readonly groupsSkipped: number;
  readonly limited: LimitedSamples;
  readonly fresh: FreshSamples;
  readonly leftOut: readonly LeftOutEpisode[];
  /** The number of episodes that are not trained because an answer was cut. Absent if such episodes are trained. */
  readonly maskedEpisodes?: number;
  /** The groups that have a gradient. */
  readonly groups: readonly CreditedGroup<TrainingGroup>[];
};

export function sortOut(
  credited: readonly CreditedGroup<TrainingGroup>[],
  limits: {
    readonly lengthLimit: LengthLimit;
    readonly masksCutAnswers?: boolean | undefined;
    readonly maxStaleness: number;
    readonly policyVersion: number;
  },
): SortedBatch {
  const { lengthLimit, masksCutAnswers = false, maxStaleness, policyVersion } = limits;
  const groups = credited.filter(({ hasGradient }) => hasGradient);
  const fresh = dropStaleEpisodes(
    groups.flatMap(({ samples }) => samples),
    { policyVersion, maxStaleness },
  );
  const cut = masksCutAnswers ? groups.flatMap(({ group }) => group.episodes.filter(({ isCut }) => isCut)) : [];
  const cutIds = new Set(cut.map(({ episodeId }) => episodeId));
  const whole = fresh.samples.filter(({ episodeId }) => !cutIds.has(episodeId));
  const limited = limitLengths(cutIds.size === 0 ? fresh.samples : whole, lengthLimit);
  const leftOut = findLeftOut(credited, { fresh: fresh.samples, limited: limited.samples });
  const masked = masksCutAnswers && { maskedEpisodes: cutIds.size };
  return { groupsSkipped: credited.length - groups.length, groups, limited, fresh, leftOut, ...masked };
}

/** Returns one part for each optimizer step of a pass. Parts without packs are left out. */
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

/** The groups, samples and packs that one optimizer step trains. */
export type Part = {
  readonly groupIds: readonly string[];
  readonly samples: readonly Sample[];
  readonly packs: readonly TreePack[];
  readonly report: PackReport;
};

function packPart(samples: readonly Sample[], packing: PackOptions, backbone: Backbone): Omit<Part, 'groupIds'> {
  return { samples, ...packFor(backbone, samples, packing) };
}

/**
 * Gives every sample temperatures if any trained token was sampled at another temperature than the loss uses. Otherwise
 * no sample gets temperatures.
 */
export function withTemperatures(
  samples: readonly Sample[],
  { temperature = 1 }: { readonly temperature?: number },
): readonly Sample[] {
  if (samples.every(({ temperatures }) => temperatures === undefined)) return samples;
  const isOther = ({ temperatures, lossMask }: Sample): boolean =>
    temperatures?.some((value, t) => lossMask[t] === 1 && Math.fround(temperature) !== value) ?? false;
  const areMixed = samples.some(isOther);
  return samples.map(({ temperatures, ...sample }) => {
    if (!areMixed) return sample;
    return { ...sample, temperatures: temperatures ?? new Float32Array(sample.ids.length).fill(temperature) };
  });
}

/**
 * Computes the values that the loss needs from the weights before the first step, and adds them to the terms of all
 * parts.
 */
export async function anchorParts(
  given: readonly Part[],
  backbone: Backbone,
  loss: StepLoss,
  { numSteps, isOnPolicy }: { readonly numSteps: number; readonly isOnPolicy: boolean },
): Promise<readonly Part[]> {
  const ofFresh = isOnPolicy && scoresFresh(loss, backbone);
  if (numSteps === 1 && !ofFresh) return given;
  const parts = await keepTokens(given, backbone, loss);
  const packs = parts.flatMap((part) => part.packs);
  const proximal = ofFresh
    ? await backbone.termLogprobs?.(packs, loss.temperature ?? 1)
    : await proximalLogprobs(packs, backbone, loss);
  if (proximal === undefined) return parts;
  let next = 0;
  return parts.map((part) => ({
    ...part,
    packs: part.packs.map((pack) => ({
      ...pack,
      terms: { ...pack.terms, proximal: proximal[next++] ?? new Float32Array() },
    })),
  }));
}

/**
 * Returns whether a batch that the present weights sampled is scored with them. A backbone that repeats its seed samples
 * and trains in the same arithmetic.
 */
function scoresFresh(loss: StepLoss, { capabilities }: Backbone): boolean {
  return proximalOf(loss) === 'on-policy' && !capabilities.repeatsSeed;
}

const proximalOf = (loss: StepLoss): SlopeLoss['needsProximal'] =>
  loss.kind === 'slope' ? loss.needsProximal : needsProximal(loss);

/**
 * Resolves with undefined if the loss takes its ratio against the weights that sampled. With a correction, the loss takes
 * it against the weights that the batch began with (decoupled PPO, Hilton et al. 2022).
 */
async function proximalLogprobs(
  packs: readonly TreePack[],
  backbone: Backbone,
  loss: StepLoss,
): Promise<readonly Float32Array[] | undefined> {
  if (loss.kind === 'sft' || proximalOf(loss) !== true) return undefined;
  if (backbone.termLogprobs !== undefined) return await backbone.termLogprobs(packs, loss.temperature);
  throw new BackboneError(
    'unsupported_loss',
    'The importance correction needs the logprobs of the weights that a batch began with, and this backbone does not score packs. Set trainer_common.mini_batch_num and trainer_common.ppo_epochs to 1, or turn the correction off.',
  );
}

/**
 * Adds the token sets that the sampler kept. They come from the weights at the start of the batch. Later steps of the
 * batch must not compute them from newer weights.
 */
async function keepTokens(parts: readonly Part[], backbone: Backbone, loss: StepLoss): Promise<readonly Part[]> {
  const packs = await withKeptTokens(
    parts.flatMap((part) => part.packs),
    loss,
    backbone,
  );
  let next = 0;
  return parts.map((part) => ({ ...part, packs: packs.slice(next, (next += part.packs.length)) }));
}

/** Returns the samples of these groups that the length policy kept. */
function samplesOf(groups: readonly CreditedGroup<TrainingGroup>[], limited: LimitedSamples): readonly Sample[] {
  const episodes = new Set(groups.flatMap(({ group }) => group.episodes.map(({ episodeId }) => episodeId)));
  return limited.samples.filter(({ episodeId }) => episodes.has(episodeId));
}

/** Returns true if every trained token was sampled by the weights of this version. */
function isSampledBy(policyVersion: number, { lossMask, policyVersions }: Sample): boolean {
  return policyVersions.every((version, at) => lossMask[at] !== 1 || version === policyVersion);
}

/** Splits the items, in order, into at most `parts` lists of nearly the same length. */
function divide<T>(items: readonly T[], parts: number): T[][] {
  const bounds = Array.from({ length: parts + 1 }, (_, part) => Math.round((part * items.length) / parts));
  return bounds
    .slice(1)
    .map((end, part) => items.slice(bounds[part], end))
    .filter((list) => list.length > 0);
}
