import { readFileSync } from 'node:fs';
import type { JsonObject } from '@agentjet/core';
import { expect, it } from 'vitest';
import { createPythonTemplate } from './python-template.js';

type Golden = {
  readonly values: JsonObject;
  readonly cases: readonly { readonly source: string; readonly text: string; readonly v?: unknown }[];
};

const file = new URL('../golden/python-spelling.json', import.meta.url);
const { values, cases } = JSON.parse(readFileSync(file, 'utf8')) as Golden;

it.each(cases)('prints $source as Python does: $text', ({ source, text, ...own }) => {
  expect(createPythonTemplate(source).render('v' in own ? { v: own.v } : values)).toBe(text);
});

it('refuses what Python refuses', () => {
  expect(() => createPythonTemplate('{{ raise_exception("no system") }}').render({})).toThrow('no system');
  expect(() => createPythonTemplate('{% if %}')).toThrow();
});

it('ranges as Python does', () => {
  const text = '{{ range(3)|list }}{{ range(1, 4)|list }}{{ range(5, 0, -2)|list }}{{ range(0)|list }}';
  expect(createPythonTemplate(text).render({})).toBe('[0, 1, 2][1, 2, 3][5, 3, 1][]');
});
