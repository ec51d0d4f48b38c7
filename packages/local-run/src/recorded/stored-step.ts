import type { ManifestRecord } from '@agentjet/ledger';
import type { StepContent } from '@agentjet/run';
import type { Draw } from '@agentjet/run-folder';
import type { GroupReport, TrainingGroup } from '@agentjet/trainer';
import { toEpisodeLine } from '@agentjet/records';
import { cutOf } from '@agentjet/rollout';
import type { RunLedger } from './run-ledger.js';
import { openEnd } from './stored-episode.js';

/** The fields of an ordinary run's manifest, in addition to the trained groups. */
export type StoredStep = StepContent & {
  /** All groups of the batch, in order. The metrics also count groups that are not trained. */
  readonly groups: readonly StoredGroup[];
};

type StoredGroup = {
  /** The id in the step. */
  readonly groupId: string;
  /** The id in the ledger. Absent if no episode of the group is trained. */
  readonly trained?: string;
  readonly draw?: Draw;
  readonly alsoDrawn?: readonly Draw[];
  readonly report?: Omit<GroupReport, 'records'> & { readonly records: readonly StoredRecord[] };
};

type EpisodeLine = NonNullable<GroupReport['records']>[number];

/**
 * The line of an episode. It is computed from the end record. If the ledger has no end record, the line itself is kept
 * here.
 */
type StoredRecord = { readonly end: string; readonly hasSamples: boolean } | { readonly line: EpisodeLine };

/** Returns the manifest's entry for the groups of a batch. */
export function storeGroups(
  groups: readonly TrainingGroup[],
  { step, ledger, endOf }: StoringContext,
): readonly StoredGroup[] {
  const storeLine = (line: EpisodeLine): StoredRecord => {
    const end = endOf(line.episode_id);
    if (end === undefined) return { line };
    const hasSamples = Array.isArray(line['samples']) && line['samples'].length > 0;
    return { end, hasSamples };
  };
  return groups.map(({ groupId, episodes, draw, alsoDrawn, report }) => ({
    groupId,
    ...(episodes.length > 0 && { trained: ledger.groupIdOf(groupId, { purpose: 'train', step }) }),
    ...(draw !== undefined && { draw }),
    ...(alsoDrawn !== undefined && { alsoDrawn }),
    ...(report !== undefined && { report: { ...report, records: (report.records ?? []).map(storeLine) } }),
  }));
}

type StoringContext = {
  readonly step: number;
  readonly ledger: RunLedger;
  /** Returns the ledger's id of an episode, by its id in the step. */
  readonly endOf: (episodeId: string) => string | undefined;
};

/**
 * Returns the groups of a batch as they were when its manifest was written. Throws BackboneError `redo_impossible` if a
 * record is missing.
 */
export function openGroups(manifest: ManifestRecord, ledger: RunLedger): readonly TrainingGroup[] {
  const { groups } = manifest.content as StoredStep;
  const members = new Map(manifest.groups.map(({ groupId, episodes }) => [groupId, episodes]));
  return groups.map(({ trained, report, ...group }) => {
    const episodes = trained === undefined ? [] : (members.get(trained) ?? []);
    return {
      ...group,
      episodes: episodes.map(({ episodeId, place: _place, isSuccess: _said, ...rewards }) => {
        const episode = openEnd(ledger.read(episodeId));
        return { ...rewards, episodeId: episode.episodeId, samples: episode.samples, ...cutOf(episode) };
      }),
      ...(report !== undefined && {
        report: { ...report, records: report.records.map((record) => openLine(record, ledger)) },
      }),
    };
  });
}

function openLine(record: StoredRecord, ledger: RunLedger): EpisodeLine {
  if ('line' in record) return record.line;
  const line = toEpisodeLine(openEnd(ledger.read(record.end)));
  return record.hasSamples ? line : { ...line, samples: [] };
}
