import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadChatTokenizer, type Tokenizer } from '@agentjet/tokenizer';
import { overwriteTensor, readModelFolder, readTensorInto, type TensorEntry } from '@agentjet/trainer/model-files';

/**
 * `npx tsx tutorial/typed-tools/name-tags.ts <model folder> <new folder>` copies a model, and gives the tags of tool calls
 * rows in the embedding. Qwen2.5-Coder-0.5B was never trained on them: all its unused tokens have one row, and so do
 * both tags. Their new rows are the mean of the rows of their text, such as `</`, `tool`, `_call` and `>`.
 */

const tags = ['<tool_call>', '</tool_call>'];
/** This character occurs in no tag. The tokenizer takes it out again, and reads the tag around it as plain text. */
const mark = '\u0001';

const embedding = 'model.embed_tokens.weight';
const head = 'lm_head.weight';

/** Returns the ids of a special token's text, read as plain text. */
export function piecesOf(tag: string, tokenizer: Pick<Tokenizer, 'encode' | 'encodeMarked'>): readonly number[] {
  const encoded = tokenizer.encodeMarked?.(`${tag.slice(0, 1)}${mark}${tag.slice(1)}`, mark);
  if (encoded === undefined) throw new Error('This tokenizer cannot read a special token as plain text.');
  return [...encoded];
}

const rowOf = (entry: TensorEntry, id: number): TensorEntry => {
  const [rows = 0, width = 0] = entry.shape;
  const numBytes = entry.numBytes / rows;
  return { ...entry, shape: [width], start: entry.start + id * numBytes, numBytes };
};

async function readRow(entry: TensorEntry, id: number): Promise<Float32Array> {
  const row = new Float32Array(entry.shape[1] ?? 0);
  await readTensorInto(rowOf(entry, id), row);
  return row;
}

/** Returns the mean of rows. */
export function meanOf(rows: readonly Float32Array[]): Float32Array {
  const mean = new Float32Array(rows[0]?.length ?? 0);
  return mean.map((_zero, at) => rows.reduce((sum, row) => sum + (row[at] ?? 0), 0) / rows.length);
}

/** Gives each tag the mean row of its pieces, in the embedding and in the head. */
export async function nameTags(dir: string): Promise<void> {
  const { tokenizer } = await loadChatTokenizer(dir);
  const { tensors } = await readModelFolder(dir);
  for (const entry of [tensors.get(embedding), tensors.get(head)]) {
    if (entry === undefined) continue;
    for (const tag of tags) {
      const id = tokenizer.idOf(tag);
      if (id === undefined) throw new Error(`${dir} has no token ${tag}.`);
      const rows = await Promise.all(piecesOf(tag, tokenizer).map((piece) => readRow(entry, piece)));
      await overwriteTensor(rowOf(entry, id), meanOf(rows));
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  const [from = '', to = ''] = process.argv.slice(2);
  cpSync(from, to, { recursive: true, dereference: true, force: false, errorOnExist: true });
  await nameTags(to);
  const source = path.join(to, 'model_source.json');
  writeFileSync(
    source,
    `${JSON.stringify({ ...JSON.parse(readFileSync(source, 'utf8')), named_tags: tags }, null, 2)}\n`,
  );
  console.log(to);
}
