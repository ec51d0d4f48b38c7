/**
 * Draws tokens from probabilities. The draw is a race of exponential clocks (the Gumbel-max trick: Gumbel 1954;
 * Maddison et al. 2014): token k rings at -ln(u_k) / p_k, the first one wins, and u_k is a hash of seed, token index
 * and k. A draw is therefore independent of other calls. Float noise in the probabilities changes the winner with a
 * chance of about its own size, whereas walking the cumulative sum would multiply that chance by the vocabulary.
 */

import type { TokenSampling } from '@agentjet/core';
import { findCutoff } from './cutoff.js';

export type SampledToken = {
  readonly id: number;
  /** A float32. */
  readonly logprob: number;
  /**
   * True if probabilities that differ from these by at most the noise give the same token. Otherwise the id is a guess.
   */
  readonly isClear: boolean;
};

const spread = 2 ** -32;
/** -ln of the largest uniform number: no clock rings earlier than this over its probability. */
const earliest = -Math.log(1 - spread / 2);

/** A lower temperature is raised to this one, at which the distribution is already a single token. */
const minTemperature = 1e-5;

/**
 * The share by which the ratio of two probabilities may change with what runs at the same time: kernels add in another
 * order for other shapes. Measured: 1e-5 (trainer/LOG.md). A temperature below 1 stretches differences of logits.
 */
export function noiseOf({ temperature }: TokenSampling): number {
  return 2e-4 * Math.max(1, toInverseTemperature(temperature));
}

/** Returns the factor of the logits before the softmax. Greedy rows keep the plain softmax. */
export function toInverseTemperature(temperature: number): number {
  return temperature === 0 ? 1 : 1 / Math.max(temperature, minTemperature);
}

/**
 * Draws from `probabilities` [V], the softmax at the sampling's temperature. `index` counts the tokens of the call;
 * `noise` is the share by which the ratio of two probabilities may be off. Returns undefined if the probabilities are
 * not numbers.
 */
export function drawToken(
  probabilities: Float32Array,
  sampling: TokenSampling,
  index: number,
  noise = 0,
): SampledToken | undefined {
  if (sampling.temperature === 0) return toDraw(probabilities, largest(probabilities, noise), 1);
  const isWhole = sampling.topP >= 1 && (sampling.topK <= 0 || sampling.topK >= probabilities.length);
  const key = drawKey(sampling.seed, index);
  if (isWhole) return toDraw(probabilities, race(probabilities, key, { floor: 0, lastId: 0, noise }), 1);
  const { cutoff, lowest, highest } = findCutoff(probabilities, sampling, noise);
  if (noise === 0)
    return toDraw(
      probabilities,
      race(probabilities, key, { floor: cutoff.probability, lastId: cutoff.id, noise }),
      cutoff.mass,
    );
  const { id, isClear } = race(probabilities, key, { floor: lowest, lastId: Infinity, noise });
  return toDraw(probabilities, { id, isClear: isClear && (probabilities[id] ?? 0) >= highest }, cutoff.mass);
}

type Winner = { readonly id: number; readonly isClear: boolean };

function toDraw(probabilities: Float32Array, { id, isClear }: Winner, mass: number): SampledToken | undefined {
  const probability = probabilities[id];
  if (probability === undefined) return undefined;
  return { id, logprob: Math.fround(Math.min(0, Math.log(probability / mass))), isClear };
}

/** Returns the lowest id of the largest probability, or -1 if no value is a number. */
function largest(probabilities: Float32Array, noise: number): Winner {
  let best = -1;
  let [highest, second] = [-1, -1];
  for (let id = 0; id < probabilities.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    if (probability > highest) {
      second = highest;
      highest = probability;
      best = id;
    } else if (probability > second) second = probability;
  }
  return { id: best, isClear: noise === 0 || second < highest * (1 - noise) };
}

type Field = { readonly floor: number; readonly lastId: number; readonly noise: number };

/** Returns the winner among tokens above `floor`, or at it with an id up to `lastId`; -1 if no value is a number. */
function race(probabilities: Float32Array, key: number, { floor, lastId, noise }: Field): Winner {
  let winner = -1;
  let [first, second, latest] = [Infinity, Infinity, Infinity];
  for (let id = 0; id < probabilities.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    // Skips tokens that ring too late even with the earliest clock. The comparison also skips NaN.
    if (!(probability * latest > earliest)) continue;
    if (probability < floor || (probability === floor && id > lastId)) continue;
    const uniform = (hash(key ^ Math.imul(id, 0x9e3779b1)) + 0.5) * spread;
    // -ln(u) >= 1 - u saves the logarithm of most losers.
    if (1 - uniform >= latest * probability) continue;
    const rings = -Math.log(uniform) / probability;
    if (rings < first) {
      [second, first, latest] = [first, rings, rings * (1 + noise)];
      winner = id;
    } else if (rings < second) second = rings;
  }
  return { id: winner, isClear: noise === 0 || second > latest };
}

function drawKey(seed: number, index: number): number {
  return hash(hash(seed ^ 0x2545f491) + Math.imul(index + 1, 0x9e3779b9));
}

/** The finalizer of MurmurHash3 (A. Appleby) maps 32 bits to 32 well-mixed bits, unsigned. */
function hash(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
