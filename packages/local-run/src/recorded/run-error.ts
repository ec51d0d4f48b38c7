import { AgentJetError, BackboneError, toErrorMessage } from '@agentjet/core';
import { LedgerError, StoreError } from '@agentjet/ledger';

/** Converts a failure of the ledger to an error that says what it means for the run, and names the repair. */
export function toRunError(error: unknown): Error {
  if (error instanceof AgentJetError && !(error instanceof LedgerError) && !(error instanceof StoreError)) return error;
  const code = error instanceof AgentJetError ? error.code : 'failed';
  const isDisk = error instanceof StoreError;
  return new BackboneError(
    isDisk ? 'run_folder' : code,
    `Episodes cannot be recorded: ${toErrorMessage(error)} ${repairs[code] ?? repairs.other}`.trim(),
    { cause: error },
  );
}

const repairs: Readonly<Record<string, string>> & { readonly other: string } = {
  full: 'Then continue with --resume.',
  not_owner: 'Two processes must not write one run. Wait until the other one has ended, then continue with --resume.',
  other_format: '',
  redo_impossible: 'Restore the files of its folder "recorded", or go back with --from to a checkpoint.',
  other: 'Continue with --resume, or without recording: rollout.record=false.',
};
