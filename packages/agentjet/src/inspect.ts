import path from 'node:path';
import { BackboneError, loadConfig } from '@agentjet/core';
import { loadChatTokenizer, type Tokenizer } from '@agentjet/tokenizer';
import { openRunFolder, type EpisodeRecord } from '@agentjet/trainer';
import { findModelDir } from './inputs/model-dir.js';

/** One line of a list of episodes. */
export type EpisodeSummary = {
  readonly episodeId: string;
  readonly step: number;
  readonly taskId: string;
  readonly status: string;
  readonly reward: number | null;
  readonly samples: number;
  readonly generatedTokens: number;
};

const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toNumber = (value: unknown): number => (typeof value === 'number' ? value : 0);

function summarize(record: EpisodeRecord): EpisodeSummary {
  return {
    episodeId: record.episode_id,
    step: toNumber(record['step']),
    taskId: toText(record['task_id']),
    status: toText(record['status']),
    reward: typeof record['reward'] === 'number' ? record['reward'] : null,
    samples: record.samples.length,
    generatedTokens: toNumber(record['generated_tokens']),
  };
}

/** An episode as its run folder keeps it, token by token. */
export type RunEpisode = EpisodeRecord;

/** The episodes of a run, step by step. */
export async function* listEpisodes(runDir: string): AsyncGenerator<EpisodeSummary> {
  const { episodes } = await openRunFolder(runDir);
  for (const step of await episodes.steps()) {
    for (const record of await episodes.readStep(step)) yield summarize(record);
  }
}

async function findByPrefix(runDir: string, prefix: string): Promise<string> {
  const matches: string[] = [];
  for await (const { episodeId } of listEpisodes(runDir)) {
    if (episodeId.startsWith(prefix)) matches.push(episodeId);
  }
  const [first, second] = matches;
  if (first === undefined) throw new BackboneError('no_episode', `The run ${runDir} has no episode "${prefix}". \`ajet inspect ${runDir}\` lists them.`);
  if (second !== undefined) throw new BackboneError('no_episode', `"${prefix}" is the beginning of ${matches.length} episodes: ${matches.slice(0, 5).join(', ')}${matches.length > 5 ? ', ...' : ''}. Name one of them.`);
  return first;
}

/** An episode by its id, or by the beginning of its id where only one begins so. Throws BackboneError `no_episode`. */
export async function readEpisode(runDir: string, episodeId: string): Promise<EpisodeRecord> {
  const { episodes } = await openRunFolder(runDir);
  const found = (await episodes.find(episodeId)) ?? (await episodes.find(await findByPrefix(runDir, episodeId)));
  if (found === undefined) throw new BackboneError('no_episode', `The run ${runDir} has no episode "${episodeId}".`);
  return found;
}

/** The tokenizer of the model that the run trains. */
export async function loadRunTokenizer(runDir: string): Promise<Tokenizer> {
  const { model } = loadConfig(path.join(runDir, 'config.yaml'));
  return (await loadChatTokenizer(findModelDir(model.path))).tokenizer;
}
