import { add, multiply, sigmoid, silu, subtract } from '../graph/elementwise.js';
import { copyAfter } from '../graph/copy-after.js';
import { recomputable } from '../graph/compute-again.js';
import { shareResult } from '../graph/share-result.js';
import type { Value } from '../graph/value.js';

/** silu(gate) * factor, of values of one shape. Only the two operands are kept for the gradient. */
export function gatedSilu(gate: Value, factor: Value): Value {
  const { graph } = gate;
  const opened = shareResult((gradient: Value) => {
    const share = sigmoid(copyAfter(gate, [gradient]));
    return { share, value: multiply(gate, share) };
  });
  const ofGate = (gradient: Value): Value => {
    const { share, value } = opened(gradient);
    return multiply(multiply(gradient, factor), add(share, multiply(value, subtract(1, share))));
  };
  const output = graph.withoutGradient(() => multiply(silu(gate), factor));
  const product = recomputable(output, (gradient) => multiply(opened(gradient).value, factor));
  return graph.differentiable(product, [
    { of: gate, gradient: ofGate },
    { of: factor, gradient: (gradient) => multiply(gradient, opened(gradient).value) },
  ]);
}
