import { EnvironmentOutage, toErrorMessage } from '@agentjet/core';
import { SandboxError } from '@agentjet/sandbox';
import type { Box, ExecResult } from '@agentjet/sandbox/boxes';
import { boxNetworkOf } from './phase-network.js';
import type { HarborNetwork } from './read-machine.js';
import type { HarborTask } from './read-task.js';

/** All work in boxes shares labels and limits, outages, and commands of ours. */

export type OpenMachineOptions = {
  readonly task: HarborTask;
  readonly episodeId: string;
  /** The networks of all phases. */
  readonly networks: readonly HarborNetwork[];
  readonly lifeSeconds: number;
  readonly signal: AbortSignal;
};

/** Returns what all boxes of an episode have in common. */
export function boxOptionsOf({ task, episodeId, networks, lifeSeconds, signal }: OpenMachineOptions) {
  return {
    labels: { 'org.agentjet.episode': episodeId, 'org.agentjet.task': task.name },
    networks: networks.map(boxNetworkOf),
    lifeSeconds,
    signal,
  };
}

/** Time that the engine may take in addition to the limits of the task. */
export const engineSeconds = 240;

/** The host of outages that one task causes, so that they do not look like a failure of the engine. */
export const harborHostOf = ({ name }: HarborTask): string => `Harbor task ${name}`;

/** Turns a failure of the engine into an outage. Other errors pass. */
export async function asOutage<T>(host: string, work: () => Promise<T>, prefix = ''): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new EnvironmentOutage(`${prefix}${toErrorMessage(error)}`, { host, cause: error });
  }
}

/** Runs a command of ours as root. Throws EnvironmentOutage if it was ended before it was done. */
export async function asRoot(
  box: Box,
  script: string,
  { host, signal }: { readonly host: string; readonly signal: AbortSignal },
): Promise<ExecResult> {
  const command = ['/bin/sh', '-c', script];
  const limits = { user: 0, seconds: engineSeconds, outputCharacters: 4000, signal };
  const result = await asOutage(host, () => box.exec(command, limits));
  if (!wasEnded(result)) return result;
  throw new EnvironmentOutage(`A command of ours in ${box.name} was ended: ${lastLineOf(result)}`, { host });
}

/** The status of a command that was killed. */
const killedStatus = 137;

/** Whether a command ran out of time or was killed, so that it did not do what it should. */
export const wasEnded = ({ status }: ExecResult): boolean => status === null || status === killedStatus;

export const lastLineOf = ({ output, status, isOutOfTime }: ExecResult): string =>
  output.trim().split('\n').at(-1) || (isOutOfTime ? 'it did not end' : `exit code ${status}`);
