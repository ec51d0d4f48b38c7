/**
 * Reads, for each row of a grid, the tokens on the path from the root to the row's first token. Many rows read the same
 * token, so a scatter of their gradients would be slow. Because only a few different tokens are read at each depth, one
 * small product with a matrix of zeros and ones adds up the gradients of a depth.
 */

import { compare, toFloat } from '../graph/elementwise.js';
import { shareResult } from '../graph/share-result.js';
import { matmul } from '../graph/matmul.js';
import { expand } from '../graph/reduce.js';
import { concat, reshape, transpose } from '../graph/reshape.js';
import { dimAt, withDim } from '../graph/value.js';
import type { Graph } from '../graph/graph.js';
import type { Dim, Value } from '../graph/value.js';

/** The arrays of RootPaths (see microbatches/root-paths.ts), with length S and width W. */
export type PathInputs = {
  /** int32 [B, S]. */
  readonly tokens: Value;
  /** Shape [S, W, B]: 1 if the row reads that token of the slot. */
  readonly isRead: () => Value;
  /** int32 [N]. */
  readonly places: Value;
};

/** Inputs are path_tokens [B, S], path_slots [S, B], path_counts [W] = 0..W-1 and path_places [N], all int32. */
export function pathInputs(graph: Graph, numTokens: Dim): PathInputs {
  const slots = graph.input('path_slots', ['S', 'B'], 'int32');
  const counts = graph.input('path_counts', ['W'], 'int32');
  const isRead = shareResult(() => toFloat(compare('Equal', reshape(slots, ['S', 1, 'B']), reshape(counts, ['W', 1]))));
  return {
    tokens: graph.input('path_tokens', ['B', 'S'], 'int32'),
    isRead,
    places: graph.input('path_places', [numTokens], 'int32'),
  };
}

/** Returns rows [B, S, C] of `table` [N, C] along the paths. */
export function pathGather(table: Value, { tokens, isRead, places }: PathInputs): Value {
  const { graph } = table;
  const width = dimAt(table.shape, 1);
  const output = graph.node(
    'Gather',
    [table, tokens],
    { shape: [...tokens.shape, width] },
    { attributes: { axis: 0 } },
  );
  const gradientOf = (gradient: Value): Value => {
    const perToken = matmul(isRead(), transpose(gradient, [1, 0, 2]));
    const rows = reshape(perToken, [graph.defineDim('S * W', perToken.shape.slice(0, 2)), width]);
    const zeroRow = expand(graph.scalar(0), withDim(rows.shape, 0, 1));
    return graph.node(
      'Gather',
      [concat([rows, zeroRow], 0, 'S * W and zero'), places],
      { shape: table.shape },
      { attributes: { axis: 0 } },
    );
  };
  return graph.differentiable(output, [{ of: table, gradient: gradientOf }]);
}
