import { existsSync } from 'node:fs';
import { ConfigError } from '@agentjet/core';
import { openStudio, type OpenedStudio } from '@agentjet/studio';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { StudioFlags } from '../program.js';
import { untilAborted } from './until-aborted.js';

/** The folder that runs are written to by default. */
const usualFolder = 'saved_experiments';

/** `ajet studio` serves the page until a signal arrives. Returns the exit code. */
export async function runStudio(folder: string | undefined, flags: StudioFlags): Promise<number> {
  const output = createOutput(flags);
  const shown = folder ?? (existsSync(usualFolder) ? usualFolder : '.');
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const studio = await openStudio(shown, {
        ...(flags.host === undefined ? {} : { host: flags.host }),
        ...(flags.port === undefined ? {} : { port: toPort(flags.port) }),
      });
      for (const line of describe(shown, studio)) output.writeLine(line);
      output.writeJson({ url: studio.url, port: studio.port });
      await untilAborted(signal);
      await studio.close();
      return 0;
    },
  );
}

function toPort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : NaN;
  if (port <= 65_535) return port;
  throw new ConfigError('wrong_type', `--port is ${JSON.stringify(text)}, not a number from 0 to 65535.`);
}

const loopback = /^(127\.|localhost$|::1$)/;

function describe(folder: string, { url, host, port }: OpenedStudio): readonly string[] {
  const isRemote = process.env['SSH_CONNECTION'] !== undefined;
  return [
    `Studio over the runs in ${folder}: ${url}`,
    ...(loopback.test(host)
      ? []
      : [`It listens on ${host}: other machines can read these runs if they have this address and its token.`]),
    ...(isRemote && loopback.test(host)
      ? [`From your machine: ssh -N -L ${port}:127.0.0.1:${port} <this host>, then open the same address.`]
      : []),
    'Ctrl-C ends it.',
  ];
}
