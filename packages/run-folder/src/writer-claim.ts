import { readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { BackboneError } from '@agentjet/core';

type Writer = { readonly pid: number; readonly host: string };

/** Files that this process has claimed; they go when it ends. */
const claimed = new Set<string>();

/**
 * Writes into `file` that this process writes the folder; the note goes when the process ends. Throws BackboneError
 * `run_in_use` while another process of this machine does: two writers would spoil each other's lines. What a killed
 * process left behind counts for nothing.
 */
export async function claimWriting(file: string): Promise<void> {
  const writer = await readWriter(file);
  if (writer !== undefined && isOtherAndAlive(writer)) {
    throw new BackboneError(
      'run_in_use',
      `Process ${writer.pid} is writing this run: ${file}. Stop it first, or wait for its end. If it is no run of ours, remove that file.`,
    );
  }
  await writeFile(file, JSON.stringify({ pid: process.pid, host: hostname() } satisfies Writer));
  if (claimed.size === 0) process.once('exit', () => claimed.forEach((each) => rmSync(each, { force: true })));
  claimed.add(file);
}

async function readWriter(file: string): Promise<Writer | undefined> {
  try {
    const { pid, host } = JSON.parse(await readFile(file, 'utf8')) as Partial<Writer>;
    return typeof pid === 'number' && typeof host === 'string' ? { pid, host } : undefined;
  } catch {
    return undefined; // none, or torn by a kill: nobody's claim
  }
}

function isOtherAndAlive({ pid, host }: Writer): boolean {
  if (host !== hostname() || pid === process.pid || isZombie(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}

/** Killed, but nobody has asked for its exit code: signals still find it. Linux only; elsewhere false. */
function isZombie(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8'); // "4242 (node) Z ...", and the name may hold anything
    return status.slice(status.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}
