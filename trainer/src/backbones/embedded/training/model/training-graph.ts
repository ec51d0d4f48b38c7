/**
 * The graphs over a whole micro-batch: one for scoring, and one for training, which also computes gradients. The loss
 * is that of LossOptions in @agentjet/core. Its coefficients are inputs of the graph, and its form is fixed when the
 * graph is built.
 */

import {
  absolute,
  add,
  compare,
  exponential,
  maximum,
  minimum,
  multiply,
  negate,
  square,
  subtract,
  toFloat,
} from '../graph/elementwise.js';
import { gather } from '../graph/gather.js';
import { Graph } from '../graph/graph.js';
import { sumAll } from '../graph/reduce.js';
import { softmax } from '../graph/softmax.js';
import { embeddingName, scoredTokens, tokenLogits } from './sequence-inputs.js';
import type { GraphOptions } from '../graph/graph.js';
import type { Value } from '../graph/value.js';
import type { LossForm } from './loss-form.js';
import type { GridForm, ScoredTokens } from './sequence-inputs.js';

/**
 * The maximum difference of logprobs before exp. exp(60) is 1e26, which exceeds every clip limit and is still finite in
 * float32 after the multiplication by an advantage. exp(89) is infinite, and 0 * Infinity is NaN.
 */
const maxLogRatio = 60;

export const embeddedGradientName = 'gradient of embedded';

/** Returns the name of the output with a parameter's gradient. */
export function gradientName(parameter: string): string {
  return `gradient of ${parameter}`;
}

/** Output: logprobs [M]. */
export function scoringGraph(grid: GridForm, options: GraphOptions = {}): Graph {
  const graph = new Graph(options);
  const { logprobs } = graph.withoutGradient(() => scoredTokens(graph, grid, 'scores'));
  graph.output('logprobs', logprobs);
  return graph;
}

/** Output: probabilities [U, V], or [R, V], before tokens are cut. */
export function distributionGraph(grid: GridForm, options: GraphOptions = {}): Graph {
  const graph = new Graph(options);
  graph.output(
    'probabilities',
    graph.withoutGradient(() => softmax(tokenLogits(graph, grid))),
  );
  return graph;
}

/**
 * More inputs: term_pairs int32 [K], term_weights [K]; for `policy` also term_advantages, term_logprobs, term_caps [K]
 * (the largest loss a term may have), the scalars ratio_low, ratio_high and rounding; with a KL term reference_logprobs
 * [M] and kl_coef; with an entropy bonus entropy_coef. Outputs: loss; logprobs [M]; entropies [U]; kl [M] with a KL
 * term; the gradient of every parameter, except that the gradient of the embedding's input side is returned as the
 * gradient of `embedded` [N, hiddenSize]. Adding these N rows to the table is faster outside of the graph than a
 * scatter inside. With an adapter, the only gradients are those of the adapter.
 */
export function trainingGraph(grid: GridForm, form: LossForm, options: GraphOptions = {}): Graph {
  const graph = new Graph(options);
  const use = form.kind === 'policy' && form.hasEntropyBonus ? 'entropy gradients' : 'gradients';
  const scored = scoredTokens(graph, grid, use);
  const loss = form.kind === 'sft' ? sftLoss(graph, scored) : policyLoss(graph, scored, form);
  graph.output('loss', loss);
  graph.output('logprobs', scored.logprobs);
  graph.output('entropies', entropiesOf(scored));
  if (grid.adapter === undefined) outputGradients(graph, { isTied: grid.config.isTied, scored, loss });
  else outputNamed(graph, [...scored.trained.keys()], graph.backward(loss, [...scored.trained.values()]));
  return graph;
}

function entropiesOf({ entropies }: ScoredTokens): Value {
  if (entropies === undefined) throw new Error('A training graph has entropies.');
  return entropies;
}

function outputGradients(
  graph: Graph,
  { isTied, scored, loss }: { readonly isTied: boolean; readonly scored: ScoredTokens; readonly loss: Value },
): void {
  const inGraph = [...scored.trained].filter(([name]) => isTied || name !== embeddingName);
  const [ofEmbedded, ...ofParameters] = graph.backward(loss, [scored.embedded, ...inGraph.map(([, value]) => value)]);
  if (ofEmbedded !== undefined) graph.output(embeddedGradientName, ofEmbedded);
  outputNamed(
    graph,
    inGraph.map(([name]) => name),
    ofParameters,
  );
}

function outputNamed(graph: Graph, names: readonly string[], gradients: readonly Value[]): void {
  for (const [index, gradient] of gradients.entries()) graph.output(gradientName(names[index] ?? ''), gradient);
}

function sftLoss(graph: Graph, { logprobs }: ScoredTokens): Value {
  const { pairs, weights } = termInputs(graph);
  return negate(sumAll(multiply(weights, gather(logprobs, pairs))));
}

function policyLoss(graph: Graph, scored: ScoredTokens, form: LossForm & { readonly kind: 'policy' }): Value {
  const { pairs, weights } = termInputs(graph);
  let perTerm = clippedLoss(graph, gather(scored.logprobs, pairs));
  if (form.klEstimator !== 'none') {
    const kl = klEstimate(subtract(graph.input('reference_logprobs', ['M']), scored.logprobs), form.klEstimator);
    graph.output('kl', kl);
    perTerm = add(perTerm, multiply(gather(kl, pairs), graph.input('kl_coef', [])));
  }
  if (form.hasEntropyBonus) {
    const entropies = gather(gather(entropiesOf(scored), scored.pairRows), pairs);
    perTerm = subtract(perTerm, multiply(entropies, graph.input('entropy_coef', [])));
  }
  return sumAll(multiply(weights, perTerm));
}

function termInputs(graph: Graph): { readonly pairs: Value; readonly weights: Value } {
  return { pairs: graph.input('term_pairs', ['K'], 'int32'), weights: graph.input('term_weights', ['K']) };
}

/** min(cap, -min(r A, clip(r) A)), r = exp(logprob - behaviour logprob). */
function clippedLoss(graph: Graph, logprobs: Value): Value {
  const sampled = graph.input('term_logprobs', ['K']);
  const behaviour = graph.withoutGradient(() => behaviourLogprobs(logprobs, sampled, graph.input('rounding', [])));
  const ratio = exponential(minimum(subtract(logprobs, behaviour), maxLogRatio));
  const advantages = graph.input('term_advantages', ['K']);
  const clipped = minimum(maximum(ratio, graph.input('ratio_low', [])), graph.input('ratio_high', []));
  const loss = negate(minimum(multiply(ratio, advantages), multiply(clipped, advantages)));
  return minimum(loss, graph.input('term_caps', ['K']));
}

/** Uses the training logprob itself if the sampled one is closer than `rounding`; then r is exactly 1. */
function behaviourLogprobs(logprobs: Value, sampled: Value, rounding: Value): Value {
  const isRounding = toFloat(compare('Less', absolute(subtract(logprobs, sampled)), rounding));
  return add(multiply(isRounding, logprobs), multiply(subtract(1, isRounding), sampled));
}

/** Estimates KL(policy, reference) from one sample (Schulman 2020), with d = reference - logprob. */
function klEstimate(difference: Value, estimator: 'k1' | 'k2' | 'k3'): Value {
  if (estimator === 'k1') return negate(difference);
  if (estimator === 'k2') return multiply(square(difference), 0.5);
  return subtract(subtract(exponential(difference), difference), 1);
}
