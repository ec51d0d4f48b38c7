import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A control group of the kernel, which counts the memory and the tasks of all its processes together. */
export type ControlGroup = {
  /** A process that writes 0 to each of these files enters the group. */
  readonly entries: readonly string[];
  /** Whether the kernel has ended a process because the group reached its limit of memory. */
  readonly isOutOfMemory: () => boolean;
  /** Removes the group after its processes have ended. */
  readonly close: () => Promise<void>;
};

type GroupLimits = { readonly bytes: number; readonly tasks: number };

/** The folders in which groups can be made. Version 1 has a separate tree for each kind of limit. */
export type GroupParents =
  | { readonly version: 1; readonly memory: string; readonly pids: string }
  | { readonly version: 2; readonly unified: string };

let numGroups = 0;

/** Returns the folders in which this process may make control groups, or null. Makes a group as a test. */
export function findControlGroups(): GroupParents | null {
  const parents = parentsOf(readOr('/proc/self/cgroup', ''));
  if (parents === null) return null;
  removeAbandoned(parents);
  try {
    remove(foldersOf(create(parents, { bytes: 1e9, tasks: 100 })));
    return parents;
  } catch {
    return null; // the place is read-only, belongs to another user, or has no controllers
  }
}

/** Opens a group. Throws if the kernel refuses it. */
export function openControlGroup(parents: GroupParents, limits: GroupLimits): ControlGroup {
  const files = create(parents, limits);
  return {
    entries: foldersOf(files).map((folder) => path.join(folder, 'cgroup.procs')),
    isOutOfMemory: () => /^oom_kill [1-9]/m.test(readOr(files.events, '')),
    close: () => removeWhenEmpty(foldersOf(files)),
  };
}

/**
 * Returns the parents of new groups. In version 1, the group of this process is the parent. In version 2, a group with
 * processes cannot contain groups with limits, so new groups are made next to the group of this process.
 */
export function parentsOf(groups: string, root = '/sys/fs/cgroup'): GroupParents | null {
  const groupOf = (controller: string): string | undefined =>
    groups
      .split('\n')
      .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
      .find((match) => match?.[1]?.split(',').includes(controller))?.[2];
  const [memory, pids] = ['memory', 'pids'].map((name) => {
    const group = groupOf(name);
    return group === undefined ? undefined : path.join(root, name, group);
  });
  if (memory !== undefined && pids !== undefined) return { version: 1, memory, pids };
  const own = groupOf('');
  if (own === undefined || !existsSync(path.join(root, 'cgroup.controllers'))) return null;
  const unified = path.dirname(path.join(root, own));
  const controllers = readOr(path.join(unified, 'cgroup.subtree_control'), '').split(/\s/);
  const isReady = unified.startsWith(root) && ['memory', 'pids'].every((name) => controllers.includes(name));
  return isReady ? { version: 2, unified } : null;
}

/** Removes the groups of killed processes, which could not remove them. */
function removeAbandoned(parents: GroupParents): void {
  const folders = parents.version === 1 ? [parents.memory, parents.pids] : [parents.unified];
  for (const folder of folders) {
    const names = existsSync(folder) ? readdirSync(folder) : [];
    const abandoned = names.filter((name) => {
      const pid = /^ajet-(\d+)-\d+$/.exec(name)?.[1];
      return pid !== undefined && !existsSync(`/proc/${pid}`);
    });
    remove(abandoned.map((name) => path.join(folder, name)));
  }
}

type GroupFiles = { readonly memory: string; readonly pids: string; readonly events: string };

function foldersOf({ memory, pids }: GroupFiles): readonly string[] {
  return [...new Set([memory, pids])];
}

function create(parents: GroupParents, { bytes, tasks }: GroupLimits): GroupFiles {
  const name = `ajet-${process.pid}-${++numGroups}`;
  const [memory, pids] =
    parents.version === 1
      ? [path.join(parents.memory, name), path.join(parents.pids, name)]
      : [path.join(parents.unified, name), path.join(parents.unified, name)];
  const events = path.join(memory, parents.version === 1 ? 'memory.oom_control' : 'memory.events');
  const files = { memory, pids, events };
  try {
    for (const folder of foldersOf(files)) mkdirSync(folder);
    limitMemory(parents.version, memory, bytes);
    writeFileSync(path.join(pids, 'pids.max'), String(tasks));
    return files;
  } catch (error) {
    remove(foldersOf(files));
    throw error;
  }
}

function limitMemory(version: 1 | 2, folder: string, bytes: number): void {
  const [limit, swap] =
    version === 1 ? ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'] : ['memory.max', 'memory.swap.max'];
  writeFileSync(path.join(folder, limit), String(bytes));
  // The file is absent if the kernel does not count swap.
  if (existsSync(path.join(folder, swap))) writeFileSync(path.join(folder, swap), version === 1 ? String(bytes) : '0');
  if (version === 2) writeFileSync(path.join(folder, 'memory.oom.group'), '1');
}

/** Tries repeatedly to remove the folders, because killed processes need a moment to end. */
async function removeWhenEmpty(folders: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    if (remove(folders)) return;
    await sleep(10);
  }
}

/** Returns whether all folders are gone. */
function remove(folders: readonly string[]): boolean {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch {
      // The group was never made, or still has processes.
    }
  }
  return !folders.some((folder) => existsSync(folder));
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
