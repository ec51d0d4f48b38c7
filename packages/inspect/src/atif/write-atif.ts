import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { openRunFolder } from '@agentjet/run-folder';
import { inspectEpisode } from '../episode/read-episode.js';
import { loadRunChatTokenizer, modelNameOf } from '../episode/run-tokenizer.js';
import { hasTurns, toDocuments } from './to-documents.js';

/** The number of episodes and documents that were written, and of episodes without a call that a document could have. */
export type WrittenAtif = { readonly episodes: number; readonly documents: number; readonly empty: number };

/**
 * Writes the episodes of a run as ATIF documents, one file for each: all episodes, or the one that `episode` names.
 * Throws BackboneError `no_tokenizer` if the model's tokenizer is gone, because the messages are decoded with it.
 */
export async function writeAtif(runDir: string, target: string, episode?: string): Promise<WrittenAtif> {
  const run = await openRunFolder(runDir);
  const chatTokenizer = await loadRunChatTokenizer(run);
  if (chatTokenizer === undefined)
    throw new BackboneError(
      'no_tokenizer',
      `The tokenizer of the model of ${runDir} is gone, so its messages cannot be read. Put the model back into the folder that config.yaml names.`,
    );
  const options = { chatTokenizer, modelName: await modelNameOf(run) };
  await mkdir(target, { recursive: true });
  const counts = { episodes: 0, documents: 0, empty: 0 };
  const records = episode === undefined ? readAll(run) : [(await inspectEpisode(runDir, episode)).record];
  for await (const record of records) {
    counts.episodes += 1;
    const documents = hasTurns(record) ? toDocuments(record, options) : [];
    if (documents.length === 0) counts.empty += 1;
    for (const [index, document] of documents.entries()) {
      const name = `${record.phase}-${record.step}-${record.episode_id}-${index}`.replaceAll(/[^\w.-]/g, '_');
      await writeFile(path.join(target, `${name}.json`), `${JSON.stringify(document)}\n`);
      counts.documents += 1;
    }
  }
  return counts;
}

async function* readAll({ episodes }: Awaited<ReturnType<typeof openRunFolder>>) {
  for (const step of await episodes.steps()) yield* await episodes.readStep(step);
}
