import { toErrorMessage } from '@agentjet/core';
import { StoreError } from '@agentjet/ledger';
import { WireError } from '@agentjet/swarm-wire';

export function toStoreError(error: unknown): StoreError {
  return error instanceof StoreError ? error : new StoreError('failed', toErrorMessage(error), { cause: error });
}

/** How a failure of the store is answered. */
export function toWireError(error: StoreError): WireError {
  const code = error.code === 'not_owner' ? 'not_owner' : error.code === 'full' ? 'store_full' : 'store_failed';
  return new WireError(code, toErrorMessage(error), { retryAfterMs: 500 });
}
