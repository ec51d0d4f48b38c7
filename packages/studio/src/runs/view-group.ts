import { layOutEpisode, readTurnRecords, type Branch, type TurnDescription } from '@agentjet/context-tracker';
import type { OutcomeInWords, EpisodeRow, RecordedEpisode, SampleRecord } from '@agentjet/run-folder';
import type { GroupBranch, GroupEpisode, GroupView } from '../wire.js';
import { below } from './lay-out-tokens.js';
import type { TokenDecoder } from './token-texts.js';

export type GroupMember = {
  readonly row: EpisodeRow;
  readonly record: RecordedEpisode;
  readonly outcome: OutcomeInWords;
};

/**
 * Returns the episodes of a group, and one tree of all their tokens. A beginning that they share is in the tree once.
 */
export function viewGroup(members: readonly GroupMember[], texts: TokenDecoder): GroupView {
  const [first] = members;
  const rows = members.flatMap(({ record }, episode) => record.samples.map((sample) => ({ episode, sample })));
  const tree = layOutEpisode(
    rows.map(({ sample }) => sample),
    turnsOf(members),
  );
  return {
    group: first?.row.group_id ?? '',
    step: first?.row.step ?? 0,
    task: first?.row.task_id ?? '',
    phase: first?.row.phase ?? 'train',
    question: first?.outcome.question ?? '',
    expected: first?.outcome.expected ?? '',
    episodes: members.map(toGroupEpisode),
    branches: toBranches(tree.branches, rows, texts),
    rowTokens: tree.rowTokens,
    treeTokens: tree.treeTokens,
  };
}

/** Returns the calls of all episodes. Calls and rows are numbered across the episodes. */
function turnsOf(members: readonly GroupMember[]): readonly TurnDescription[] {
  const all: TurnDescription[] = [];
  let firstRow = 0;
  for (const { record } of members) {
    const turns = Array.isArray(record['turns']) ? readTurnRecords(record['turns']) : [];
    for (const turn of turns)
      all.push({ ...turn, index: all.length, sample: turn.sample === null ? null : turn.sample + firstRow });
    firstRow += record.samples.length;
  }
  return all;
}

function toGroupEpisode({ row, record, outcome }: GroupMember): GroupEpisode {
  return {
    id: row.episode_id,
    repeat: row.repeat_index,
    reward: row.reward,
    isSuccess: row.is_success,
    status: row.status,
    tokens: row.generated_tokens,
    trained: row.trained_tokens,
    advantage: meanAdvantage(record.samples, 0, Infinity),
    parts: row.parts ?? {},
    outcome,
  };
}

type Row = { readonly episode: number; readonly sample: SampleRecord };

/** The longest text of a branch that is shown. */
const maxShown = 600;

function toBranches(roots: readonly Branch[], rows: readonly Row[], texts: TokenDecoder): readonly GroupBranch[] {
  const laidOut: GroupBranch[] = [];
  const open: { branch: Branch; parent: number | null; depth: number }[] = [...roots]
    .reverse()
    .map((branch) => ({ branch, parent: null, depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { branch, parent, depth } = next;
    const number = laidOut.length;
    const through = branch.rows.flatMap((row) => rows[row] ?? []);
    laidOut.push({
      parent,
      depth,
      start: branch.start,
      end: branch.end,
      episodes: [...new Set(through.map(({ episode }) => episode))],
      text: shorten(texts.join(Array.from(branch.ids)), parent === null),
      author: mainAuthor(branch),
      advantage: meanAdvantage(
        through.map(({ sample }) => sample),
        branch.start,
        branch.end,
      ),
    });
    const children = below(branch, number, depth);
    open.push(...children.map((child) => ({ ...child, depth: children.length > 1 ? depth + 1 : depth })));
  }
  return laidOut;
}

function mainAuthor({ spans }: Branch): string {
  const tokens = new Map<string, number>();
  for (const { author, start, end } of spans) tokens.set(author, (tokens.get(author) ?? 0) + end - start);
  return [...tokens].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 'template';
}

/** Keeps what is next to a fork: the end of a shared beginning, and the beginning of a branch. */
function shorten(text: string, isRoot: boolean): string {
  if (text.length <= maxShown) return text;
  return isRoot ? `… ${text.slice(-maxShown)}` : `${text.slice(0, maxShown)} …`;
}

/** Returns the mean advantage of the trained tokens from `start` to `end`. Null if there are none. */
function meanAdvantage(samples: readonly SampleRecord[], start: number, end: number): number | null {
  let [sum, count] = [0, 0];
  for (const { advantages, loss_mask: mask } of samples)
    for (let at = start; at < Math.min(end, advantages.length); at++) {
      if (mask[at] !== 1) continue;
      sum += advantages[at] ?? 0;
      count++;
    }
  return count === 0 ? null : sum / count;
}
