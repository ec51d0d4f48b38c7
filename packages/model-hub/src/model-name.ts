/** A repository on the hub: `org/name`, or `org/name@revision` with a branch, a tag or a commit. */
export type ModelName = {
  /** Set if the repository holds a data set. Default: a model. */
  readonly kind?: 'dataset';
  /** The name, such as `Qwen/Qwen2.5-0.5B-Instruct`. */
  readonly id: string;
  /** Default: `main`. */
  readonly revision: string;
};

const part = String.raw`\w(?:[\w.-]*\w)?`;
const namePattern = new RegExp(`^(${part}/${part})(?:@(\\w[\\w./-]*))?$`);

/** Undefined for text that is not a name, such as a path. Revisions that would leave the cache are not accepted. */
export function parseModelName(text: string): ModelName | undefined {
  const [, id, revision = 'main'] = namePattern.exec(text) ?? [];
  if (id === undefined || /--|\.\./.test(id) || revision.split('/').some((step) => /^\.*$/.test(step)))
    return undefined;
  return { id, revision };
}

/** Also accepts names without an organization, which old data sets have. */
export function parseDatasetName(text: string): ModelName | undefined {
  const name = parseModelName(text.includes('/') ? text : `datasets/${text}`);
  return name === undefined ? undefined : { ...name, kind: 'dataset', id: name.id.replace(/^datasets\//, '') };
}

/** Formats the name as a person writes it. */
export function showModelName({ id, revision }: ModelName): string {
  return revision === 'main' ? id : `${id}@${revision}`;
}

/** Returns the noun for messages. */
export function nounOf({ kind }: ModelName): string {
  return kind === 'dataset' ? 'data set' : 'model';
}
