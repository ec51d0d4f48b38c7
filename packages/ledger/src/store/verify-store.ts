import { toErrorMessage } from '@agentjet/core';
import { accountOf, type Account } from '../account.js';
import { LedgerError } from '../ledger-error.js';
import { foldStore } from './fold-store.js';
import { StoreError } from './store-error.js';
import type { Store } from './store.js';

/** What an offline look at a store finds. */
export type StoreVerdict =
  | { readonly isSound: true; readonly account: Account; readonly steps: number; readonly incarnation: number }
  /** The first record that is damaged or contradicts the ones before it. */
  | { readonly isSound: false; readonly problem: string };

/** Folds a store and says where every acknowledged episode is. Changes nothing. */
export function verifyStore(store: Pick<Store, 'files' | 'read'>): StoreVerdict {
  try {
    const { state } = foldStore(store);
    return { isSound: true, account: accountOf(state), steps: state.step, incarnation: state.incarnation };
  } catch (error) {
    if (!(error instanceof LedgerError || error instanceof StoreError)) throw error;
    return { isSound: false, problem: toErrorMessage(error) };
  }
}
