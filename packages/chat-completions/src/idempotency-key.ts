import { ApiError } from './api-error.js';

/**
 * Records the hash of the request that a key is used for. Throws ApiError 400 if the key was used with another
 * request.
 */
export function claimKey(claimed: Map<string, string>, key: string, hash: string): void {
  if ((claimed.get(key) ?? hash) !== hash) {
    throw new ApiError(
      400,
      'idempotency_key_reused',
      `The idempotency-key '${key}' was used with another request. Use a new key for each call, and the same one for its retries.`,
    );
  }
  claimed.set(key, hash);
}
