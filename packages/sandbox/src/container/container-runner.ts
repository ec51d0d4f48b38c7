import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { SandboxError, type CodeLimits, type CodeRunner, type Side } from '../code-runner.js';
import { createFolderRunner } from '../process/folder-runner.js';
import type { SandboxProcess } from '../process/sandbox-process.js';
import { StartOfCode } from '../process/start-of-code.js';
import { exitOf } from '../process/watch-limits.js';
import { writeFiles } from '../process/write-files.js';
import type { ContainerEngine } from './find-container.js';

/**
 * Runs Python in a new container of docker or podman for each run: no network, no privileges, a read-only image, and a
 * folder in memory with the given files. The container reports on standard error when it is ready, so its start does
 * not count as time of the code.
 */
export function createContainerRunner(engine: ContainerEngine): CodeRunner {
  return createFolderRunner((folder, side, limits) => launch(engine, folder, side, limits));
}

const mainFile = 'main.py';
const maxProcesses = 64;
const folderMegabytes = 64;
/** All processes together, with their files, may take this many times the memory of one process. */
const shareOfAll = 1.25;
/** If this process exits, the container ends this long after its time limit. */
const graceSeconds = 5;
const nobody = '65534:65534';

function argumentsOf(
  { image }: ContainerEngine,
  { given, name, ready, limits }: { given: string; name: string; ready: string; limits: CodeLimits },
): readonly string[] {
  const memory = `${Math.ceil(shareOfAll * limits.megabytes)}m`;
  const folders = ['/work', '/tmp'].flatMap((target) => ['--tmpfs', `${target}:rw,mode=1777,size=${folderMegabytes}m`]);
  const seconds = Math.ceil(limits.seconds) + graceSeconds;
  const script = [
    `ulimit -v ${limits.megabytes * 1024}`,
    'cp -R /given/. /work/',
    `echo ${ready} >&2`,
    `exec timeout -s KILL ${seconds} python3 -I -u ${mainFile}`,
  ].join(' && ');
  return [
    ['run', '--rm', '-i', '--name', name, '--pull', 'never', '--network', 'none', '--read-only', ...folders],
    ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', nobody],
    ['--pids-limit', String(maxProcesses), '--memory', memory, '--memory-swap', memory],
    ['--ulimit', 'nofile=1024:1024', '--ulimit', `nproc=${maxProcesses}:${maxProcesses}`, '--ulimit', 'core=0:0'],
    ['--mount', `type=bind,source=${given},target=/given,readonly`, '--workdir', '/work'],
    ['--env', 'HOME=/work', '--env', 'PYTHONDONTWRITEBYTECODE=1', '--entrypoint', 'sh', image, '-c', script],
  ].flat();
}

async function launch(
  engine: ContainerEngine,
  folder: string,
  { code, files }: Side,
  limits: CodeLimits,
): Promise<SandboxProcess> {
  const given = path.join(folder, 'given');
  await mkdir(given);
  await writeFiles(given, { ...files, [mainFile]: code });
  await chmod(given, 0o755); // the user in the container must be able to read it
  const name = `ajet-${randomUUID()}`;
  const start = new StartOfCode();
  const child = spawn(engine.program, argumentsOf(engine, { given, name, ready: start.mark, limits }), {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return {
    child,
    start,
    mechanism: 'container',
    exceeded: () => null, // the engine of the container enforces the limits
    isOutOfMemory: () => false,
    kill: () => void remove(engine, name).finally(() => child.kill('SIGKILL')),
    // A container that was killed while it started may remain. The engine itself removes one that has ended.
    cleanUp: async (wasKilled) => (wasKilled ? remove(engine, name) : undefined),
    notStarted: (why, cause) =>
      new SandboxError(
        'unavailable',
        `${path.basename(engine.program)} cannot start a container of ${engine.image}: ${why}`,
        { cause },
      ),
  };
}

/** Removes the container, whether it runs or not. */
async function remove({ program }: ContainerEngine, name: string): Promise<void> {
  for (const args of [
    ['kill', name],
    ['rm', '-f', name],
  ])
    await exitOf(spawn(program, args, { stdio: 'ignore' }));
}
