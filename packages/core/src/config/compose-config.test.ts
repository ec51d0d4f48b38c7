import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { composeConfig } from './compose-config.js';
import { allKinds, kinds } from './registration.js';
import { setting } from './setting.js';

const folder = mkdtempSync(path.join(tmpdir(), 'ajet-compose-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a composition', () => {
  it.each(allKinds)('may list %s alone', (kind) => {
    const twice = [{ name: 'one' }, { name: 'one' }];
    expect(() => composeConfig({ [kind]: [{ name: 'one' }] }).create()).not.toThrow();
    expect(() => composeConfig({ [kind]: twice })).toThrow(`the name "one" as ${kinds[kind].noun}`);
  });

  it('refuses the name of a kind that it does not list', () => {
    const { create } = composeConfig({ backbones: [{ name: 'one' }] });
    expect(() => create({ environment: { protocol: 'two' as 'none' } })).toThrow(
      '"environment.protocol" in the options given in code is "two", but must be one of none.',
    );
  });

  it('does not take a file for a preset because of its name', () => {
    const file = path.join(folder, 'the preset "mine".yaml');
    writeFileSync(file, 'ajet:\n  trainer_common:\n    max_staleness: 4\n');
    const backbones = [{ name: 'one', allows: { 'trainer_common.max_staleness': [0] } }];
    const { load } = composeConfig({ backbones });
    expect(() => load(file, [], { cwd: folder })).toThrow(
      '"trainer_common.max_staleness" in the preset "mine".yaml:3 is 4, which the backbone one does not have. Remove it.',
    );
  });

  it('finds every string that may reach out of the configuration, in new settings by default', () => {
    const section = z.strictObject({
      tool: setting(z.string().nullable(), null),
      mode: setting(z.enum(['fast', 'exact']), 'fast'),
      label: setting(z.string(), 'x', undefined, { isPlain: true }),
    });
    const { create, findReaching } = composeConfig({ backbones: [{ name: 'one', section }] });
    const keysIn = (input: object): readonly string[] =>
      findReaching(create(input as never), create()).map(({ key }) => key);
    expect(
      keysIn({ one: { mode: 'exact', label: 'a b' }, data: { trainBatchSize: 3 }, model: { path: 'a/b' } }),
    ).toEqual([]);
    expect(keysIn({ one: { tool: 'sh', label: './x' }, experimentDir: 'y', model: { path: './a' } })).toEqual([
      'experiment_dir',
      'model.path',
      'one.tool',
      'one.label',
    ]);
  });
});
