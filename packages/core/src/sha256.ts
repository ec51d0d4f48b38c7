import { createHash } from 'node:crypto';

/** Returns the SHA-256 of text in UTF-8 or of bytes, in hexadecimal digits unless another encoding is asked for. */
export const sha256 = (content: string | Uint8Array, encoding: 'hex' | 'base64' | 'base64url' = 'hex'): string =>
  createHash('sha256').update(content).digest(encoding);
