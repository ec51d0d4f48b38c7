import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetError, ConfigError, toErrorMessage } from '@agentjet/core';
import { exportRunPage } from '@agentjet/studio';
import { createOutput } from '../output.js';
import type { StudioExportFlags } from '../program.js';

/** `ajet studio export` writes the page of a run as one file. Returns the exit code. */
export async function exportStudio(run: string, flags: StudioExportFlags): Promise<number> {
  const output = createOutput(flags);
  const file = path.resolve(flags.output ?? `${path.basename(path.resolve(run))}.html`);
  const { html, episodes, allEpisodes } = await exportRunPage(run, {
    ...(flags.episodes === undefined ? {} : { episodes: flags.episodes }),
    ...(flags.maxEpisodes === undefined ? {} : { maxEpisodes: toCount(flags.maxEpisodes) }),
    isRedacted: flags.redact === true,
  });
  const bytes = Buffer.byteLength(html);
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  output.writeLine(
    flags.redact === true
      ? `${size}: the figures of ${allEpisodes} episodes, without texts`
      : `${size}: the figures of ${allEpisodes} episodes, and the tokens of ${episodes} of them`,
  );
  try {
    writeFileSync(file, html);
  } catch (cause) {
    throw new AgentJetError(
      'unwritable_page',
      `Cannot write ${file}: ${toErrorMessage(cause)}. Name another file: --output <file>.`,
      { cause },
    );
  }
  output.writeLine(file);
  output.writeJson({ file, bytes, episodes, all_episodes: allEpisodes });
  return 0;
}

function toCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ConfigError('wrong_type', `--max-episodes is ${JSON.stringify(text)}, not a number of episodes.`);
}
