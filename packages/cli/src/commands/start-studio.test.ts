import { mkdtempSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { checkStudioFlags, startStudio } from './start-studio.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'start-studio-'));
});

/** A command that starts and ends as `ajet studio` does, with a fake server. */
const program = (body: string): string => {
  const file = path.join(folder, `${body.length}.mjs`);
  writeFileSync(file, body);
  return file;
};

const serving = `
import { writeFileSync } from 'node:fs';
console.log(JSON.stringify({ url: 'http://0.0.0.0:7001/?token=t', port: 7001, host: '0.0.0.0', args: process.argv }));
process.once('disconnect', () => { writeFileSync(process.argv[3] + '/ended', process.argv.slice(2).join(' ')); process.exit(0); });
setInterval(() => {}, 1000);`;

it('prints the address and who can reach it, and ends the studio with the run', async () => {
  const lines: string[] = [];
  const flags = { studio: true, studioHost: '0.0.0.0', studioPort: '7001' };
  const end = startStudio(folder, flags, { writeLine: (line) => void lines.push(line), program: program(serving) });
  await vi.waitFor(() => expect(lines).toHaveLength(2), { timeout: 120_000 });
  expect(lines).toEqual([
    expect.stringMatching(/^Studio over the runs in .*start-studio-.*: http:\/\/0\.0\.0\.0:7001\/\?token=t$/),
    expect.stringContaining('other machines can read these runs'),
  ]);
  end();
  await vi.waitFor(
    async () =>
      expect(await readFile(path.join(folder, 'ended'), 'utf8')).toBe(
        `studio ${folder} --json --host 0.0.0.0 --port 7001`,
      ),
    { timeout: 120_000 },
  );
});

it('continues without a studio that cannot be opened, and prints the reason', async () => {
  const lines: string[] = [];
  const failing = program(`console.error('error: another process listens there'); process.exit(1);`);
  startStudio(folder, { studio: true }, { writeLine: (line) => void lines.push(line), program: failing });
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 120_000 });
  expect(lines[0]).toMatch(/could not be opened, and the run continues without it: error: another process listens/);
});

it('needs --studio for an address', () => {
  expect(() => checkStudioFlags({ studioPort: '7000' })).toThrow('--studio-port needs --studio');
  expect(() => checkStudioFlags({ studio: true, studioPort: '7000' })).not.toThrow();
});
