import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '@agentjet/chat-completions';
import { toErrorMessage } from '@agentjet/core';

export type BodyOptions = {
  /** A longer body is not kept. */
  readonly maxBytes: number;
  /** A longer body is not read to its end. Default: `maxBytes`. */
  readonly patienceBytes?: number;
  /** A body that takes longer is abandoned. Default: no limit. */
  readonly maxMs?: number;
};

/**
 * Reads the bytes of a body. Returns `too_large` if it has more than `maxBytes`, `slow` if it does not arrive in time,
 * and `broken` if the sender leaves. It reads Node's own stream, because a web stream would cost more than the rest of
 * a small request. Once the promise has resolved, nothing more is read.
 */
export async function readBody(
  incoming: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | 'too_large' | 'slow' | 'broken'> {
  await Promise.resolve(); // By then, Node has read a small body that arrived together with the headers.
  return takeWhole(incoming, options) ?? collect(incoming, options);
}

/** Returns the body if all of it has arrived. This takes less time than a timer and four listeners. */
function takeWhole(incoming: IncomingMessage, { maxBytes }: BodyOptions): Buffer | undefined {
  const announced = Number(incoming.headers['content-length'] ?? 0);
  if (!(announced > 0) || incoming.readableLength !== announced || announced > maxBytes) return undefined;
  const bytes = incoming.read() as Buffer | null;
  incoming.resume(); // so that the stream ends
  return bytes ?? undefined;
}

function collect(
  incoming: IncomingMessage,
  { maxBytes, patienceBytes = maxBytes, maxMs }: BodyOptions,
): Promise<Buffer | 'too_large' | 'slow' | 'broken'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (result: Buffer | 'too_large' | 'slow' | 'broken'): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      if (timer !== undefined) clearTimeout(timer);
      if (result === 'too_large' || result === 'slow') incoming.pause();
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > patienceBytes) finish('too_large');
      else if (size > maxBytes) chunks.length = 0;
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      const [first] = chunks;
      if (size > maxBytes) finish('too_large');
      else finish(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    };
    const onBroken = (): void => finish('broken');
    const timer = maxMs === undefined ? undefined : setTimeout(() => finish('slow'), maxMs);
    incoming.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
    if (incoming.destroyed) onBroken();
  });
}

/**
 * A body that is too large is still read, up to this many times the limit. A client that is cut off while it writes
 * would never see the reason.
 */
const patience = 8;

/** Reads the bytes of a body. Throws ApiError 413 if it is too large, and 400 if the sender leaves. */
export async function readWholeBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const bytes = await readBody(incoming, { maxBytes, patienceBytes: patience * maxBytes });
  if (bytes === 'too_large') throw new ApiError(413, 'request_too_large', `The body is larger than ${maxBytes} bytes.`);
  if (typeof bytes === 'string')
    throw new ApiError(400, 'body_cut', 'The connection broke before the body was complete.');
  return bytes;
}

/** Throws ApiError 400 for text that is not JSON. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, 'invalid_json', `The request body is not valid JSON: ${toErrorMessage(error)}`);
  }
}

/**
 * Decodes a body. Throws ApiError 415 if the body is compressed, and 400 if it is not UTF-8. A body that is decoded
 * wrongly would become training data.
 */
export function decodeBody(bytes: Buffer, { headers }: IncomingMessage): string {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding !== 'identity')
    throw new ApiError(
      415,
      'unsupported_encoding',
      `The request body has content-encoding '${encoding}'. Send it uncompressed.`,
    );
  if (!isUtf8(bytes))
    throw new ApiError(400, 'invalid_encoding', 'The request body is not valid UTF-8. Send JSON in UTF-8.');
  const text = bytes.toString();
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
