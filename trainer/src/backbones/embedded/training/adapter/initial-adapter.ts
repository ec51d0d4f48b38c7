import { createRandom } from '@agentjet/core';
import type { AdapterForm } from './adapter-form.js';

/**
 * Returns the adapter that training begins with, shape [layout.length]. As in peft, A is uniform within 1 / sqrt(in),
 * and B is 0, so the adapter changes nothing.
 */
export function initialAdapter({ layout }: AdapterForm, seed: number): Float32Array {
  const random = createRandom(seed);
  const adapter = new Float32Array(layout.length);
  for (const { name, shape, offset, size } of layout.parameters) {
    if (!name.endsWith('.lora_A.weight')) continue;
    const bound = 1 / Math.sqrt(shape[1] ?? 1);
    for (let index = offset; index < offset + size; index++) adapter[index] = bound * (2 * random.next() - 1);
  }
  return adapter;
}
