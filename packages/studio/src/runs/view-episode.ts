import { layOutEpisode, readTurnRecords, type EpisodeTree } from '@agentjet/context-tracker';
import { BackboneError, tellOlderFormat } from '@agentjet/core';
import { callColumns, describeEpisode } from '@agentjet/inspect';
import type { OutcomeInWords, EpisodeRow, RecordedEpisode } from '@agentjet/run-folder';
import type { EpisodeView } from '../wire.js';
import { episodeTimes } from './episode-times.js';
import { layOutTokens } from './lay-out-tokens.js';
import { tellConversation } from './tell-conversation.js';
import type { TokenDecoder } from './token-texts.js';

export type EpisodeSources = {
  readonly row: EpisodeRow;
  readonly record: RecordedEpisode;
  readonly outcome: OutcomeInWords;
  readonly texts: TokenDecoder;
  readonly siblings: readonly EpisodeRow[];
};

/** Everything that the page shows of one episode. Throws BackboneError `older_format` for a record without turns. */
export function viewEpisode({ row, record, outcome, texts, siblings }: EpisodeSources): EpisodeView {
  const { samples, turns: recorded } = record;
  if (!Array.isArray(recorded))
    throw new BackboneError('older_format', tellOlderFormat(`The episode "${row.episode_id}"`));
  const turns = readTurnRecords(recorded);
  const tree = layOutEpisode(samples, turns);
  const createDecoder = texts.hasText ? () => ({ push: () => '', flush: () => '' }) : undefined;
  const facts = describeEpisode({ record, tree, createDecoder });
  return {
    id: row.episode_id,
    step: row.step,
    phase: row.phase,
    group: row.group_id,
    task: row.task_id,
    repeat: row.repeat_index,
    status: row.status,
    reward: row.reward,
    isSuccess: row.is_success,
    parts: row.parts ?? {},
    seconds: row.seconds,
    outcome,
    facts: facts.filter(([label]) => !shownElsewhere.has(label)),
    calls: tabulateCalls(record, tree),
    said: tellConversation(turns, samples, texts),
    times: episodeTimes(record),
    branches: layOutTokens(tree, samples, texts),
    treeTokens: tree.treeTokens,
    rowTokens: tree.rowTokens,
    hasText: texts.hasText,
    siblings: siblings.map((sibling) => ({
      id: sibling.episode_id,
      reward: sibling.reward,
      isSuccess: sibling.is_success,
    })),
  };
}

/** Returns the table of model calls, without the columns that are empty for all calls. */
function tabulateCalls(record: RecordedEpisode, { turns }: EpisodeTree): EpisodeView['calls'] {
  const columns = callColumns({ record }).map(({ title, valueOf }) => ({ title, values: turns.map(valueOf) }));
  return columns.filter(({ values }) => values.some((value) => value !== ''));
}

const shownElsewhere = new Set(['episode', 'outcome']);
