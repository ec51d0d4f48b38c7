import type { Mutant } from '../../mutants/mutants.js';

/** Five ways in which a change breaks learning without breaking a type. The gate must turn red for each. */
export const regressions: readonly Mutant[] = [
  {
    name: 'the advantage has the wrong sign',
    file: 'trainer/src/algorithms/grpo/grpo.ts',
    original: 'centered.map((value) => value * scale)',
    mutated: 'centered.map((value) => -value * scale)',
  },
  {
    name: 'the loss mask is off by one',
    file: 'trainer/src/packing/supervision.ts',
    original: 'if (sample.lossMask[t] === 1) positions[count++] = t;',
    mutated: 'if (sample.lossMask[t + 1] === 1 && t > 0) positions[count++] = t;',
  },
  {
    name: 'half the learning rate',
    file: 'trainer/src/testing/tiny-backbone.ts',
    original: 'optimizer?.learningRate ?? scheduledRate(this.#options.optimizer, this.#state.step);',
    mutated: '(optimizer?.learningRate ?? scheduledRate(this.#options.optimizer, this.#state.step)) / 2;',
  },
  {
    name: 'the engine samples from stale weights',
    file: 'trainer/src/testing/tiny-backbone.ts',
    original: 'this.#next(Int32Array.of(...promptIds, ...ids), sampling.temperature || 1, state)',
    mutated:
      'this.#next(Int32Array.of(...promptIds, ...ids), sampling.temperature || 1, { ...state, weights: this.#reference })',
  },
  {
    name: 'most groups of a batch are lost before credit',
    file: 'packages/run/src/batched.ts',
    original: 'if (batch.length < size) continue;\n    yield batch;',
    mutated: 'if (batch.length < size) continue;\n    yield batch.slice(0, 1);',
  },
];
