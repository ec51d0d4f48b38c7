/**
 * Log probabilities and entropies from a head that takes no gradient. Their gradients with respect to the hidden states
 * need only sums over the vocabulary, and these sums are as narrow as a hidden state. So the rows are computed in
 * chunks, and the logits of a chunk are freed before those of the next one. Nothing is computed twice.
 */

import { add, multiply, negate, subtract } from '../graph/elementwise.js';
import { gather, scatterAdd } from '../graph/gather.js';
import type { Graph } from '../graph/graph.js';
import { gemm } from '../graph/matmul.js';
import { expand, sum } from '../graph/reduce.js';
import { concat, reshape, split } from '../graph/reshape.js';
import { softmax } from '../graph/softmax.js';
import { dimAt, sizeAt, type Value } from '../graph/value.js';

/** What a graph computes: log probabilities, or also the gradients of log probabilities, or also those of entropies. */
export type HeadUse = 'scores' | 'gradients' | 'entropy gradients';

export type FrozenHeadInputs = {
  /** Shape [U, H]. */
  readonly hidden: Value;
  /** Shape [V, H]. */
  readonly head: Value;
  /** int32 [M]: row of the hidden states. */
  readonly rows: Value;
  /** int32 [M]: row of the head. */
  readonly targets: Value;
  readonly use: HeadUse;
  readonly numChunks: number;
};

/** The sums of each row, with p = softmax(head h): shapes [U, 1], [U, 1], [U, H] and [U, H]. */
type Sums = {
  /** log(sum of exp(logits)). */
  readonly normalizer: Value;
  /** The mean of the logits under p. */
  readonly logit?: Value | undefined;
  /** The mean of the head's rows under p. */
  readonly mean?: Value | undefined;
  /** The mean of logit times row under p. */
  readonly product?: Value | undefined;
};

/** logprobs [M] of the chosen tokens; entropies [U] in nats, unless the graph only scores. */
export function frozenHead(inputs: FrozenHeadInputs): {
  readonly logprobs: Value;
  readonly entropies: Value | undefined;
} {
  const { graph } = inputs.hidden;
  const sums = graph.withoutGradient(() => allSums(inputs));
  return {
    logprobs: chosenLogprobs(inputs, sums),
    entropies: sums.logit && rowEntropies(inputs.hidden, sums.logit, sums),
  };
}

/**
 * The sums of a chunk become columns of one value, so that ONNX Runtime computes all of them before it begins the next
 * chunk.
 */
function allSums({ hidden, head, use, numChunks }: FrozenHeadInputs): Sums {
  const width = sizeAt(hidden.shape, 1);
  const [first, ...rest] = chunksOf(hidden, numChunks).map((chunk) => chunkSums(chunk, head, use));
  if (first === undefined) throw new Error('There is at least one chunk.');
  const all = rest.length === 0 ? first : concat([first, ...rest], 0, dimAt(hidden.shape, 0));
  const widths = { scores: [1], gradients: [1, 1, width], 'entropy gradients': [1, 1, width, width] }[use];
  const [normalizer, logit, mean, product] = widths.length === 1 ? [all] : split(all, widths, 1);
  if (normalizer === undefined) throw new Error('Each row has a normalizer.');
  return { normalizer, logit, mean, product };
}

/** Cuts the rows into chunks of equal size. The last chunks are smaller, or empty. */
function chunksOf(hidden: Value, numChunks: number): readonly Value[] {
  const { graph } = hidden;
  const [rows, width] = [dimAt(hidden.shape, 0), dimAt(hidden.shape, 1)];
  if (numChunks === 1) return [hidden];
  const whole = (operator: string, left: Value, right: Value): Value =>
    graph.node(operator, [left, right], { shape: [1], type: 'int64' });
  const numbers = (value: number): Value => graph.integers([value]);
  const size = whole('Div', whole('Add', graph.dim(rows), numbers(numChunks - 1)), numbers(numChunks));
  return Array.from({ length: numChunks }, (_, index) => {
    const [start, end] = [whole('Mul', size, numbers(index)), whole('Mul', size, numbers(index + 1))];
    return graph.node('Slice', [hidden, start, end, numbers(0)], { shape: [`${rows} of chunk ${index}`, width] });
  });
}

function chunkSums(hidden: Value, head: Value, use: HeadUse): Value {
  const { graph } = hidden;
  const logits = gemm(hidden, head, { transposeRight: true });
  const normalizer = rowNormalizer(graph, logits);
  if (use === 'scores') return normalizer;
  const probabilities = softmax(logits);
  const mean = gemm(probabilities, head);
  const logit = sum(multiply(hidden, mean), [-1]);
  if (use === 'gradients') return concat([normalizer, logit, mean], 1);
  return concat([normalizer, logit, mean, gemm(multiply(probabilities, logits), head)], 1);
}

function rowNormalizer(graph: Graph, logits: Value): Value {
  const shape = [dimAt(logits.shape, 0), 1];
  return graph.node('ReduceLogSumExp', [logits, graph.integers([-1])], { shape }, { attributes: { keepdims: 1 } });
}

/** d logprob(row, target) / d hidden(row) = head(target) - mean(row). */
function chosenLogprobs({ hidden, head, rows, targets }: FrozenHeadInputs, { normalizer, mean }: Sums): Value {
  const { graph } = hidden;
  const [numRows, numPairs] = [dimAt(hidden.shape, 0), dimAt(rows.shape, 0)];
  const chosen = graph.withoutGradient(() => gather(head, targets));
  const output = graph.withoutGradient(() => {
    const logits = sum(multiply(gather(hidden, rows), chosen), [-1]);
    return reshape(subtract(logits, gather(normalizer, rows)), [numPairs]);
  });
  const gradientOf = (gradient: Value): Value => {
    if (mean === undefined) throw new Error('A graph that only scores has no gradients.');
    const column = reshape(gradient, [numPairs, 1]);
    const spread = (updates: Value): Value => {
      const index = graph.node('Expand', [reshape(rows, [numPairs, 1]), graph.shape(updates.shape)], {
        shape: updates.shape,
        type: rows.type,
      });
      const zeros = expand(graph.scalar(0), [numRows, ...updates.shape.slice(1)]);
      return scatterAdd(zeros, index, updates, 0);
    };
    return subtract(spread(multiply(chosen, column)), multiply(mean, spread(column)));
  };
  return graph.differentiable(output, [{ of: hidden, gradient: gradientOf }]);
}

/** Entropy is normalizer - logit, and d entropy / d hidden = mean logit - product. */
function rowEntropies(hidden: Value, logit: Value, { normalizer, mean, product }: Sums): Value {
  const { graph } = hidden;
  const numRows = dimAt(hidden.shape, 0);
  const output = graph.withoutGradient(() => reshape(subtract(normalizer, logit), [numRows]));
  const gradientOf = (gradient: Value): Value => {
    if (mean === undefined || product === undefined)
      throw new Error('This graph was built without the gradients of entropies.');
    return multiply(add(multiply(mean, logit), negate(product)), reshape(gradient, [numRows, 1]));
  };
  return graph.differentiable(output, [{ of: hidden, gradient: gradientOf }]);
}
