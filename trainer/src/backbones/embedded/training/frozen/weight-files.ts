import { open, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { createScratchFolder } from '@agentjet/run-folder';
import { parameterOf, type Parameter, type ParameterLayout } from '../model/parameter-layout.js';
import { embeddingName } from '../model/sequence-inputs.js';
import {
  allocateWeights,
  isMatrix,
  readFrozenWeights,
  readMatrixRows,
  type FrozenWeights,
  type ReadPieces,
  type WeightFormat,
} from './frozen-weights.js';
import { blockSize } from './int8-blocks.js';

/** The locations of external data: one flat buffer each, in the order of the layout. */
export const weightLocations = { floats: 'weights', halves: 'halves', codes: 'codes', scales: 'scales' };

/** Returns the buffers that a session over these weights needs. They may be freed after it is open. */
export function externalWeights(
  weights: FrozenWeights,
): readonly { readonly path: string; readonly data: Uint8Array }[] {
  const entry = (location: string, { buffer, byteOffset, byteLength }: ArrayBufferView) => ({
    path: location,
    data: new Uint8Array(buffer, byteOffset, byteLength),
  });
  if (weights.format === 'float32')
    return [
      entry(
        weightLocations.floats,
        weights.values instanceof Float32Array ? weights.values : Float32Array.from(weights.values),
      ),
    ];
  const vectors = entry(weightLocations.floats, weights.vectors);
  if (weights.format === 'float16') return [vectors, entry(weightLocations.halves, weights.halves)];
  return [vectors, entry(weightLocations.codes, weights.codes), entry(weightLocations.scales, weights.scales)];
}

/** The maximum number of bytes of one read or write, which must be less than 2 GiB. */
const maxBytesAtOnce = 2 ** 30;

type Files = ReadonlyMap<string, FileHandle>;
type Embedding = { readonly weights: FrozenWeights; readonly parameter: Parameter };

/**
 * Stored weights in files of a temporary folder. A session that opens them maps them into memory and drops each matrix
 * when it is packed, so they take less memory than arrays, which it would copy first. Only the embedding is also in
 * memory, because its rows are read for each token.
 */
export class WeightFiles {
  readonly format: Exclude<WeightFormat, 'float32'>;
  readonly folder: string;
  readonly #layout: ParameterLayout;
  readonly #files: Files;
  #embedding: Embedding;

  private constructor(
    { format, layout }: { readonly format: WeightFiles['format']; readonly layout: ParameterLayout },
    { folder, files, embedding }: { readonly folder: string; readonly files: Files; readonly embedding: Embedding },
  ) {
    this.format = format;
    this.folder = folder;
    this.#layout = layout;
    this.#files = files;
    this.#embedding = embedding;
  }

  /** Stores all parameters in the format, one at a time. */
  static async store(layout: ParameterLayout, format: WeightFiles['format'], read: ReadPieces): Promise<WeightFiles> {
    return createFiles(layout, format, async (folder, files) => {
      let embedding: Embedding | undefined;
      for (const parameter of layout.parameters) {
        const alone = layoutOf(parameter);
        const weights = await readFrozenWeights(alone, format, read);
        for (const { path: location, data } of externalWeights(weights))
          if (data.length > 0) await writeAt(files.get(location), data, placeIn(location, layout, parameter));
        if (parameter.name === embeddingName) embedding = { weights, parameter: parameterOf(alone, embeddingName) };
      }
      if (embedding === undefined) throw new Error('The layout has no embedding.');
      return new WeightFiles({ format, layout }, { folder, files, embedding });
    });
  }

  /** Copies weights that are in memory. */
  static async copyOf(
    layout: ParameterLayout,
    weights: Extract<FrozenWeights, { readonly format: WeightFiles['format'] }>,
  ): Promise<WeightFiles> {
    return createFiles(layout, weights.format, async (folder, files) => {
      for (const { path: location, data } of externalWeights(weights)) await writeAt(files.get(location), data, 0);
      const embedding = { weights, parameter: parameterOf(layout, embeddingName) };
      return new WeightFiles({ format: weights.format, layout }, { folder, files, embedding });
    });
  }

  /** Returns embedding rows, shape [ids.length, hiddenSize]. */
  embeddingRows(ids: Int32Array): Float32Array {
    return readMatrixRows(this.#embedding.weights, this.#embedding.parameter, ids);
  }

  /** Reads all weights into memory. The embedding is then in memory only once. */
  async read(): Promise<FrozenWeights> {
    const { weights } = allocateWeights(this.#layout, this.format);
    for (const { path: location, data } of externalWeights(weights)) await readAll(this.#files.get(location), data);
    this.#embedding = { weights, parameter: parameterOf(this.#layout, embeddingName) };
    return weights;
  }

  /**
   * Removes the names of the files. Sessions and `read` can still use the files. On Windows, `close` removes files that are
   * in use.
   */
  async unlink(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true }).catch(() => undefined);
  }

  async close(): Promise<void> {
    for (const file of this.#files.values()) await file.close();
    await this.unlink();
  }
}

/** Creates empty files of the weights' sizes. If `fill` rejects, no file is left. */
async function createFiles(
  layout: ParameterLayout,
  format: WeightFormat,
  fill: (folder: string, files: Files) => Promise<WeightFiles>,
): Promise<WeightFiles> {
  const folder = await createScratchFolder('ajet-weights-');
  const files = new Map<string, FileHandle>();
  try {
    for (const [location, bytes] of Object.entries(fileSizes(layout, format))) {
      const file = await open(path.join(folder, location), 'wx+');
      files.set(location, file);
      await file.truncate(bytes);
    }
    return await fill(folder, files);
  } catch (error) {
    for (const file of files.values()) await file.close();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function fileSizes({ length, decayedLength }: ParameterLayout, format: WeightFormat): Readonly<Record<string, number>> {
  const { floats, halves, codes, scales } = weightLocations;
  const vectors = { [floats]: 4 * (length - decayedLength) };
  if (format === 'float16') return { ...vectors, [halves]: 2 * decayedLength };
  return { ...vectors, [codes]: decayedLength, [scales]: (4 * decayedLength) / blockSize };
}

/** Returns the layout of one parameter alone. */
function layoutOf(parameter: Parameter): ParameterLayout {
  const { size } = parameter;
  return { parameters: [{ ...parameter, offset: 0 }], length: size, decayedLength: isMatrix(parameter) ? size : 0 };
}

/** Returns the position of the parameter in a file, in bytes. */
function placeIn(location: string, { decayedLength }: ParameterLayout, { offset }: Parameter): number {
  if (location === weightLocations.floats) return 4 * (offset - decayedLength);
  if (location === weightLocations.scales) return (4 * offset) / blockSize;
  return location === weightLocations.halves ? 2 * offset : offset;
}

async function writeAt(file: FileHandle | undefined, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const piece = bytes.subarray(done, done + maxBytesAtOnce);
    done += (await file?.write(piece, 0, piece.length, position + done))?.bytesWritten ?? NaN;
  }
}

async function readAll(file: FileHandle | undefined, into: Uint8Array): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const piece = into.subarray(done, done + maxBytesAtOnce);
    const { bytesRead = 0 } = (await file?.read(piece, 0, piece.length, done)) ?? {};
    if (bytesRead === 0) throw new Error('A file of the weights ended early.');
    done += bytesRead;
  }
}
