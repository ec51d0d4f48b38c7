import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { describeSelf, isProcessAlive } from '@agentjet/core/processes';
import { readCacheHome } from '@agentjet/model-hub';

/** What local tools know about an open studio. */
export type KnownStudio = {
  readonly origin: string;
  readonly token: string;
  readonly port: number;
  readonly folder: string;
};

const usualDir = (): string => path.join(readCacheHome(), 'agentjet', 'studio');

/** Writes address and token to a file that only this user can read. Returns undefined if that is not possible. */
export function writeTokenFile(studio: KnownStudio, dir = usualDir()): string | undefined {
  const file = path.join(dir, `${studio.port}.json`);
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    chmodSync(dir, 0o700);
    rmSync(file, { force: true }); // a file of a killed studio would keep its mode
    const folder = path.resolve(studio.folder);
    const { pid, started } = describeSelf();
    writeFileSync(file, `${JSON.stringify({ ...studio, folder, pid, started })}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  } catch {
    return undefined; // without a home folder, tools need the printed address
  }
}

/** Returns the studios that this user has open on this machine, the newest last. */
export function findStudios(dir = usualDir()): readonly KnownStudio[] {
  return listFiles(dir).flatMap((name) => {
    const { origin, token, port, folder, pid, started } =
      parseJsonObject(readFileSync(path.join(dir, name), 'utf8')) ?? {};
    // The file of a killed studio is left, and another process may have its pid.
    const isOpen = typeof pid === 'number' && isProcessAlive({ pid, ...(typeof started === 'string' && { started }) });
    if (!isOpen) return [];
    return typeof origin === 'string' && typeof token === 'string' && typeof port === 'number'
      ? [{ origin, token, port, folder: String(folder) }]
      : [];
  });
}

function listFiles(dir: string): readonly string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith('.json'));
  } catch {
    return []; // no studio was ever opened
  }
}
