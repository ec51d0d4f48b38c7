import { layOutEpisode, readTurnRecords, type EpisodeTree } from '@agentjet/context-tracker';
import { BackboneError, quoteForShell, tellOlderFormat } from '@agentjet/core';
import { openRunFolder, type RecordedEpisode } from '@agentjet/run-folder';
import { loadRunTokenizer } from './run-tokenizer.js';

/** An episode from its run folder, laid out for display. */
export type InspectedEpisode = {
  readonly record: RecordedEpisode;
  readonly tree: EpisodeTree;
  /** Decodes tokens to text one after the other. Undefined if the model's tokenizer is gone. */
  readonly createDecoder: (() => { push(id: number): string; flush(): string }) | undefined;
};

/**
 * Returns an episode by its id, or by a prefix that only one id has. Throws BackboneError `no_episode`, `run_folder` if
 * `runDir` is not a run folder, or `older_format` for a record without turns.
 */
export async function inspectEpisode(runDir: string, episodeId: string): Promise<InspectedEpisode> {
  const run = await openRunFolder(runDir);
  const { episodes } = run;
  const record =
    (await episodes.find(episodeId)) ??
    (await episodes.find(pickOne(runDir, episodeId, await episodes.findIds(episodeId))));
  if (record === undefined) throw noEpisode(runDir, episodeId);
  const { samples, turns } = record;
  if (!Array.isArray(turns))
    throw new BackboneError('older_format', tellOlderFormat(`Episode "${record.episode_id}" of ${runDir}`));
  const tokenizer = await loadRunTokenizer(run);
  return {
    record,
    tree: layOutEpisode(samples, readTurnRecords(turns)),
    createDecoder: tokenizer && (() => tokenizer.createStreamDecoder()),
  };
}

function pickOne(runDir: string, prefix: string, ids: readonly string[]): string {
  const [first, second] = ids;
  if (first === undefined) throw noEpisode(runDir, prefix);
  if (second === undefined) return first;
  throw new BackboneError(
    'no_episode',
    `"${prefix}" is the beginning of ${ids.length} episode ids: ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', ...' : ''}. Name one of them.`,
  );
}

function noEpisode(runDir: string, episodeId: string): BackboneError {
  return new BackboneError(
    'no_episode',
    `The run ${runDir} has no episode "${episodeId}". \`ajet inspect ${quoteForShell(runDir)}\` lists them.`,
  );
}
