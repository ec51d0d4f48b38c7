/**
 * The adapters of a model as a decode graph reads them: output + (input A^T) B. Modules whose outputs are one value have
 * one A [ranks, in] and one B [ranks, out]. B has a block for each module, and zeros elsewhere. It is transposed and holds
 * the scale, because ONNX Runtime then has a fast product for one row.
 */

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { toTensor, type Tensor } from '@agentjet/onnx';
import type { AdapterForm } from '../training/adapter/adapter-form.js';
import type { ExternalTensor } from '../training/graph/encode-model.js';
import { parameterOf, type Parameter } from '../training/model/parameter-layout.js';
import type { FloatArray } from '../training/optimizer/optimizer-memory.js';

const fileName = 'adapters';
const bytesPerFloat = Float32Array.BYTES_PER_ELEMENT;

type Module = { readonly name: string; readonly numOut: number };
export type JoinedMatrix = {
  readonly name: string;
  readonly shape: readonly [number, number];
  /** Where all joined matrices are in one array, in floats. */
  readonly offset: number;
  /** The place in the file, if there is one. */
  readonly content: ExternalTensor | undefined;
};
type Joined = { readonly a: JoinedMatrix; readonly b: JoinedMatrix };
/** The adapter of a module, and the first column of its block in the joined B. */
type Part = { readonly a: Parameter; readonly b: Parameter; readonly column: number };

export class JoinedAdapters {
  readonly #form: AdapterForm;
  readonly #all: (Joined & { readonly parts: readonly Part[] })[] = [];
  readonly #file: number | undefined;
  #length = 0;

  /**
   * With a folder, the matrices are in a file there, which ONNX Runtime maps into memory. This needs `seesWrites`. A pass
   * then saves the conversion of 300 inputs (135M).
   */
  constructor(form: AdapterForm, folder?: string) {
    this.#form = form;
    const hasFile = folder !== undefined && form.modules.length > 0;
    this.#file = hasFile ? openSync(path.join(folder, fileName), 'w+') : undefined;
  }

  /** Adds the matrices of modules whose outputs are one value. Returns undefined if none of the modules is adapted. */
  join(modules: readonly Module[]): Joined | undefined {
    const parts = this.#partsOf(modules);
    const numIn = parts[0]?.a.shape[1];
    if (numIn === undefined) return undefined;
    const key = modules.map(({ name }) => name).join('+');
    const numRanks = parts.length * this.#form.rank;
    const numOut = modules.reduce((total, module) => total + module.numOut, 0);
    const joined = {
      a: this.#place(`A of ${key}`, [numRanks, numIn]),
      b: this.#place(`B of ${key}`, [numRanks, numOut]),
      parts,
    };
    this.#all.push(joined);
    return joined;
  }

  /** Copies the parameters of the adapters. Returns the joined matrices, unless they are in a file. */
  update(parameters: FloatArray): { readonly [input: string]: Tensor } {
    const values = this.#joinedValues(parameters);
    if (this.#file !== undefined) {
      writeSync(this.#file, values, 0, values.byteLength, 0);
      return {};
    }
    const matrices = this.#all.flatMap(({ a, b }) => [a, b]);
    return Object.fromEntries(matrices.map((matrix) => [matrix.name, toTensor(viewOf(values, matrix), matrix.shape)]));
  }

  /** Makes the file long enough to be mapped. Call it when all modules are joined. */
  reserve(): void {
    if (this.#file !== undefined) ftruncateSync(this.#file, bytesPerFloat * this.#length);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #joinedValues(parameters: FloatArray): Float32Array {
    const { rank, scale } = this.#form;
    const values = new Float32Array(this.#length);
    for (const { a, b, parts } of this.#all) {
      for (const [index, part] of parts.entries()) {
        viewOf(values, a).set(valuesOf(part.a, parameters), index * part.a.size);
        const start = index * rank * b.shape[1] + part.column;
        const into = { values: viewOf(values, b), stride: b.shape[1] };
        writeTransposed(into, valuesOf(part.b, parameters), { start, width: rank, scale });
      }
    }
    return values;
  }

  #place(name: string, shape: readonly [number, number]): JoinedMatrix {
    const [offset, size] = [this.#length, shape[0] * shape[1]];
    // Aligned as allocations of ONNX Runtime are.
    this.#length = Math.ceil((offset + size) / 16) * 16;
    const content =
      this.#file === undefined
        ? undefined
        : { location: fileName, offset: bytesPerFloat * offset, length: bytesPerFloat * size };
    return { name, shape, offset, content };
  }

  #partsOf(modules: readonly Module[]): readonly Part[] {
    const { modules: adapted, layout } = this.#form;
    const half = (name: string, letter: string): Parameter => parameterOf(layout, `${name}.lora_${letter}.weight`);
    let end = 0;
    return modules.flatMap(({ name, numOut }) => {
      const column = end;
      end += numOut;
      return adapted.includes(name) ? [{ a: half(name, 'A'), b: half(name, 'B'), column }] : [];
    });
  }
}

function viewOf(values: Float32Array, { offset, shape }: JoinedMatrix): Float32Array {
  return values.subarray(offset, offset + shape[0] * shape[1]);
}

function valuesOf({ offset, size }: Parameter, parameters: FloatArray): FloatArray {
  return parameters.subarray(offset, offset + size);
}

/** Writes scale * source^T into the matrix, from element `start` on. The rows of the source have that width. */
function writeTransposed(
  { values, stride }: { readonly values: Float32Array; readonly stride: number },
  source: FloatArray,
  { start, width, scale }: { readonly start: number; readonly width: number; readonly scale: number },
): void {
  for (let index = 0; index < source.length; index += 1)
    values[start + (index % width) * stride + Math.floor(index / width)] = scale * (source[index] ?? 0);
}
