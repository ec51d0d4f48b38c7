import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, isJsonObject, tellOlderFormat } from '@agentjet/core';
import { parse } from 'yaml';

/**
 * Finds the ledger of a run. Each run has one: `ledger` (of a server) or `recorded` (of an ordinary run) in its folder,
 * or otherwise a folder in `swarm.store_dir` that has the name of the run.
 */

/** Returns whether a folder has a ledger. A damaged ledger counts, even if only its head file is left. */
export const hasLedger = (dir: string): boolean =>
  existsSync(dir) && readdirSync(dir).some((name) => /^(\d{6}\.mdb|head)$/.test(name));

/** Returns the folder of the ledger for a new served run. */
export function newLedgerOf(runDir: string, storeDir: string | null): string {
  return storeDir === null ? path.join(runDir, 'ledger') : `${recordedIn(runDir, storeDir)}-ledger`;
}

/**
 * Finds the ledger of a served run. Returns undefined if there is none. Throws BackboneError `older_format` if
 * `storeDir` itself is a ledger, as in older versions.
 */
export function findLedger(runDir: string, storeDir: string | null): string | undefined {
  const found = [path.join(runDir, 'ledger'), newLedgerOf(runDir, storeDir)].find(hasLedger);
  if (found === undefined && storeDir !== null && hasLedger(storeDir))
    throw new BackboneError('older_format', tellOlderFormat(`The ledger in the folder ${storeDir} (swarm.store_dir)`));
  return found;
}

/** Returns the folder of the ledger for an ordinary run. */
export const recordedOf = (runDir: string, storeDir: string | null): string =>
  storeDir === null ? path.join(runDir, 'recorded') : recordedIn(runDir, storeDir);

function recordedIn(runDir: string, storeDir: string): string {
  const dir = path.resolve(runDir);
  return path.join(storeDir, `${path.basename(path.dirname(dir))}-${path.basename(dir)}`);
}

export type LedgerOfRun = { readonly dir: string; readonly name: 'ledger' | 'recorded' };

/**
 * Finds the ledger of an ordinary or a served run, with the configuration in its folder. Returns undefined if there is
 * none.
 */
export function findLedgerOfRun(runDir: string): LedgerOfRun | undefined {
  const storeDir = readStoreDir(runDir);
  const recorded = [path.join(runDir, 'recorded'), recordedOf(runDir, storeDir)].find(hasLedger);
  const own = path.join(runDir, 'ledger');
  if (recorded !== undefined && !hasLedger(own)) return { dir: recorded, name: 'recorded' };
  const dir = findLedger(runDir, storeDir);
  return dir === undefined ? undefined : { dir, name: 'ledger' };
}

function readStoreDir(runDir: string): string | null {
  const file = path.join(runDir, 'config.yaml');
  const config: unknown = existsSync(file) ? parse(readFileSync(file, 'utf8')) : undefined;
  const ajet = isJsonObject(config) ? config['ajet'] : undefined;
  const swarm = isJsonObject(ajet) ? ajet['swarm'] : undefined;
  const found = isJsonObject(swarm) ? swarm['store_dir'] : undefined;
  return typeof found === 'string' ? found : null;
}
