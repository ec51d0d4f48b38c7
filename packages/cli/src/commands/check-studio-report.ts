import { readFile } from 'node:fs/promises';
import { ConfigError, toErrorMessage, countOf } from '@agentjet/core';
import { checkLinksOf } from '@agentjet/studio';
import { createOutput } from '../output.js';
import type { StudioCheckFlags } from '../studio-program.js';
import { usualRuns } from './describe-studio.js';

/** Runs `ajet studio check`. Returns 1 if a link of the report leads nowhere. */
export async function checkStudioReport(
  report: string,
  folder: string | undefined,
  flags: StudioCheckFlags,
): Promise<number> {
  const output = createOutput(flags);
  const markdown = await readFile(report, 'utf8').catch((cause: unknown) => {
    throw new ConfigError('no_report', `${report} cannot be read: ${toErrorMessage(cause)}`, { cause });
  });
  const { links, broken } = await checkLinksOf(markdown, folder ?? usualRuns());
  for (const { line, address, problem } of broken) output.writeLine(`${report}:${line}: ${address}: ${problem}`);
  output.writeLine(`${countOf(links.length, 'link')}, ${broken.length} broken`);
  output.writeJson({ links: links.length, broken });
  return broken.length === 0 ? 0 : 1;
}
