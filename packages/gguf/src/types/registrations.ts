import { dequantizeQ4K, dequantizeQ5K, dequantizeQ6K } from './blocks-of-256.js';
import { dequantizeQ40, dequantizeQ41, dequantizeQ50, dequantizeQ51, dequantizeQ80 } from './blocks-of-32.js';
import type { TensorType } from './tensor-type.js';

/** The supported tensor types. */
export const tensorTypes: readonly TensorType[] = [
  { id: 0, name: 'F32', blockValues: 1, blockBytes: 4, keptAs: 'F32' },
  { id: 1, name: 'F16', blockValues: 1, blockBytes: 2, keptAs: 'F16' },
  { id: 30, name: 'BF16', blockValues: 1, blockBytes: 2, keptAs: 'BF16' },
  { id: 2, name: 'Q4_0', blockValues: 32, blockBytes: 18, keptAs: 'F32', dequantize: dequantizeQ40 },
  { id: 3, name: 'Q4_1', blockValues: 32, blockBytes: 20, keptAs: 'F32', dequantize: dequantizeQ41 },
  { id: 6, name: 'Q5_0', blockValues: 32, blockBytes: 22, keptAs: 'F32', dequantize: dequantizeQ50 },
  { id: 7, name: 'Q5_1', blockValues: 32, blockBytes: 24, keptAs: 'F32', dequantize: dequantizeQ51 },
  { id: 8, name: 'Q8_0', blockValues: 32, blockBytes: 34, keptAs: 'F32', dequantize: dequantizeQ80 },
  { id: 12, name: 'Q4_K', blockValues: 256, blockBytes: 144, keptAs: 'F32', dequantize: dequantizeQ4K },
  { id: 13, name: 'Q5_K', blockValues: 256, blockBytes: 176, keptAs: 'F32', dequantize: dequantizeQ5K },
  { id: 14, name: 'Q6_K', blockValues: 256, blockBytes: 210, keptAs: 'F32', dequantize: dequantizeQ6K },
];

/** Unsupported types of llama.cpp, so that a refusal can name them. */
const otherTypes: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
};

export function findTensorType(id: number): TensorType | undefined {
  return tensorTypes.find((type) => type.id === id);
}

/** Returns the name of a type for messages. */
export function nameTensorType(id: number): string {
  return findTensorType(id)?.name ?? otherTypes[id] ?? `number ${id}`;
}
