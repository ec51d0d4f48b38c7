import { addDraws } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import type { GroupSource, SourceStart } from '../group-source.js';
import type { RecordedRun } from './recorded-run.js';

/** The groups of the steps that were decided before, as they were then; after them those of the source. */
export async function* pullRecorded(
  source: GroupSource,
  recorded: Pick<RecordedRun, 'redoneGroups'> | undefined,
  start: SourceStart,
): AsyncGenerator<TrainingGroup> {
  let { step, drawn } = start;
  for (const groups of recorded?.redoneGroups() ?? []) {
    step++;
    drawn = addDraws(drawn, groups.flatMap(drawsOf));
    yield* groups;
  }
  yield* source.pull({ ...start, step, drawn });
}

const drawsOf = ({ draw, alsoDrawn = [] }: TrainingGroup) => [...(draw === undefined ? [] : [draw]), ...alsoDrawn];
