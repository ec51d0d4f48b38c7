/** A repository on the hub: `org/name`, or `org/name@revision` with a branch, a tag or a commit. */
export type ModelName = {
  /** What the repository holds: a model unless given. */
  readonly kind?: 'dataset';
  /** `Qwen/Qwen2.5-0.5B-Instruct`. */
  readonly id: string;
  /** `main` unless given. */
  readonly revision: string;
};

const part = String.raw`\w(?:[\w.-]*\w)?`;
const namePattern = new RegExp(`^(${part}/${part})(?:@(\\w[\\w./-]*))?$`);

/** Undefined for what is not a name, such as a path. Revisions that would leave the cache are none. */
export function parseModelName(text: string): ModelName | undefined {
  const [, id, revision = 'main'] = namePattern.exec(text) ?? [];
  if (id === undefined || /--|\.\./.test(id) || revision.split('/').some((step) => /^\.*$/.test(step)))
    return undefined;
  return { id, revision };
}

/** As `parseModelName`, and names without an organization, which old data sets have. */
export function parseDatasetName(text: string): ModelName | undefined {
  const name = parseModelName(text.includes('/') ? text : `datasets/${text}`);
  return name === undefined ? undefined : { ...name, kind: 'dataset', id: name.id.replace(/^datasets\//, '') };
}

/** As a person writes it. */
export function showModelName({ id, revision }: ModelName): string {
  return revision === 'main' ? id : `${id}@${revision}`;
}

/** For messages. */
export function nounOf({ kind }: ModelName): string {
  return kind === 'dataset' ? 'data set' : 'model';
}
