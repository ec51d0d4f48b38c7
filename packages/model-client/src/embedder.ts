import { isJsonObject, parseJsonObject, type JsonObject } from '@agentjet/core';
import { AnswerCache, keyOf } from './answer-cache.js';
import { systemModelHost, type ModelHost } from './host.js';
import { openSender, type ServerOptions } from './request-sender.js';

/** Converts texts to vectors. Texts with the same meaning have vectors that are close to one another. */
export interface Embedder {
  /** Returns a vector of length 1 for each text. Rejects as `ModelClient.ask` does. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

export type EmbedderOptions = ServerOptions & {
  /** The file that keeps vectors by their text. Null keeps none. */
  readonly cacheFile: string | null;
};

/** The number of texts per request. Some servers accept no more. */
const mostTexts = 10;

type Kept = { readonly vector: string };

/**
 * Opens an embedder whose keys are read from the environment. Throws ConfigError if there is no key or the
 * address is wrong.
 */
export async function openEmbedder(options: EmbedderOptions, host: ModelHost = systemModelHost): Promise<Embedder> {
  const { model, cacheFile } = options;
  const sender = openSender(options, 'embeddings', host);
  const cache = cacheFile === null ? new Map<string, Kept>() : await AnswerCache.open(cacheFile, readKept);
  const keyOfText = (text: string): string => keyOf({ model, text });
  return {
    async embed(texts, signal) {
      const missing = [...new Set(texts)].filter((text) => cache.get(keyOfText(text)) === undefined);
      const batches = Array.from({ length: Math.ceil(missing.length / mostTexts) }, (_, at) =>
        missing.slice(at * mostTexts, (at + 1) * mostTexts),
      );
      await Promise.all(
        batches.map(async (batch) => {
          const { vectors } = await sender.send(toRequest(batch, model), signal);
          for (const [at, text] of batch.entries())
            await cache.set(keyOfText(text), { vector: toBase64(vectors[at] ?? new Float32Array()) });
        }),
      );
      return texts.map((text) => fromBase64(cache.get(keyOfText(text))?.vector ?? ''));
    },
  };
}

type Vectors = { readonly vectors: readonly Float32Array[] };

function toRequest(texts: readonly string[], model: string) {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return {
    body: { model, input: texts, encoding_format: 'float' },
    read: (text: string) => readVectors(text, texts.length),
    tokens: Math.ceil(characters / 4),
    countTokens: () => 0,
  };
}

function readVectors(text: string, count: number): Vectors | { readonly mistake: string } {
  const data = parseJsonObject(text)?.['data'];
  const rows = Array.isArray(data) ? data.filter(isJsonObject) : [];
  const ordered = Array.from({ length: count }, (_, at) => rows.find(({ index }, row) => (index ?? row) === at));
  const vectors = ordered.map((row) => toUnit(row?.['embedding']));
  const known = vectors.filter((vector) => vector !== null);
  const size = known[0]?.length;
  if (known.length === count && known.every(({ length }) => length === size)) return { vectors: known };
  return { mistake: `an answer without a vector for each of ${count} texts` };
}

/** Scales a vector to length 1. Returns null for a value that is not a vector or has no direction. */
function toUnit(value: unknown): Float32Array | null {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'number')) return null;
  const length = Math.hypot(...(value as readonly number[]));
  return length > 0 && Number.isFinite(length)
    ? Float32Array.from(value as readonly number[], (each) => each / length)
    : null;
}

function readKept({ vector }: JsonObject): Kept | null {
  return typeof vector === 'string' && fromBase64(vector).length > 0 ? { vector } : null;
}

const toBase64 = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const vector = new Float32Array(Math.floor(bytes.length / 4));
  new Uint8Array(vector.buffer).set(bytes.subarray(0, vector.byteLength));
  return vector;
}
