import { toErrorMessage } from '@agentjet/core';
import { accountOf, type Account } from '../account.js';
import { LedgerError } from '../ledger-error.js';
import { foldStore } from './fold-store.js';
import { StoreError } from './store-error.js';
import type { Store } from './store.js';

/** The result of checking a store offline. */
export type StoreVerdict =
  | {
      readonly isSound: true;
      readonly account: Account;
      readonly steps: number;
      readonly incarnation: number;
      /** Verdicts by policy, if there are several. */
      readonly policies: Readonly<Record<string, PolicyVerdict>>;
    }
  /** Names the first record that is damaged or contradicts earlier records. */
  | { readonly isSound: false; readonly problem: string };

export type PolicyVerdict = { readonly account: Account; readonly steps: number; readonly incarnation: number };

/** Folds a store and counts every acknowledged episode by its state. Changes nothing. */
export function verifyStore(store: Pick<Store, 'files' | 'read' | 'find'>): StoreVerdict {
  try {
    const { state } = foldStore(store);
    const policies = [...state.lines].map(([policy, { step, incarnation }]): [string, PolicyVerdict] => {
      return [policy, { account: accountOf(state, policy), steps: step, incarnation }];
    });
    return {
      isSound: true,
      account: accountOf(state),
      steps: state.step,
      incarnation: state.incarnation,
      policies: Object.fromEntries(policies),
    };
  } catch (error) {
    if (!(error instanceof LedgerError || error instanceof StoreError)) throw error;
    return { isSound: false, problem: toErrorMessage(error) };
  }
}
