import { WireError } from '@agentjet/chat-completions';

/** A body that is too large is read on up to this many times the limit: a client cut off while it writes never sees why. */
const patience = 8;

/** The bytes of a body; undefined where it has more than `maxBytes`. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) chunks.length = 0;
    else chunks.push(chunk);
    if (size > maxBytes * patience) break;
  }
  return size > maxBytes ? undefined : Buffer.concat(chunks);
}

/** Throws WireError 415 for a compressed body, 400 for one that is no UTF-8: what is read wrongly would be trained. */
export function decodeBody(bytes: Uint8Array, { headers }: Request): string {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity')
    throw new WireError(
      415,
      'unsupported_encoding',
      `The request body has content-encoding '${encoding}'. Send it uncompressed.`,
    );
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new WireError(400, 'invalid_encoding', 'The request body is not valid UTF-8. Send JSON in UTF-8.');
  }
}
