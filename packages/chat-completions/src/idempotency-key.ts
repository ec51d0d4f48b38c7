import { ApiError } from './api-error.js';

/** Notes which request a key is used for, by the request's hash. Throws WireError 400 for a key that was used with another one. */
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
