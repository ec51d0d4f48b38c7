import path from 'node:path';
import { exportRunPage } from '@agentjet/studio';
import { createOutput } from '../output.js';
import type { StudioExportFlags } from '../studio-program.js';
import { toWhole } from './read-flags.js';
import { writePageFile } from './write-page-file.js';

/** `ajet studio export` writes the page of a run as one file. Returns the exit code. */
export async function exportStudio(run: string, flags: StudioExportFlags): Promise<number> {
  const output = createOutput(flags);
  const file = path.resolve(flags.output ?? `${path.basename(path.resolve(run))}.html`);
  const { html, episodes, allEpisodes } = await exportRunPage(run, {
    ...(flags.episodes === undefined ? {} : { episodes: flags.episodes }),
    ...(flags.maxEpisodes === undefined ? {} : { maxEpisodes: toWhole(flags.maxEpisodes, '--max-episodes') }),
    isRedacted: flags.redact === true,
  });
  const bytes = Buffer.byteLength(html);
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  output.writeLine(
    flags.redact === true
      ? `${size}: the figures of ${allEpisodes} episodes, without texts`
      : `${size}: the figures of ${allEpisodes} episodes, and the tokens of ${episodes} of them`,
  );
  writePageFile(file, html, '--output');
  output.writeLine(file);
  output.writeJson({ file, bytes, episodes, all_episodes: allEpisodes });
  return 0;
}
