/**
 * Starts a Python worker and connects to it: it listens on the loopback, starts the process, waits until the worker
 * sends `hello` with the right token, and sends the configuration. Each Python backbone brings its own launch command
 * and configuration. If another launcher starts the worker, this file only waits for it.
 */

import { randomBytes } from 'node:crypto';
import { BackboneError, snakeKeys, toErrorMessage } from '@agentjet/core';
import { openDoor, type ListeningDoor } from './accept-worker.js';
import { AttachedWorker } from './attached-worker.js';
import { schemaVersion, type ReadyMessage } from './messages.js';
import { WorkerConnection } from './worker-connection.js';
import { startWorkerProcess, type WorkerLaunch, type WorkerProcess } from './worker-process.js';

export type WorkerDoor = {
  /** The address to listen on for the worker. */
  readonly host: string;
  /** The secret that the worker must send. */
  readonly token: string;
  /** 0 takes any free port. */
  readonly port: number;
};

/** An external launcher starts the worker, on this machine or on others. */
export type AttachedLaunch = {
  readonly kind: 'attached';
  /** Called with the address before the wait for the worker begins. */
  onWaiting(address: string): void;
};

export type PythonWorkerOptions = {
  /** The name for messages: "torch" makes "The torch worker ...". */
  readonly name: string;
  readonly launch: WorkerLaunch | AttachedLaunch;
  /** The options that the worker itself reads. Their keys are sent in snake_case. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The command that creates an environment with all packages, for the message if a package is missing. */
  readonly setupCommand: string;
  readonly door: WorkerDoor;
  readonly startTimeoutMs?: number | undefined;
  readonly heartbeatTimeoutMs?: number | undefined;
  readonly stallTimeoutMs?: number | undefined;
  /** Called with each line that the worker logs. */
  readonly onLogLine?: ((line: string) => void) | undefined;
};

export type PythonWorker = {
  readonly connection: WorkerConnection;
  readonly ready: ReadyMessage;
  readonly pid: number;
};

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Defaults to the loopback and a fresh random token. Throws BackboneError `bad_request` for another address without a
 * token, unless a line that the user sees contains the random token.
 */
export function chooseDoor({ host = '127.0.0.1', token, port = 0 }: Partial<WorkerDoor>, isShown = false): WorkerDoor {
  if (!loopback.has(host) && token === undefined && !isShown) {
    throw new BackboneError(
      'bad_request',
      `listenHost "${host}" is not the loopback, so the worker needs a token. Set token, or use listenHost 127.0.0.1.`,
    );
  }
  return { host, token: token ?? randomBytes(32).toString('hex'), port };
}

/** Rejects with BackboneError: `worker_died`, `worker_hung`, `version_mismatch`, or the worker's own error. */
export async function startPythonWorker(options: PythonWorkerOptions): Promise<PythonWorker> {
  const { host, token, port } = options.door;
  const door = await openDoor(token, host, port);
  let worker: WorkerProcess | undefined;
  try {
    worker = await startOrAwait(door.address, options);
    const connection = await meetWorker(door, worker, options);
    return { connection, ready: await connection.ready, pid: worker.pid };
  } catch (error) {
    worker?.kill('SIGKILL');
    await worker?.ended;
    throw error;
  } finally {
    door.close();
  }
}

async function startOrAwait(address: string, { launch, door, onLogLine }: PythonWorkerOptions): Promise<WorkerProcess> {
  if ('kind' in launch) {
    launch.onWaiting(address);
    return new AttachedWorker();
  }
  const env = { ...launch.env, AJET_CONNECT: address, AJET_TOKEN: door.token };
  return await startWorkerProcess({ ...launch, env }, onLogLine);
}

/**
 * Waits until the worker says hello, the process ends, or the time limit passes. After hello it sends the
 * configuration.
 */
async function meetWorker(
  door: ListeningDoor,
  worker: WorkerProcess,
  options: PythonWorkerOptions,
): Promise<WorkerConnection> {
  const timeoutMs = options.startTimeoutMs ?? 300_000;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const how = `did not connect within ${Math.round(timeoutMs / 1000)} s`;
    timer = setTimeout(() => reject(startError(worker, options, { code: 'worker_hung', how })), timeoutMs);
  });
  const died = worker.ended.then((how) => Promise.reject(startError(worker, options, { code: 'worker_died', how })));
  const met = door.connection.catch((error: unknown) =>
    Promise.reject(new BackboneError('version_mismatch', toErrorMessage(error))),
  );
  try {
    const { socket, reader, early } = await Promise.race([met, died, tooLate]);
    worker.hold?.(socket);
    const heartbeatTimeoutMs = options.heartbeatTimeoutMs ?? 30_000;
    const connection = new WorkerConnection(socket, worker, {
      name: options.name,
      heartbeatTimeoutMs,
      stallTimeoutMs: options.stallTimeoutMs ?? 1_800_000,
    });
    connection.listen(reader, early);
    await connection.send({
      kind: 'configure',
      schema: schemaVersion,
      heartbeat_s: Math.min(2, heartbeatTimeoutMs / 5000),
      config: snakeKeys(options.config),
      ...('kind' in options.launch && { attached: true }),
    });
    return connection;
  } finally {
    clearTimeout(timer);
    died.catch(() => undefined);
    tooLate.catch(() => undefined);
  }
}

function startError(
  worker: WorkerProcess,
  { name, setupCommand }: PythonWorkerOptions,
  { code, how }: { readonly code: string; readonly how: string },
): BackboneError {
  const lines = worker.lastLines();
  const repair = lines.includes('ModuleNotFoundError')
    ? `\nThis Python does not have all required packages. ${setupCommand} creates an environment that has them.`
    : '';
  return new BackboneError(code, `The ${name} worker ${how} before it was ready. Its last lines:\n${lines}${repair}`);
}
