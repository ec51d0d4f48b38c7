import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { findExcess, readBody } from '@agentjet/endpoint';
import { WireError } from '@agentjet/swarm-wire';

export type BodyLimits = { readonly maxBytes: number; readonly maxDepth: number; readonly maxMs: number };

export const defaultLimits: BodyLimits = { maxBytes: 8 * 2 ** 20, maxDepth: 64, maxMs: 30_000 };

/**
 * Reads a JSON body within limits. An empty body gives an empty object.
 * @throws WireError `unsupported_media_type`, `too_large`, `slow_body`, `invalid_json`, `invalid_request` (too deep,
 * cut short)
 */
export async function readJson(incoming: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  if (incoming.headers['content-encoding'] !== undefined) {
    throw new WireError('unsupported_media_type', 'A compressed body is not read here. Send plain JSON.');
  }
  const announced = Number(incoming.headers['content-length'] ?? 0);
  if (announced > limits.maxBytes) throw tooLarge(limits);
  const bytes = await readBody(incoming, limits);
  if (bytes === 'too_large') throw tooLarge(limits);
  if (bytes === 'slow') {
    throw new WireError('slow_body', `The body did not come within ${limits.maxMs / 1000} seconds.`);
  }
  if (bytes === 'broken') throw new WireError('invalid_request', 'The connection broke before the body was complete.');
  return parseJson(bytes, limits);
}

function parseJson(bytes: Buffer, { maxDepth }: BodyLimits): unknown {
  if (bytes.length === 0) return {};
  if (!isUtf8(bytes)) throw new WireError('invalid_json', 'The body is not UTF-8. Send JSON in UTF-8.');
  const text = bytes.toString();
  if (findExcess(text, { depth: maxDepth, containers: Infinity }) !== undefined)
    throw new WireError('invalid_request', `The body is nested more than ${maxDepth} deep.`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new WireError('invalid_json', `The body is not JSON. It begins with ${JSON.stringify(text.slice(0, 60))}.`);
  }
}

const tooLarge = ({ maxBytes }: BodyLimits): WireError =>
  new WireError('too_large', `The body is larger than ${maxBytes} bytes, which is all that is read.`);
