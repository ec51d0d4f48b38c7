import { tellOlderFormat } from '@agentjet/core';
import { StoreError } from '../store/store-error.js';

export const format = 'agentjet-ledger-8';

/** Throws StoreError `other_format` for a file of another version. A new file has no format yet. */
export function requireFormat(found: string | undefined, file: string): void {
  if (found === undefined || found === format) return;
  throw new StoreError(
    'other_format',
    isOlder(found)
      ? tellOlderFormat(`${file}, a store of format ${JSON.stringify(found)},`)
      : `${file} is a store of format ${JSON.stringify(found)}; this version reads ${JSON.stringify(format)}. Use the version that wrote it, or begin a new run.`,
  );
}

const isOlder = (found: string): boolean => /^agentjet-ledger-[1-7]$/.test(found);
