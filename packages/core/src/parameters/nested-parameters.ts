import { isJsonObject, type JsonObject } from '../json-object.js';
import type { Protocol } from './wish.js';

/**
 * Clients add fields to objects inside a request: formats and tools. The fields listed here are read, or have a row in the
 * table. Any other field is counted, because it has no effect.
 */
type Place = {
  /** Keys, with `[]` for each entry of a list. */
  readonly path: string;
  readonly known: readonly string[];
  /** Applies only to objects of these types. Absent: to all. */
  readonly types?: readonly (string | undefined)[];
};

const places: Readonly<Partial<Record<Protocol, readonly Place[]>>> = {
  chat: [
    { path: 'response_format', known: ['type', 'json_schema', 'schema'] },
    { path: 'response_format.json_schema', known: ['name', 'description', 'schema', 'strict'] },
    { path: 'tools[]', known: ['type', 'function', 'custom'] },
    { path: 'tools[].function', known: ['name', 'description', 'parameters', 'strict'] },
    { path: 'tools[].custom', known: ['name', 'description', 'format'] },
  ],
  responses: [
    { path: 'text', known: ['format', 'verbosity'] },
    { path: 'text.format', known: ['type', 'name', 'description', 'schema', 'strict'] },
    { path: 'tools[]', types: ['function'], known: ['type', 'name', 'description', 'parameters', 'strict'] },
    { path: 'tools[]', types: ['custom'], known: ['type', 'name', 'description', 'format'] },
  ],
  gemini: [
    {
      path: 'tools[]',
      known: [
        'functionDeclarations',
        'googleSearch',
        'googleSearchRetrieval',
        'codeExecution',
        'urlContext',
        'googleMaps',
        'fileSearch',
        'computerUse',
        'enterpriseWebSearch',
        'retrieval',
        'mcpServers',
        'parallelAiSearch',
      ],
    },
    {
      path: 'tools[].functionDeclarations[]',
      known: [
        'name',
        'description',
        'parameters',
        'parametersJsonSchema',
        'behavior',
        'response',
        'responseJsonSchema',
      ],
    },
  ],
  messages: [
    { path: 'output_config', known: ['format', 'effort'] },
    { path: 'output_config.format', known: ['type', 'schema'] },
    {
      path: 'tools[]',
      types: [undefined, 'custom'],
      known: ['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'],
    },
    { path: 'tool_choice', known: ['type', 'name', 'disable_parallel_tool_use'] },
  ],
};

/** Returns the fields of nested objects that nothing reads, by path, each once. */
export function findUnread(protocol: Protocol, given: unknown): readonly string[] {
  const found = (places[protocol] ?? []).flatMap(({ path, known, types }) =>
    objectsAt(given, path.split(/\.|(?=\[\])/))
      .filter(({ type }) => types === undefined || types.some((each) => each === (type ?? undefined)))
      .flatMap((object) =>
        Object.entries(object)
          .filter(([key, value]) => value !== null && !known.includes(key))
          .map(([key]) => `${path}.${key}`),
      ),
  );
  return [...new Set(found)];
}

function objectsAt(given: unknown, [key, ...rest]: readonly string[]): readonly JsonObject[] {
  if (key === undefined) return isJsonObject(given) ? [given] : [];
  if (key === '[]') return Array.isArray(given) ? given.flatMap((entry) => objectsAt(entry, rest)) : [];
  return isJsonObject(given) ? objectsAt(given[key], rest) : [];
}
