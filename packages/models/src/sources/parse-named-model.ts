import { namedModels, type NamedModel } from '@agentjet/model-hub';

/**
 * A named model as a user writes it, such as `smollm2-135m`. The name may include a source that must be used:
 * `smollm2-135m@wheel`.
 */
export type NamedRequest = { readonly model: NamedModel; readonly source: SourceName | undefined };

type SourceName = 'hub' | 'wheel';

/** Undefined if the string is not such a name. */
export function parseNamedModel(text: string): NamedRequest | undefined {
  const [, name, source] = /^([\w.-]+)(?:@(hub|wheel))?$/.exec(text) ?? [];
  const model = namedModels.find((each) => each.name === name);
  return model && { model, source: source === 'hub' || source === 'wheel' ? source : undefined };
}
