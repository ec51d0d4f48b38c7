import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** Returns the SHA-256 of text in UTF-8 or of bytes, in hexadecimal digits unless another encoding is asked for. */
export const sha256 = (content: string | Uint8Array, encoding: 'hex' | 'base64' | 'base64url' = 'hex'): string =>
  createHash('sha256').update(content).digest(encoding);

/** Returns the SHA-256 of a file's content in hexadecimal digits. Only a part of the file is in memory at a time. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}
