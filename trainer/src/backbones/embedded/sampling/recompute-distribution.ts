import { DecodeBatch } from './decode-batch.js';
import { Sequence } from './sequence.js';
import type { StepInputBuilder } from './step-input.js';
import { kvBytesPerToken, type StepModel } from './step-model.js';

/** The number of tokens per pass. Another number would change the last bits of the result. */
const width = 256;

/**
 * Returns the distribution [V] after all tokens of a call. It computes the row again from its first token, without
 * other rows and without the cache. The passes are always cut in the same way, so the result depends to the last bit
 * only on the tokens, the temperature and the weights. Returns null if the call has ended in the meantime.
 */
export async function recomputeDistribution(
  model: StepModel,
  input: StepInputBuilder,
  call: Sequence,
): Promise<Float32Array | null> {
  const { ids, job } = call;
  const reader = new Sequence({ ...job, promptIds: ids }, 0, model.contextLength);
  const { contextLength: maxLength, kvShape } = model;
  const batch = new DecodeBatch(kvShape, { maxLength, maxBytes: 2 * maxLength * kvBytesPerToken(kvShape) });
  batch.reserve(1, ids.length);
  const row = batch.add(reader);
  while (!call.isOver) {
    const count = Math.min(width, reader.numPending);
    const { probabilities, fresh } = await model.run(input.build(batch, { start: 0, end: 1 }, count));
    if (fresh !== null)
      batch.kv.append(row, reader.kvLength, { values: fresh, numRows: 1, width: count }, { row: 0, count });
    reader.kvLength += count;
    if (reader.numPending === 0) return call.isOver ? null : probabilities;
  }
  return null;
}
