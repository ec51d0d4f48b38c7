import { toErrorMessage } from '@agentjet/core';
import { StoreError } from '@agentjet/ledger';
import { WireError, type ErrorCode } from '@agentjet/swarm-wire';

export function toStoreError(error: unknown): StoreError {
  return error instanceof StoreError ? error : new StoreError('failed', toErrorMessage(error), { cause: error });
}

/** Converts a failure of the store to an answer. */
export function toWireError(error: StoreError): WireError {
  return new WireError(codes[error.code] ?? 'store_failed', toErrorMessage(error), { retryAfterMs: 500 });
}

/** The code `closed` is not a failure, because this server or the next one answers soon. */
const codes: Readonly<Partial<Record<string, ErrorCode>>> = {
  not_owner: 'not_owner',
  full: 'store_full',
  closed: 'not_ready',
};
