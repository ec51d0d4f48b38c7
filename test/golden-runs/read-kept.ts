import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listCheckpoints, readEpisodes, readRows, type Row } from '../e2e/support/read-run.js';

/** Lists the keys of each file that have the same values in a repeated run, and the keys that do not. */
export const contract = JSON.parse(readFileSync(path.join(import.meta.dirname, 'repeats.json'), 'utf8')) as Readonly<
  Record<'repeats' | 'varies', Readonly<Record<KeptName, readonly string[]>>>
>;

export const keptNames = ['metrics', 'evaluations', 'episodes', 'checkpoints'] as const;
export type KeptName = (typeof keptNames)[number];
export type Kept = Readonly<Record<KeptName, readonly Row[]>>;

/**
 * Reads the files of a run, without values that vary between runs. Turns and samples of episodes are long, so only
 * their hashes are kept.
 */
export function readKept(run: string): Kept {
  return {
    metrics: readRows(path.join(run, 'metrics.jsonl')).map((row) => withoutVarying('metrics', row)),
    evaluations: readRows(path.join(run, 'evaluations.jsonl')).map((row) => withoutVarying('evaluations', row)),
    episodes: readEpisodes(run).map((row) => withSums(withoutVarying('episodes', row))),
    checkpoints: listCheckpoints(run).map((name) => readCheckpoint(path.join(run, 'checkpoints', name))),
  };
}

function withoutVarying(name: KeptName, row: Row, within = ''): Row {
  const kept = Object.entries(row).filter(([key]) => !contract.varies[name].includes(within + key));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const strip = (inner: unknown): unknown =>
        isRow(inner) ? withoutVarying(name, inner, `${within}${key}.`) : inner;
      return [key, Array.isArray(value) ? value.map(strip) : strip(value)];
    }),
  );
}

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys that turns and samples have at the commit of the golden files. Later versions may add others. */
const turnKeys =
  'turn_id index agent_name target_tag prompt_tokens reused_tokens generated_tokens policy_version is_truncated fork sample splices foreign_messages parts';
const listKeys = {
  turns: turnKeys.split(' '),
  samples: ['agent_name', 'target_tag', 'ids', 'loss_mask', 'logprobs', 'advantages', 'policy_versions'],
} as const;

function withSums(row: Row): Row {
  const { turns, samples } = row as Readonly<Record<'turns' | 'samples', readonly Row[]>>;
  return {
    ...row,
    turns: turns.map((turn) => sumOf(pick(turn, listKeys.turns))),
    samples: samples.map((sample) => sumOf(pick(sample, listKeys.samples))),
  };
}

const pick = (row: Row, keys: readonly string[]): Row => Object.fromEntries(keys.map((key) => [key, row[key]]));

const sumOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);

type CheckpointState = Row & { readonly files: Readonly<Record<string, { readonly sha256: string }>> };

function readCheckpoint(dir: string): Row {
  const { files, ...state } = JSON.parse(readFileSync(path.join(dir, 'state.json'), 'utf8')) as CheckpointState;
  const weights = files['tiny-backbone.json'] ?? files['model.safetensors'];
  return { ...pick(state, ['step', 'policyVersion', 'groupsDrawn', 'draws']), weights: weights?.sha256 };
}
