import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { composeConfig } from './compose-config.js';
import { allKinds, kinds } from './registration.js';

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
});
