import { toTensor, type Tensor } from '@agentjet/onnx';
import type { Parameter, ParameterLayout } from './model/parameter-layout.js';
import type { FloatArray } from './optimizer/optimizer-memory.js';

/** Returns a tensor of each parameter, by name. The tensors are views of the buffer. */
export function tensorsOf({ parameters }: ParameterLayout, buffer: FloatArray): { readonly [name: string]: Tensor } {
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, viewOf(buffer, parameter)]));
}

export function viewOf(buffer: FloatArray, { offset, size, shape }: Parameter): Tensor {
  return toTensor(buffer.subarray(offset, offset + size), shape);
}
