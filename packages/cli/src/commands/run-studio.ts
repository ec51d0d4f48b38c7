import { ConfigError } from '@agentjet/core';
import { openStudio, type StudioOptions } from '@agentjet/studio';
import { runInterruptibly, untilAborted } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { StudioFlags } from '../studio-program.js';
import { describeStudio, usualRuns } from './describe-studio.js';
import { toPort } from './read-flags.js';

/** `ajet studio` serves the page until a signal arrives. Returns the exit code. */
export async function runStudio(folder: string | undefined, flags: StudioFlags): Promise<number> {
  const output = createOutput(flags);
  const shown = folder ?? usualRuns();
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const studio = await openStudio(shown, toStudioOptions(flags));
      for (const line of [...describeStudio(shown, studio), 'Ctrl-C ends it.']) output.writeLine(line);
      output.writeJson({ url: studio.url, port: studio.port, host: studio.host, token_file: studio.tokenFile ?? null });
      await Promise.race([untilAborted(signal), untilRunEnds()]);
      await studio.close();
      return 0;
    },
  );
}

/** A run that opened this studio has a channel to it. The channel closes when the run ends, even if it is killed. */
function untilRunEnds(): Promise<void> {
  return process.connected ? new Promise((resolve) => process.once('disconnect', resolve)) : new Promise(() => {});
}

function toStudioOptions({ host, port, swarm, chat = [] }: StudioFlags): StudioOptions {
  const { AJET_SWARM_KEY: swarmKey, AJET_SERVE_KEY: serveKey } = process.env;
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: toPort(port) }),
    ...(swarm !== undefined && {
      swarm: { url: toUrl('--swarm', swarm), ...(swarmKey !== undefined && { key: swarmKey }) },
    }),
    chats: chat.map((text, at) => ({ ...toChat(text, at), ...(serveKey !== undefined && { key: serveKey }) })),
  };
}

function toChat(text: string, at: number): { readonly name: string; readonly url: string } {
  const [, name, url] = /^([^=/:]+)=(.*)$/.exec(text) ?? [undefined, `model ${at + 1}`, text];
  return { name: name ?? '', url: toUrl('--chat', url ?? '') };
}

function toUrl(flag: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text;
  throw new ConfigError(
    'wrong_value',
    `${flag} is ${JSON.stringify(text)}, not an address such as http://127.0.0.1:8000.`,
  );
}
