import { spawn } from 'node:child_process';
import path from 'node:path';
import { ConfigError, parseJsonObject } from '@agentjet/core';
import { describeStudio } from './describe-studio.js';

/** The studio flags of commands that make runs. The host and the port are refused without `--studio`. */
export type RunStudioFlags = {
  readonly studio?: boolean;
  readonly studioHost?: string;
  readonly studioPort?: string;
};

type StudioParts = {
  readonly writeLine: (line: string) => void;
  /** The file of the `ajet` command. */
  readonly program?: string;
  /** The swarm server of the run, which the studio also shows. */
  readonly swarm?: { readonly url: string; readonly key?: string | undefined };
};

/**
 * Opens the studio of a run in another process, so that training never waits for the studio. Prints its address. The
 * studio ends with this process. If the studio cannot be opened, the run continues. Returns a function that ends the
 * studio.
 */
export function startStudio(
  folder: string,
  flags: RunStudioFlags,
  { writeLine, program = process.argv[1] ?? '', swarm }: StudioParts,
): () => void {
  const { studioHost: host, studioPort: port } = flags;
  const args = [
    ...process.execArgv,
    program,
    'studio',
    folder,
    '--json',
    ...(host === undefined ? [] : ['--host', host]),
    ...(port === undefined ? [] : ['--port', port]),
    ...(swarm === undefined ? [] : ['--swarm', swarm.url]),
  ];
  // The studio gets its own process group, so that Ctrl-C on a terminal does not end it while the run finishes a step.
  const studio = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
    env: { ...process.env, ...(swarm?.key !== undefined && { AJET_SWARM_KEY: swarm.key }) },
  });
  const { stdout, stderr } = studio;
  let said = '';
  let isOpen = false;
  stderr?.setEncoding('utf8').on('data', (text: string) => void (said = `${said}${text}`.slice(-maxSaid)));
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    const { url, host: shown, port: actual } = parseJsonObject(text) ?? {};
    if (typeof url !== 'string' || typeof shown !== 'string' || typeof actual !== 'number') return;
    isOpen = true;
    for (const line of describeStudio(path.relative(process.cwd(), folder) || folder, {
      url,
      host: shown,
      port: actual,
    }))
      writeLine(line);
  });
  const onEnd = (reason: string): void => {
    if (!isOpen) writeLine(`The studio could not be opened, and the run continues without it: ${reason}`);
    isOpen = true;
  };
  studio.on('error', (error) => onEnd(error.message));
  studio.on('exit', () => onEnd(said.trim()));
  for (const handle of [studio, stdout, stderr, studio.channel]) (handle as { unref?: () => void } | null)?.unref?.();
  return () => {
    isOpen = true;
    if (studio.connected) studio.disconnect();
  };
}

const maxSaid = 2000;

/** Throws ConfigError if an address is given for a studio that is not opened. */
export function checkStudioFlags({ studio, studioHost, studioPort }: RunStudioFlags): void {
  if (studio === true || (studioHost === undefined && studioPort === undefined)) return;
  const flag = studioHost === undefined ? '--studio-port' : '--studio-host';
  throw new ConfigError('wrong_value', `${flag} needs --studio, which opens the studio with the run.`);
}
