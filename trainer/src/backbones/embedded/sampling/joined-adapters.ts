/**
 * The adapters of a model as a decode graph reads them: output + (input A^T) B. Modules whose outputs are one value have
 * one A [ranks, in] and one B [ranks, out]. B has a block for each module, and zeros elsewhere. It is transposed and holds
 * the scale, because ONNX Runtime then has a fast product for one row.
 */

import { toTensor, type Tensor } from '@agentjet/onnx';
import type { AdapterForm } from '../training/adapter/adapter-form.js';
import { parameterOf, type Parameter } from '../training/model/parameter-layout.js';
import type { FloatArray } from '../training/optimizer/optimizer-memory.js';

type Module = { readonly name: string; readonly numOut: number };
type Matrix = { readonly name: string; readonly shape: readonly [number, number]; readonly values: Float32Array };
type Joined = { readonly a: Matrix; readonly b: Matrix };
/** The adapter of a module, and the first column of its block in the joined B. */
type Part = { readonly a: Parameter; readonly b: Parameter; readonly column: number };

export class JoinedAdapters {
  readonly #form: AdapterForm;
  readonly #all: (Joined & { readonly parts: readonly Part[] })[] = [];

  constructor(form: AdapterForm) {
    this.#form = form;
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
      a: newMatrix(`A of ${key}`, numRanks, numIn),
      b: newMatrix(`B of ${key}`, numRanks, numOut),
      parts,
    };
    this.#all.push(joined);
    return joined;
  }

  /** Copies the parameters of the adapters, and returns all joined matrices. */
  feeds(parameters: FloatArray): { readonly [input: string]: Tensor } {
    const { rank, scale } = this.#form;
    const feeds: { [input: string]: Tensor } = {};
    for (const { a, b, parts } of this.#all) {
      for (const [index, part] of parts.entries()) {
        a.values.set(valuesOf(part.a, parameters), index * part.a.size);
        const start = index * rank * b.shape[1] + part.column;
        writeTransposed(b, valuesOf(part.b, parameters), { start, width: rank, scale });
      }
      for (const { name, values, shape } of [a, b]) feeds[name] = toTensor(values, shape);
    }
    return feeds;
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

function newMatrix(name: string, numRows: number, numColumns: number): Matrix {
  return { name, shape: [numRows, numColumns], values: new Float32Array(numRows * numColumns) };
}

function valuesOf({ offset, size }: Parameter, parameters: FloatArray): FloatArray {
  return parameters.subarray(offset, offset + size);
}

/** Writes scale * source^T into the matrix, from element `start` on. The rows of the source have that width. */
function writeTransposed(
  { values, shape: [, stride] }: Matrix,
  source: FloatArray,
  { start, width, scale }: { readonly start: number; readonly width: number; readonly scale: number },
): void {
  for (let index = 0; index < source.length; index += 1)
    values[start + (index % width) * stride + Math.floor(index / width)] = scale * (source[index] ?? 0);
}
