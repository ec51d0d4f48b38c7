import { defaultConfigFile, toSnakeCase } from '@agentjet/core';
import { readFileSync } from 'node:fs';
import { parseDocument, visit, isScalar, type Pair } from 'yaml';
import { expect, it } from 'vitest';
import { toCamelCase } from './key-names.js';
import { knownKeys } from './schema.js';

it('default.yaml is the manual: it gives every key of the schema, and no other, a value', () => {
  const keys: string[] = [];
  const nameOf = (pair: Pair): string => (isScalar(pair.key) ? String(pair.key.value) : '');
  visit(parseDocument(readFileSync(defaultConfigFile, 'utf8')), {
    Pair: (_, pair, ancestors) => {
      const path = [...ancestors.filter((node): node is Pair => 'key' in node), pair].map(nameOf);
      if (path.length > 1) keys.push(path.slice(1).join('.'));
    },
  });
  expect(keys.sort()).toEqual([...knownKeys].sort());
});

it('every key survives the way to camelCase and back', () => {
  expect(knownKeys.map((key) => toSnakeCase(toCamelCase(key)))).toEqual([...knownKeys]);
});
