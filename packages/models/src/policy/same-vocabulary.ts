import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject, type JsonObject, parseJsonObject } from '@agentjet/core';

type Model = { readonly name: string; readonly dir: string };

/**
 * Rejects with BackboneError `bad_model_files` if a folder has no vocabulary, and with `other_vocabulary` if a token id of the student has another meaning for the teacher. The
 * teacher may have more tokens.
 */
export async function requireSameVocabulary(student: Model, teacher: Model): Promise<void> {
  const [own, other] = await Promise.all([readVocabulary(student.dir), readVocabulary(teacher.dir)]);
  for (const [id, token] of own) {
    const found = other.get(id);
    if (found === token) continue;
    const meaning = found === undefined ? 'the teacher has no such token' : `${JSON.stringify(found)} for the teacher`;
    throw new BackboneError(
      'other_vocabulary',
      `The teacher ${teacher.name} has another vocabulary than ${student.name} (model.path): token ${id} is ${JSON.stringify(token)} for the student, and ${meaning}. A teacher scores the token ids of the student, so set teacher.model to a model of the same family.`,
    );
  }
}

/** Returns the token of each id. */
async function readVocabulary(dir: string): Promise<ReadonlyMap<number, string>> {
  const file = path.join(dir, 'tokenizer.json');
  const json = parseJsonObject(await readFile(file, 'utf8').catch(() => ''));
  if (json === undefined)
    throw new BackboneError(
      'bad_model_files',
      `${file} is missing or holds no JSON object, so the vocabularies of student and teacher cannot be compared. Copy or download the whole folder again.`,
    );
  const { model, added_tokens: added } = json;
  const vocabulary = tokensOf(isJsonObject(model) ? model : {});
  if (vocabulary.length === 0)
    throw new BackboneError(
      'bad_model_files',
      `${file} has no vocabulary, so it cannot be compared with another model.`,
    );
  const further = (Array.isArray(added) ? added : []).flatMap((token: unknown): [number, string][] =>
    isJsonObject(token) ? [[Number(token['id']), String(token['content'])]] : [],
  );
  return new Map([...vocabulary, ...further]);
}

/** A vocabulary maps tokens to ids, or (Unigram) lists tokens with their scores. */
function tokensOf({ vocab }: JsonObject): readonly (readonly [number, string])[] {
  if (Array.isArray(vocab))
    return vocab.map((entry: unknown, id) => [id, String(Array.isArray(entry) ? entry[0] : '')]);
  return isJsonObject(vocab) ? Object.entries(vocab).map(([token, id]) => [Number(id), token]) : [];
}
