import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { expect, it } from 'vitest';
import { configuration } from './registrations.js';

const manual = readFileSync(path.join(import.meta.dirname, '../default.yaml'), 'utf8');

it('default.yaml is what the settings in the sources say', () => {
  expect(manual).toBe(configuration.writeManual());
});

it('default.yaml loads, and changes nothing', () => {
  const loaded = configuration.load(path.join(import.meta.dirname, '../default.yaml'));
  expect(configuration.compare(configuration.create(), loaded)).toEqual([]);
  expect(parseDocument(manual).errors).toEqual([]);
});
