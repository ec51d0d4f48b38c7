/**
 * Draws tokens from probabilities. The draw is a race of exponential clocks (the Gumbel-max trick: Gumbel 1954;
 * Maddison et al. 2014): token k rings at -ln(u_k) / p_k, the first one wins, and u_k is a hash of seed, token index
 * and k. A draw is therefore independent of other calls. If rounding changes the probabilities by a small share, the
 * chance that it changes the winner is about as small. With a draw from the cumulative sum, that chance would grow with
 * the size of the vocabulary.
 */

import type { TokenSampling } from '@agentjet/core';
import { findCutoff } from './cutoff.js';
import { hashConstants, scanRace } from './race-scanner.js';

export type SampledToken = {
  readonly id: number;
  /** The logprob of the token, a float32. */
  readonly logprob: number;
  /**
   * True if all probabilities that differ from these by at most the noise give the same token. If false, the id may
   * differ from the one that exact probabilities give.
   */
  readonly isClear: boolean;
};

const spread = 2 ** -32;
/** -ln of the largest uniform number. No clock rings before this value divided by its probability. */
const earliest = -Math.log(1 - spread / 2);

/** A lower temperature is raised to this one, which already gives a single token all of the probability. */
const minTemperature = 1e-5;

/**
 * The relative error of the ratio of two probabilities. It depends on which calls run at the same time, because kernels
 * add in another order for other shapes. Measured: 1e-5 (trainer/LOG.md). A temperature below 1 enlarges differences of
 * logits.
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
 * `noise` is the maximum relative error of the ratio of two probabilities. Returns undefined if the probabilities are
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
  const scan = scanRace(probabilities, key);
  for (let id = 0; id < probabilities.length; id += 1) {
    if (scan !== undefined && id % 4 === 0) id = scan(id, latest);
    if (id >= probabilities.length) break;
    const probability = probabilities[id] ?? 0;
    // Even the earliest clock of such a token would ring too late. The comparison also skips NaN.
    if (!(probability * latest > earliest)) continue;
    if (probability < floor || (probability === floor && id > lastId)) continue;
    const uniform = (hash(key ^ Math.imul(id, hashConstants.idFactor)) + 0.5) * spread;
    // Because -ln(u) >= 1 - u, most losers need no logarithm.
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
  mixed = Math.imul(mixed ^ (mixed >>> 16), hashConstants.first);
  mixed = Math.imul(mixed ^ (mixed >>> 13), hashConstants.second);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
