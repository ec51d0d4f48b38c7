import { createRandom, type LossOptions, type TermReport, type TreePack } from '@agentjet/core';
import { power } from '../backbones/power.js';
import { termLoss } from '../slope/term-loss.js';

/**
 * A language model that is small enough to read, in double precision, with its gradient written out. Tests of packing,
 * credit and the loop compare their results with it. The state of token i is a decaying sum over the tokens that it
 * attends to:
 * ```
 * s_i = sum_{k sees i} decayRate^(pos_i - pos_k) E[id_k] + P[pos_i mod 32],  h_i = tanh(s_i),  logits_i = h_i W
 * ```
 * so a wrong mask, position or target changes its result.
 */
export type TinyShape = { readonly vocabSize: number; readonly width: number };

/** One flat vector: E [V, D], then P [32, D], then W [D, V]. */
export type TinyWeights = Float64Array;

const decayRate = 0.8;
const numPositions = 32;

export function createTinyWeights({ vocabSize, width }: TinyShape, seed: number): TinyWeights {
  const random = createRandom(seed);
  return Float64Array.from({ length: (2 * vocabSize + numPositions) * width }, () => random.next() - 0.5);
}

function splitWeights(weights: Float64Array, { vocabSize, width }: TinyShape) {
  const positionsAt = vocabSize * width;
  const outputAt = positionsAt + numPositions * width;
  return {
    embedding: weights.subarray(0, positionsAt),
    position: weights.subarray(positionsAt, outputAt),
    output: weights.subarray(outputAt),
  };
}

type Layout = Pick<TreePack, 'ids' | 'positions' | 'ends'>;

/** Calls `visit` for each key that query `i` sees: k <= i < ends[k]. */
function visitVisible({ positions, ends }: Layout, query: number, visit: (key: number, decay: number) => void): void {
  for (let key = 0; key <= query; key++) {
    if (query < (ends[key] as number))
      visit(key, power(decayRate, (positions[query] as number) - (positions[key] as number)));
  }
}

/** Returns the hidden state of one packed token, shape [D]. */
function hiddenState(weights: TinyWeights, shape: TinyShape, layout: Layout, query: number): Float64Array {
  const { embedding, position } = splitWeights(weights, shape);
  const positionAt = ((layout.positions[query] as number) % numPositions) * shape.width;
  const sum = position.slice(positionAt, positionAt + shape.width);
  visitVisible(layout, query, (key, decay) => {
    const at = (layout.ids[key] as number) * shape.width;
    for (let d = 0; d < shape.width; d++) sum[d] = (sum[d] as number) + decay * (embedding[at + d] as number);
  });
  return sum.map(Math.tanh);
}

/** Returns the log of softmax(h W / temperature), shape [V]. */
function logDistribution(
  weights: TinyWeights,
  shape: TinyShape,
  hidden: Float64Array,
  temperature: number,
): Float64Array {
  const { output } = splitWeights(weights, shape);
  const logits = new Float64Array(shape.vocabSize);
  for (let d = 0; d < shape.width; d++) {
    for (let v = 0; v < shape.vocabSize; v++)
      logits[v] =
        (logits[v] as number) + ((hidden[d] as number) * (output[d * shape.vocabSize + v] as number)) / temperature;
  }
  const highest = Math.max(...logits);
  const logSum = highest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
  return logits.map((logit) => logit - logSum);
}

/** Returns log-probabilities of the token after `context`, shape [V]. */
export function nextLogprobs(
  weights: TinyWeights,
  shape: TinyShape,
  context: Int32Array,
  temperature: number,
): Float64Array {
  const layout = {
    ids: context,
    positions: Int32Array.from(context.keys()),
    ends: new Int32Array(context.length).fill(context.length),
  };
  return logDistribution(weights, shape, hiddenState(weights, shape, layout, context.length - 1), temperature);
}

/** Returns the log-probability of each (predictor, target) pair of a pack, shape [M]. */
export function pairLogprobs(weights: TinyWeights, shape: TinyShape, pack: TreePack, temperature = 1): Float64Array {
  return Float64Array.from(pack.predictors, (predictor, pair) => {
    return logDistribution(weights, shape, hiddenState(weights, shape, pack, predictor), temperature)[
      pack.targets[pair] as number
    ] as number;
  });
}

export type TinyGradient = {
  readonly loss: number;
  /** Has the shape of the weights. */
  readonly gradient: Float64Array;
  readonly entropy: number;
  readonly kl: number;
  readonly clippedTerms: number;
  /** |logprob - behaviour logprob| of each term. */
  readonly gaps: Float64Array;
  readonly report: TermReport;
};

/** Computes the loss of a pack's terms and its gradient, pair by pair. `reference` has the weights of the KL term. */
export function tinyGradient(
  weights: TinyWeights,
  shape: TinyShape,
  pack: TreePack,
  options: LossOptions,
  reference: TinyWeights,
): TinyGradient {
  const entropyCoef = options.kind === 'policy' ? options.entropyCoef : 0;
  const gradient = new Float64Array(weights.length);
  const totals = { loss: 0, entropy: 0, kl: 0, clippedTerms: 0, gaps: new Float64Array(pack.terms.pair.length) };
  const report = emptyReport(pack.terms.pair.length);
  for (const { predictor, target, temperature, terms } of drawsOf(pack, options)) {
    const hidden = hiddenState(weights, shape, pack, predictor);
    const logs = logDistribution(weights, shape, hidden, temperature);
    const ofReference = logDistribution(reference, shape, hiddenState(reference, shape, pack, predictor), temperature);
    const entropy = -logs.reduce((sum, log) => sum + Math.exp(log) * log, 0);
    const logprob = logs[target] as number;
    let slope = 0;
    let weightSum = 0;
    for (const term of terms) {
      const weight = pack.terms.weights[term] as number;
      const behaviour = pack.terms.logprobs[term] as number;
      const advantage = pack.terms.advantages[term] as number;
      const result = termLoss(logprob, { advantage, behaviour, reference: ofReference[target] as number }, options);
      slope += weight * result.slope;
      weightSum += weight;
      totals.loss += weight * (result.loss - entropyCoef * entropy);
      totals.entropy += weight * entropy;
      totals.kl += weight * result.kl;
      totals.clippedTerms += result.clipped ? 1 : 0;
      totals.gaps[term] = Math.abs(logprob - behaviour);
      report.logprobs[term] = logprob;
      report.entropies[term] = entropy;
      report.ratios[term] = Math.exp(logprob - behaviour);
      report.clipped[term] = result.clipped ? 1 : 0;
    }
    const byLogit = logs.map(
      (log, v) =>
        (slope * ((v === target ? 1 : 0) - Math.exp(log)) + entropyCoef * weightSum * Math.exp(log) * (log + entropy)) /
        temperature,
    );
    addGradient(gradient, weights, shape, pack, { predictor, hidden, byLogit });
  }
  return { gradient, ...totals, report };
}

/**
 * Returns the log-probability of each term's token, at its own temperature or otherwise at `temperature`, shape [K].
 */
export function termLogprobs(
  weights: TinyWeights,
  shape: TinyShape,
  pack: TreePack,
  temperature: number,
): Float64Array {
  const found = new Float64Array(pack.terms.pair.length);
  for (const draw of drawsOf(pack, { temperature })) {
    const logs = logDistribution(weights, shape, hiddenState(weights, shape, pack, draw.predictor), draw.temperature);
    for (const term of draw.terms) found[term] = logs[draw.target] as number;
  }
  return found;
}

/** A supervised (predictor, target) pair at one temperature, with the terms that share it. */
type TinyDraw = {
  readonly predictor: number;
  readonly target: number;
  readonly temperature: number;
  readonly terms: readonly number[];
};

function drawsOf(pack: TreePack, { temperature = 1 }: { readonly temperature?: number }): TinyDraw[] {
  const temperatureOf = (term: number) => (pack.terms.temperatures?.[term] ?? temperature) || 1;
  const termsOf = termsByPair(pack);
  return Array.from(pack.predictors).flatMap((predictor, pair) => {
    const terms = termsOf[pair] ?? [];
    const target = pack.targets[pair] as number;
    return [...new Set(terms.map(temperatureOf))].map((each) => ({
      predictor,
      target,
      temperature: each,
      terms: terms.filter((term) => temperatureOf(term) === each),
    }));
  });
}

function emptyReport(numTerms: number): TermReport & { readonly entropies: Float32Array } {
  return {
    logprobs: new Float32Array(numTerms),
    entropies: new Float32Array(numTerms),
    ratios: new Float32Array(numTerms),
    clipped: new Uint8Array(numTerms),
  };
}

function termsByPair(pack: TreePack): number[][] {
  const terms: number[][] = Array.from(pack.predictors, () => []);
  pack.terms.pair.forEach((pair, term) => terms[pair]?.push(term));
  return terms;
}

type PairGradient = { readonly predictor: number; readonly hidden: Float64Array; readonly byLogit: Float64Array };

/** Goes backward through W, tanh, P and E of one predictor. */
function addGradient(
  gradient: Float64Array,
  weights: TinyWeights,
  shape: TinyShape,
  pack: TreePack,
  { predictor, hidden, byLogit }: PairGradient,
): void {
  const { width, vocabSize } = shape;
  const { output } = splitWeights(weights, shape);
  const into = splitWeights(gradient, shape);
  const bySum = new Float64Array(width);
  for (let d = 0; d < width; d++) {
    let byHidden = 0;
    for (let v = 0; v < vocabSize; v++) {
      byHidden += (output[d * vocabSize + v] as number) * (byLogit[v] as number);
      into.output[d * vocabSize + v] =
        (into.output[d * vocabSize + v] as number) + (hidden[d] as number) * (byLogit[v] as number);
    }
    bySum[d] = byHidden * (1 - (hidden[d] as number) ** 2);
  }
  addScaled(into.position, ((pack.positions[predictor] as number) % numPositions) * width, bySum, 1);
  visitVisible(pack, predictor, (key, decay) =>
    addScaled(into.embedding, (pack.ids[key] as number) * width, bySum, decay),
  );
}

function addScaled(into: Float64Array, at: number, vector: Float64Array, scale: number): void {
  for (let d = 0; d < vector.length; d++) into[at + d] = (into[at + d] as number) + scale * (vector[d] as number);
}
