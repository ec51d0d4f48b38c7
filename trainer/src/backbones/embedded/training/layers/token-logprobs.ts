/** Computes log probabilities of chosen tokens and the entropy of each row's distribution. */

import { add, exponential, multiply, negate } from '../graph/elementwise.js';
import { scatterAdd } from '../graph/gather.js';
import { shareResult } from '../graph/share-result.js';
import { expand, sum } from '../graph/reduce.js';
import { reshape } from '../graph/reshape.js';
import { dimAt, sizeAt } from '../graph/value.js';
import type { Value } from '../graph/value.js';

export type TokenChoice = {
  /** Shape [U, V]. */
  readonly logits: Value;
  /** int32 [M]: row of the logits. */
  readonly rows: Value;
  /** int32 [M]: column of the logits. */
  readonly targets: Value;
};

/** logprobs [M] of the chosen tokens; entropies [U] in nats. Both are differentiable. */
export function tokenLogprobs({ logits, rows, targets }: TokenChoice): {
  readonly logprobs: Value;
  readonly entropies: Value;
} {
  const { graph } = logits;
  const all = graph.node('LogSoftmax', [logits], logits, { attributes: { axis: -1 } });
  const probabilities = shareResult(() => exponential(all));
  return {
    logprobs: chosenLogprobs({ logits, rows, targets }, all, probabilities),
    entropies: rowEntropies(logits, all, probabilities),
  };
}

/** d logprob(row, target) / d logits(row) = onehot(target) - probabilities(row). */
function chosenLogprobs({ logits, rows, targets }: TokenChoice, all: Value, probabilities: () => Value): Value {
  const { graph } = logits;
  const numRows = dimAt(logits.shape, 0);
  const position = flatPositions(rows, targets, sizeAt(logits.shape, 1));
  const flat = graph.defineDim(`${numRows} * tokens`, logits.shape);
  const output = graph.node(
    'Gather',
    [reshape(all, [flat]), position],
    { shape: rows.shape },
    { attributes: { axis: 0 } },
  );
  const gradientOf = (gradient: Value): Value => {
    const rowSums = scatterAdd(expand(graph.scalar(0), [numRows]), rows, gradient, 0);
    const spread = multiply(probabilities(), reshape(negate(rowSums), [numRows, 1]));
    return reshape(scatterAdd(reshape(spread, [flat]), position, gradient, 0), logits.shape);
  };
  return graph.differentiable(output, [{ of: logits, gradient: gradientOf }]);
}

/** d entropy / d logits = -probabilities * (logprobs + entropy). */
function rowEntropies(logits: Value, all: Value, probabilities: () => Value): Value {
  const { graph } = logits;
  const numRows = dimAt(logits.shape, 0);
  const column = shareResult(() => negate(sum(multiply(probabilities(), all), [-1])));
  const output = graph.withoutGradient(() => reshape(column(), [numRows]));
  const gradientOf = (gradient: Value): Value =>
    multiply(multiply(probabilities(), add(all, column())), negate(reshape(gradient, [numRows, 1])));
  return graph.differentiable(output, [{ of: logits, gradient: gradientOf }]);
}

function flatPositions(rows: Value, targets: Value, numTokens: number): Value {
  const { graph } = rows;
  const width = graph.initializer([], Int32Array.of(numTokens), { type: 'int32' });
  const start = graph.node('Mul', [rows, width], rows);
  return graph.node('Add', [start, targets], rows);
}
