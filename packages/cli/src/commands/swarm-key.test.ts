import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { takeSwarmKey } from './swarm-key.js';

const file = path.join(mkdtempSync(path.join(tmpdir(), 'swarm-key-')), 'key');
const warn = (message: string): void => expect.unreachable(message);

afterEach(() => vi.unstubAllEnvs());

describe('the key of a swarm', () => {
  it('is taken out of the environment', () => {
    vi.stubEnv('AJET_SWARM_KEY', 'ajk_worker_1_2');
    expect(takeSwarmKey({}, () => undefined)).toBe('ajk_worker_1_2');
    expect(process.env['AJET_SWARM_KEY']).toBeUndefined();
    expect(() => takeSwarmKey({}, warn)).toThrow('There is no key');
    expect(takeSwarmKey({ keys: false }, warn)).toBeUndefined();
  });

  it('may come from a file', () => {
    writeFileSync(file, 'ajk_worker_3_4\n');
    expect(takeSwarmKey({ keyFile: file }, warn)).toBe('ajk_worker_3_4');
    writeFileSync(file, '\n');
    expect(() => takeSwarmKey({ keyFile: file }, warn)).toThrow('is empty');
    expect(() => takeSwarmKey({ keyFile: `${file}.no` }, warn)).toThrow('cannot be read');
  });

  it.runIf(process.platform === 'linux')(
    'cannot be read from the environment of the process by its child',
    async () => {
      const script = `
      import { execFileSync } from 'node:child_process';
      import { readFileSync } from 'node:fs';
      import { hideVariable } from ${JSON.stringify(path.join(import.meta.dirname, 'hide-variable.ts'))};
      const read = () => execFileSync('cat', [\`/proc/\${process.pid}/environ\`], { encoding: 'utf8' });
      const before = read();
      const isHidden = hideVariable('AJET_SWARM_KEY');
      console.log(JSON.stringify({ before: before.includes('ajk_secret'), isHidden, after: read().includes('ajk_secret'), path: process.env.PATH === read().split('\\0').find((line) => line.startsWith('PATH='))?.slice(5) }));
    `;
      const args = ['--import', 'tsx', '--input-type=module', '-e', script];
      const env = { ...process.env, AJET_SWARM_KEY: 'ajk_secret' };
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(JSON.parse(stdout)).toEqual({ before: true, isHidden: true, after: false, path: true });
    },
  );
});
