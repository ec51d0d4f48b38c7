import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { chown, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { SandboxError, type CodeLimits, type CodeResult, type CodeRunner, type Side } from '../code-runner.js';
import { openControlGroup, type ControlGroup } from '../process/control-group.js';
import { createFolderRunner } from '../process/folder-runner.js';
import { inheritedDescriptors, withNull } from '../process/inherited-descriptors.js';
import { descendantsOf, measureCpuSeconds, measureUsage } from '../process/process-usage.js';
import type { SandboxProcess } from '../process/sandbox-process.js';
import { StartOfCode } from '../process/start-of-code.js';
import { writeFiles } from '../process/write-files.js';
import { commandLine, maxTasks, nobody, writableFolders } from './command-line.js';
import type { SandboxPrograms } from './find-programs.js';
import { seccompFilter } from './seccomp-filter.js';

/**
 * Runs Python in a separate namespace (bubblewrap, Linux). The code has no network and sees no other process. It can
 * read the system's programs and can use a folder in memory that contains only the given files.
 */
export function createBubblewrapRunner(programs: SandboxPrograms): CodeRunner {
  const inherited = inheritedDescriptors();
  return createFolderRunner((folder, side, limits) => launch({ ...programs, inherited }, folder, side, limits));
}

type Launcher = SandboxPrograms & {
  /** File descriptors of this process that the code must not get. */
  readonly inherited: readonly number[];
};

const mainFile = 'main.py';
const filterDescriptor = 3;
const filter = seccompFilter();

/** The tasks that bubblewrap itself may need. It has two processes, and a shell at the start. */
const tasksOfSandbox = 4;
/** All processes together may take this share of the limit, because they have libraries in addition to their data. */
const shareOfAll = 1.25;
/** All processes together may use this many times the CPU time of one. */
const cpuTimesOfAll = 4;

async function launch(
  { inherited, ...programs }: Launcher,
  folder: string,
  { code, files }: Side,
  limits: CodeLimits,
): Promise<SandboxProcess> {
  await writeFiles(folder, { ...files, [mainFile]: code });
  if (programs.setpriv !== null) await giveToNobody(folder);
  const start = new StartOfCode();
  const group = openGroup(programs, limits);
  const [command = '', ...args] = commandLine(programs, {
    folder,
    limits,
    ready: start.mark,
    entries: group?.entries ?? [],
    filterDescriptor: filter === null ? null : filterDescriptor,
    run: [programs.python, '-I', '-u', mainFile],
  });
  const child = withNull((unused) =>
    spawn(command, args, { stdio: stdioOf(inherited, unused), env: {}, cwd: '/', detached: true }),
  );
  if (filter !== null) give(child, filter);
  return {
    child,
    start,
    mechanism: group === null ? 'pss' : 'cgroup',
    kill: () => killAll(child),
    // Before the sandbox is ready, it still sees the folders of the machine. Their files must not count.
    exceeded: () => (start.isReady ? exceededBy(child, limits, group) : null),
    isOutOfMemory: () => group?.isOutOfMemory() ?? false,
    cleanUp: async () => group?.close(),
    notStarted: (why, cause) => new SandboxError('unavailable', `bubblewrap cannot start: ${why}`, { cause }),
  };
}

/** Lets bubblewrap read the folder as the user without rights. */
async function giveToNobody(folder: string): Promise<void> {
  for (const name of ['.', ...(await readdir(folder, { recursive: true }))])
    await chown(path.join(folder, name), nobody, nobody);
}

/** Makes pipes for input, output, errors and the filter. Replaces each inherited descriptor by /dev/null. */
function stdioOf(inherited: readonly number[], unused: number): StdioOptions {
  const length = Math.max(filterDescriptor, ...inherited) + 1;
  const last = filter === null ? filterDescriptor - 1 : filterDescriptor;
  return Array.from({ length }, (_, at) => (at <= last ? 'pipe' : inherited.includes(at) ? unused : 'ignore'));
}

function bytesOfAll({ megabytes }: CodeLimits): number {
  return Math.ceil(shareOfAll * megabytes * 1024 * 1024);
}

function openGroup({ groups }: SandboxPrograms, limits: CodeLimits): ControlGroup | null {
  if (groups === null) return null;
  try {
    return openControlGroup(groups, { bytes: bytesOfAll(limits), tasks: maxTasks + tasksOfSandbox });
  } catch (cause) {
    throw new SandboxError('unavailable', `The kernel refused a control group: ${String(cause)}`, { cause });
  }
}

/**
 * Returns the limit that all processes together exceed, if any. The kernel itself limits the memory and the tasks of a
 * control group. If the group runs out of memory, the kernel may end only one process, so the others are ended, too.
 */
function exceededBy({ pid }: ChildProcess, limits: CodeLimits, group: ControlGroup | null): CodeResult['limit'] {
  if (pid === undefined) return null;
  const maxProcesses = maxTasks + tasksOfSandbox;
  const maxCpuSeconds = cpuTimesOfAll * (limits.seconds + 1);
  if (group !== null) {
    if (measureCpuSeconds(pid, maxProcesses) > maxCpuSeconds) return 'time';
    return group.isOutOfMemory() ? 'memory' : null;
  }
  const maxBytes = bytesOfAll(limits);
  const usage = measureUsage(pid, { folders: writableFolders, exactAboveBytes: maxBytes, maxProcesses });
  if (usage.cpuSeconds > maxCpuSeconds) return 'time';
  if (usage.tasks > maxProcesses) return 'processes';
  return usage.memoryBytes > maxBytes ? 'memory' : null;
}

function give(child: ChildProcess, bytes: Uint8Array): void {
  const pipe = child.stdio[filterDescriptor] as Writable | null | undefined;
  // Ignores a broken pipe, because a sandbox that cannot start reports the reason itself.
  pipe?.on('error', () => undefined).end(bytes);
}

/**
 * Kills all processes. If only bubblewrap were killed, its child could survive, because the child asks the kernel to
 * end it together with bubblewrap only a moment after its start. On a busy machine, processes take memory until they
 * have ended, and they end sooner if each of them is killed.
 */
function killAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  for (const each of [-pid, ...descendantsOf(pid).slice(1)]) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
