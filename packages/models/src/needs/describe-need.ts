import { type CommonConfig, formatBytes, formatCount, sumParts } from '@agentjet/core';
import type { AvailableMemory } from './available-memory.js';
import type { NeedVerdict } from './judge-need.js';

/** This file puts a verdict into words, for the first lines of a run and for `ajet model check`. */

/**
 * `468.6k parameters, about 449 MiB to 1.0 GiB of 21.2 GiB`: the smaller size is for the trees of a typical step, and
 * the larger size is for full packs of the longest samples.
 */
export function describeNeed({ need, neededBytes, available }: NeedVerdict): string {
  const parameters = `${formatCount(need.numParameters)} parameters`;
  if (need.place === 'none') return `${parameters}, no memory here${describeTime(need)}`;
  const place = need.place === 'gpu' ? ' of each GPU' : '';
  const most = available === null ? '' : ` of ${formatBytes(available.bytes)}`;
  return `${parameters}, ${describeBytes(neededBytes, need.fullPackBytes)}${most}${place}${describeTime(need)}`;
}

/** `about 2.1 GiB to 5.2 GiB, a step up to about 20 s`. */
export function describeForecast(need: NeedVerdict['need']): string {
  return `${describeBytes(sumParts(need.parts), need.fullPackBytes)}${need.place === 'gpu' ? ' of each GPU' : ''}${describeTime(need)}`;
}

/** `a checkpoint takes 1.5 GiB of disk, and 3 are kept`. Undefined if the size is unknown. */
export function describeDisk(
  { checkpointBytes }: NeedVerdict['need'],
  trainerCommon: CommonConfig['trainerCommon'],
): string | undefined {
  if (checkpointBytes === undefined) return undefined;
  const { saveFreq, maxCheckpoints, keepBest } = trainerCommon;
  const best = keepBest === null ? '' : ' and the best one';
  const count = mostCheckpoints(trainerCommon);
  const kept =
    saveFreq === 0
      ? 'only the last is written'
      : count === null
        ? 'all are kept'
        : `${maxCheckpoints}${best} are kept (at most ${formatBytes(checkpointBytes * count)}, with the one that is being written)`;
  return `a checkpoint takes ${formatBytes(checkpointBytes)} of disk, and ${kept}`;
}

/**
 * Returns how many checkpoints are on disk at most: the newest ones, the best one, and the one that is being written.
 * The oldest one is removed only after a new one is written. Null if all are kept (`max_checkpoints: 0`).
 */
export function mostCheckpoints({ saveFreq, maxCheckpoints, keepBest }: CommonConfig['trainerCommon']): number | null {
  if (saveFreq === 0) return 1;
  return maxCheckpoints === 0 ? null : maxCheckpoints + (keepBest === null ? 1 : 2);
}

function describeTime({ place, stepSeconds, timeUnknown, compiles }: NeedVerdict['need']): string {
  const time = compiles === 'kernels' ? 'seconds' : 'seconds to minutes';
  const first = compiles === undefined || compiles === false ? '' : `; the first step also compiles for ${time}`;
  if (stepSeconds !== null)
    return `, ${place === 'gpu' ? 'training of a step' : 'a step'} up to about ${roughly(stepSeconds)}${first}`;
  return timeUnknown === undefined ? '' : `, time of a step unknown: ${timeUnknown}`;
}

function describeBytes(bytes: number, fullPackBytes: number | null): string {
  const [least, most] = [formatBytes(bytes), formatBytes(Math.max(bytes, fullPackBytes ?? 0))];
  return least === most ? `up to about ${least}` : `about ${least} to ${most}`;
}

/** Rounds to one significant figure, as in `5 s`, `20 min` and `3 h`, because the estimate is not more exact. */
function roughly(seconds: number): string {
  if (seconds < 50) return `${Math.max(1, Math.ceil(seconds))} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100
    ? `${minutes < 10 ? minutes : Math.ceil(minutes / 10) * 10} min`
    : `${Math.ceil(minutes / 60)} h`;
}

/** Returns where the memory is: `of each GPU`, `in this container` or `on this machine`. */
export function describePlace(place: NeedVerdict['need']['place'], { limitedBy }: AvailableMemory): string {
  if (place === 'gpu') return 'of each GPU';
  return limitedBy === 'container' ? 'in this container' : 'on this machine';
}

/** Lists the parts of the need, the largest first: `moments 1.0 GiB, ...`. */
export function describeParts({ need }: NeedVerdict): string {
  const parts = need.parts.filter(({ bytes }) => bytes > 0).toSorted((left, right) => right.bytes - left.bytes);
  return parts.map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`).join(', ');
}

/** Lists repairs for a model that does not fit, the most useful first. */
export function waysOut(verdict: NeedVerdict, config: CommonConfig, trains: boolean): readonly string[] {
  const { need, packTokens, longestSample, shorterSample, largestParameters, memorySavers, couldAdapt } = verdict;
  const { data } = config;
  const ways: string[] = [];
  if (trains && packTokens !== null && packTokens > 0) {
    ways.push(smallerPacks(packTokens));
    const isShorter = shorterSample !== null && shorterSample < data.maxPromptLength + data.maxResponseLength;
    if (isShorter && shorterSample >= 64) ways.push(shorterSamples(shorterSample, data, 2));
  }
  if (largestParameters !== null && largestParameters >= 1 && trains)
    ways.push(`choose a model of at most about ${formatCount(roundDown(largestParameters))} parameters`);
  if (trains && longestSample !== null && longestSample >= 64) ways.push(shorterSamples(longestSample, data, 1));
  if (need.place === 'gpu') {
    if (memorySavers.length > 0) ways.push(`set ${memorySavers.join(', or ')}`);
    ways.push('use more GPUs (trainer_common.n_gpus_per_node)');
    if (couldAdapt && trains) ways.push('train adapters: lora.rank=16');
  } else if (!trains) ways.push('open it on a GPU, with a server such as vLLM');
  else {
    const int8 = config.backbone === 'onnx' ? ' onnx.frozen_weights=int8' : '';
    if (couldAdapt) ways.push(`train adapters, which need no gradients and moments of the model: lora.rank=16${int8}`);
    ways.push('train on a GPU (backbone=torch, with lora.rank=16 if it is small) or on a server (backbone=tinker)');
  }
  ways.push('free memory, or take a machine with more');
  return ways;
}

function smallerPacks(tokens: number): string {
  return `train in smaller trees, which gives the same gradient: trainer_common.max_pack_tokens=${roundDown(tokens)}`;
}

/** `perPack` is the number of these samples that a pack holds. */
function shorterSamples(tokens: number, data: CommonConfig['data'], perPack: number): string {
  const share = data.maxPromptLength / (data.maxPromptLength + data.maxResponseLength);
  const prompt = Math.floor(roundDown(tokens) * share);
  const answer = roundDown(tokens) - prompt;
  const packTokens = perPack * (prompt + answer);
  return `allow shorter samples: data.max_prompt_length=${prompt} data.max_response_length=${answer} trainer_common.max_pack_tokens=${packTokens} (longer episodes then end the run: data.overlong_sample_policy)`;
}

/** Rounds down to two significant figures: 2,347 becomes 2,300. */
function roundDown(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.floor(value / unit) * unit;
}
