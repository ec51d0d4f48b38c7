import { existsSync } from 'node:fs';
import { ConfigError } from '@agentjet/core';
import { openStudio, type StudioOptions } from '@agentjet/studio';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { StudioFlags } from '../program.js';
import { describeStudio } from './describe-studio.js';
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
      const studio = await openStudio(shown, toStudioOptions(flags));
      for (const line of [...describeStudio(shown, studio), 'Ctrl-C ends it.']) output.writeLine(line);
      output.writeJson({ url: studio.url, port: studio.port, host: studio.host });
      await Promise.race([untilAborted(signal), untilRunEnds()]);
      await studio.close();
      return 0;
    },
  );
}

/** A run that opened this studio has a channel to it, which closes when the run ends, even by a kill. */
function untilRunEnds(): Promise<void> {
  return process.connected ? new Promise((resolve) => process.once('disconnect', resolve)) : new Promise(() => {});
}

function toStudioOptions({ host, port }: StudioFlags): StudioOptions {
  return { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port: toPort(port) }) };
}

function toPort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : NaN;
  if (port <= 65_535) return port;
  throw new ConfigError('wrong_type', `--port is ${JSON.stringify(text)}, not a number from 0 to 65535.`);
}
