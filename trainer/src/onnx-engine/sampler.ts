/**
 * Draws tokens from probabilities. The draw is a race of exponential clocks (the Gumbel-max trick: Gumbel 1954;
 * Maddison et al. 2014): token k rings at -ln(u_k) / p_k, the first one wins, and u_k is a hash of seed, token index
 * and k. So a draw depends on nothing that runs beside it, and float noise in the probabilities changes the winner
 * with a chance of about its own size, where walking the cumulative sum would multiply it by the vocabulary.
 */

import type { TokenSampling } from '@agentjet/core';
import { findCutoff } from './cutoff.js';

/** The logprob is a float32. */
export type Draw = { readonly id: number; readonly logprob: number };

const spread = 2 ** -32;
/** -ln of the largest uniform: no clock rings earlier than this over its probability. */
const earliest = -Math.log(1 - spread / 2);

/** A temperature below this is sampled at this: the distribution is a single token by then. */
const minTemperature = 1e-5;

/** What the logits are multiplied by before the softmax. Greedy rows keep the plain softmax. */
export function toInverseTemperature(temperature: number): number {
  return temperature === 0 ? 1 : 1 / Math.max(temperature, minTemperature);
}

/**
 * Draws from `probabilities` [V], the softmax at the sampling's temperature. `index` counts the tokens of the call.
 * Returns undefined where the probabilities are not numbers.
 */
export function drawToken(probabilities: Float32Array, sampling: TokenSampling, index: number): Draw | undefined {
  const isGreedy = sampling.temperature === 0;
  if (isGreedy) return toDraw(probabilities, argmax(probabilities), 1);
  const isWhole = sampling.topP >= 1 && (sampling.topK <= 0 || sampling.topK >= probabilities.length);
  const key = drawKey(sampling.seed, index);
  if (isWhole) return toDraw(probabilities, race(probabilities, key, 0, 0), 1);
  const cutoff = findCutoff(probabilities, sampling);
  return toDraw(probabilities, race(probabilities, key, cutoff.probability, cutoff.id), cutoff.mass);
}

function toDraw(probabilities: Float32Array, id: number, mass: number): Draw | undefined {
  const probability = probabilities[id];
  if (probability === undefined) return undefined;
  return { id, logprob: Math.fround(Math.min(0, Math.log(probability / mass))) };
}

/** The lowest id of the largest probability; -1 where nothing is a number. */
function argmax(probabilities: Float32Array): number {
  let best = -1;
  let highest = -1;
  for (let id = 0; id < probabilities.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    if (probability > highest) {
      highest = probability;
      best = id;
    }
  }
  return best;
}

/** The winner among tokens above `floor`, or at it with an id up to `lastId`; -1 where nothing is a number. */
function race(probabilities: Float32Array, key: number, floor: number, lastId: number): number {
  let winner = -1;
  let first = Infinity;
  for (let id = 0; id < probabilities.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    // Cannot win even with the earliest clock. Written so that NaN is skipped too.
    if (!(probability * first > earliest)) continue;
    if (probability < floor || (probability === floor && id > lastId)) continue;
    const uniform = (hash(key ^ Math.imul(id, 0x9e3779b1)) + 0.5) * spread;
    // -ln(u) >= 1 - u saves the logarithm of most losers.
    if (1 - uniform >= first * probability) continue;
    const rings = -Math.log(uniform) / probability;
    if (rings < first) {
      first = rings;
      winner = id;
    }
  }
  return winner;
}

function drawKey(seed: number, index: number): number {
  return hash(hash(seed ^ 0x2545f491) + Math.imul(index + 1, 0x9e3779b9));
}

/** The finalizer of MurmurHash3 (A. Appleby): 32 bits in, 32 well-mixed bits out, unsigned. */
function hash(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
