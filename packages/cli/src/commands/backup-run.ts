import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, quoteForShell } from '@agentjet/core';
import { defaultPolicy, foldStore, lineOf, LmdbStore, type LedgerState } from '@agentjet/ledger';
import { createOutput } from '../output.js';
import type { VerifyFlags } from '../swarm-program.js';
import { findStore } from './verify-store.js';

/**
 * `ajet swarm backup` copies a run, while its server writes to it, to a folder from which another server can continue.
 * It copies the checkpoints and all other files first, and then the ledger, because the ledger may be ahead of the
 * newest checkpoint but never older.
 */
export async function backupRun(run: string, target: string, flags: VerifyFlags): Promise<number> {
  if (existsSync(target) && (await readdir(target)).length > 0)
    throw new ConfigError(
      'wrong_value',
      `${target} is not empty. Name a new folder, because a backup never overwrites files.`,
    );
  const store = findStore(run);
  for (let tries = 0; ; tries++) {
    await mkdir(target, { recursive: true });
    await copyFolder(run, target, store.dir);
    const step = await copyLedger(store.dir, path.join(target, store.name));
    if (step !== undefined) return print(target, step, flags);
    if (tries === 2)
      throw new ConfigError(
        'busy',
        'The ledger changed three times while its checkpoints were copied. Pause the run first: ajet swarm pause.',
      );
    await rm(target, { recursive: true, force: true });
  }
}

function print(target: string, step: number, flags: VerifyFlags): number {
  const output = createOutput(flags);
  output.writeLine(
    `Backed up to ${target}, at step ${step}. To continue from it: ajet swarm serve --conf <file> --run ${quoteForShell(target)}`,
  );
  output.writeJson({ folder: target, step });
  return 0;
}

async function copyFolder(run: string, target: string, storeDir: string): Promise<void> {
  const skipped = [storeDir, target].map((dir) => path.resolve(dir));
  for (const name of await readdir(run)) {
    const from = path.resolve(run, name);
    if (skipped.includes(from) || name === 'writer.json') continue;
    const isKept = (file: string): boolean => path.basename(file) !== 'writer.json';
    await cp(from, path.join(target, name), { recursive: true, errorOnExist: true, force: false, filter: isKept });
  }
}

/**
 * Copies the ledger and returns the step of the copy. Returns undefined if the copy does not contain all steps after
 * its newest checkpoint.
 */
async function copyLedger(from: string, to: string): Promise<number | undefined> {
  const store = await LmdbStore.open(from, { isReadOnly: true });
  try {
    await store.backup(to);
  } finally {
    await store.close();
  }
  const copy = await LmdbStore.open(to, { isReadOnly: true });
  try {
    const { state } = foldStore(copy);
    const policies = [...state.lines.keys()];
    const steps: number[] = [];
    for (const policy of policies.length === 0 ? [defaultPolicy] : policies) {
      const step = await lastStep(state, policy, path.dirname(to));
      if (step === undefined) return undefined;
      steps.push(step);
    }
    return Math.max(...steps);
  } finally {
    await copy.close();
  }
}

/**
 * Returns the last step of a policy. Returns undefined if the manifest of a step after the newest checkpoint is
 * missing.
 */
async function lastStep(state: LedgerState, policy: string, run: string): Promise<number | undefined> {
  const { step: last, manifests } = lineOf(state, policy);
  const folder = policy === defaultPolicy ? run : path.join(run, 'policies', policy);
  const checkpoints = path.join(folder, 'checkpoints');
  const names = existsSync(checkpoints) ? await readdir(checkpoints) : [];
  const newest = Math.max(0, ...names.flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? []).map(Number));
  for (let step = newest + 1; step <= last; step++) if (!manifests.has(step)) return undefined;
  return last;
}
