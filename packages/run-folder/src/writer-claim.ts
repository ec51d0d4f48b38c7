import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { link, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BackboneError, isJsonObject, parseJsonObject, replaceFile, codeOfError } from '@agentjet/core';
import { describeSelf, isProcessAlive, ownPidSpace, readBootId, type ProcessIdentity } from '@agentjet/core/processes';
import { readRegularFile } from './read-regular-file.js';
import { runFiles } from './run-files.js';

/**
 * Only one process writes a run folder at a time, because two writers would damage each other's lines. `writer.json`
 * names this process and is written again every five seconds. On the same machine and in the same container, a claim is
 * valid as long as its process exists. A claim of another machine that shares the disk, or of another container, is
 * valid until its last heartbeat is 30 seconds old.
 */
type Writer = ProcessIdentity & {
  readonly owner: string;
  /** Changes with every boot of the machine. Null if the system does not report it. */
  readonly boot: string | null;
  /** Milliseconds since 1970, by the writer's clock. */
  readonly heartbeat: number;
};

const heartbeatMs = 5000;
const foreignLifeMs = 30_000;

const owner = randomUUID();

/** Claims of this process, by file. They end with the process. */
const claimed = new Map<string, NodeJS.Timeout>();
let removesAtExit = false;

/** Other systems do not report their boots. */
const reportsBoots = process.platform === 'linux' || process.platform === 'darwin';
let ownBoot: string | null | undefined;
const bootOf = (): string | null => (ownBoot ??= reportsBoots ? readBootId() : null);

const self = (): Writer => ({ owner, ...describeSelf(), boot: bootOf(), heartbeat: Date.now() });

/**
 * Claims the folder for this process by writing `file`, and renews the claim until `releaseWriting` or the end of the
 * process. Throws BackboneError `run_in_use` if another live process has a claim, unless this process takes the folder
 * over. The other process may not write any more after that. Claims of killed processes are ignored.
 */
export async function claimWriting(file: string, { takesOver = false }: ClaimOptions = {}): Promise<void> {
  clearInterval(claimed.get(file));
  await takePlace(file, takesOver);
  const timer = setInterval(() => void beat(file), heartbeatMs);
  timer.unref();
  if (!removesAtExit) process.once('exit', removeAll);
  removesAtExit = true;
  claimed.set(file, timer);
}

type ClaimOptions = { readonly takesOver?: boolean };

/** Ends the claim. Does nothing if there is none, or if another process has taken the folder over. */
export async function releaseWriting(file: string): Promise<void> {
  clearInterval(claimed.get(file));
  claimed.delete(file);
  if (!isOthers(await readText(file))) await rm(file, { force: true });
}

const isOthers = (text: string): boolean => {
  const writer = toWriter(text);
  return writer !== undefined && writer.owner !== owner && isOtherAndAlive(writer);
};

/**
 * Makes a link to the claim. Only one process can make this link, even on a network disk, and that process has the
 * claim.
 */
async function takePlace(file: string, takesOver: boolean): Promise<void> {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.writing-${process.pid}-${owner}`);
  try {
    await writeFile(temporary, JSON.stringify(self()));
    while (!(await linkIfFree(temporary, file))) await removeDead(file, takesOver);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function linkIfFree(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (thrown) {
    if (codeOfError(thrown) === 'EEXIST') return false;
    throw thrown;
  }
}

/**
 * Removes a claim whose process has ended, or a claim that is taken over. If another process has claimed the folder in
 * the meantime, restores that claim.
 */
async function removeDead(file: string, takesOver: boolean): Promise<void> {
  const text = await readText(file);
  const writer = toWriter(text);
  if (!takesOver && writer !== undefined && (await staysAlive(file, writer))) throw inUse(file, writer);
  const aside = `${file}.${owner}`;
  try {
    await rename(file, aside);
  } catch {
    return; // another process was faster
  }
  if ((await readText(aside)) !== text) await linkIfFree(aside, file);
  await rm(aside, { force: true });
}

/**
 * Whether the claim is valid. The process of another container with this host name may be an earlier start of this
 * container, so the claim must show a heartbeat, or get too old.
 */
async function staysAlive(file: string, writer: Writer): Promise<boolean> {
  if (writer.host !== hostname() || isHere(writer)) return isOtherAndAlive(writer);
  while (isOtherAndAlive(writer)) {
    if (toWriter(await readText(file))?.heartbeat !== writer.heartbeat) return true;
    await sleep(250);
  }
  return false;
}

function inUse(file: string, writer: Writer): BackboneError {
  const { pid, host, heartbeat } = writer;
  const seconds = Math.round((Date.now() - heartbeat) / 1000);
  const place = host === hostname() ? `in another container or on another machine named ${host}` : `on ${host}`;
  const where = host === hostname() && isHere(writer) ? '' : ` ${place}, last heard of ${seconds} s ago,`;
  return new BackboneError(
    'run_in_use',
    `Process ${pid}${where} is writing this run: ${file}. Stop it first, or wait until it ends. If the process does not belong to AgentJet, remove that file.`,
  );
}

/**
 * Throws if another process took the folder over. This can happen if this process was suspended for longer than a claim
 * is valid.
 */
export async function checkWriting(file: string): Promise<void> {
  const writer = toWriter(await readText(file));
  if (writer !== undefined && writer.owner !== owner && isOtherAndAlive(writer)) throw inUse(file, writer);
}

/** Whether a process, this one included, has a valid claim to write the run folder. */
export async function isBeingWritten(dir: string): Promise<boolean> {
  const writer = toWriter(await readText(path.join(dir, runFiles.writer)));
  return writer !== undefined && (writer.owner === owner || isOtherAndAlive(writer));
}

async function beat(file: string): Promise<void> {
  const writer = toWriter(await readText(file));
  // Another process took the claim over, or the claim was removed together with the folder.
  if (writer?.owner !== owner || !claimed.has(file)) return;
  // A failed write is ignored, because the next heartbeat may succeed.
  await replaceFile(file, JSON.stringify(self()), { isFlushed: false }).catch(() => undefined);
}

function removeAll(): void {
  for (const file of claimed.keys()) {
    try {
      if (!isOthers(readFileSync(file, 'utf8'))) rmSync(file, { force: true });
    } catch {
      // The file is missing, or the disk has become read-only. The claim ends with the process, which ends soon.
    }
  }
}

async function readText(file: string): Promise<string> {
  return readRegularFile(file).catch(() => '');
}

/** Removes the half-written files of killed writers. */
export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) if (isLeftover(name)) await rm(path.join(dir, name), { force: true });
}

/**
 * Returns whether a half-written file belongs to this process, or to a process of this machine that no longer exists.
 */
function isLeftover(name: string): boolean {
  const pid = Number(/^\..+\.writing-(\d+)(-[\da-f-]{36})?$/.exec(name)?.[1] ?? Number.NaN);
  return Number.isInteger(pid) && (pid === process.pid || isZombie(pid) || !isProcessAlive({ pid }));
}

/**
 * Parses a claim. Returns undefined for an empty or incomplete file, which a kill may leave and which claims nothing.
 */
function toWriter(text: string): Writer | undefined {
  const value: unknown = parseJsonObject(text);
  if (!isJsonObject(value)) return undefined;
  const { owner: id, pid, host, boot, space, started, heartbeat } = value;
  if (typeof id !== 'string' || typeof pid !== 'number' || typeof host !== 'string') return undefined;
  return {
    owner: id,
    host,
    pid,
    boot: typeof boot === 'string' ? boot : null,
    ...(typeof space === 'string' && { space }),
    ...(typeof started === 'string' && { started }),
    heartbeat: typeof heartbeat === 'number' ? heartbeat : 0,
  };
}

function isOtherAndAlive(writer: Writer): boolean {
  const { owner: id, pid, heartbeat } = writer;
  if (id === owner) return false;
  if (writer.host !== hostname() || !isHere(writer)) return Date.now() - heartbeat < foreignLifeMs;
  return pid !== process.pid && !isZombie(pid) && isProcessAlive(writer);
}

/** Whether this process can see the process of a claim with its host name. A claim may lack the facts that say so. */
const isHere = ({ boot, space = ownPidSpace() }: Writer): boolean =>
  (boot === null || boot === bootOf()) && space === ownPidSpace();

/**
 * Returns whether the process has ended but its parent has not read its exit code, so that it still seems to exist.
 * Always false on systems other than Linux.
 */
function isZombie(pid: number): boolean {
  try {
    // "4242 (node) Z ...", and the name may contain any character.
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}
