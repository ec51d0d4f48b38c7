import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptEngine } from '../testing/scripted-engine.js';
import { openBox } from './box-host.js';
import { dialerCommand, dialFromBox } from './dial-from-box.js';
import { NoLanguage } from './forward-port.js';

const folder = mkdtempSync(path.join(tmpdir(), 'dial-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Answers with the same bytes. */
const echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
beforeAll(() => new Promise<void>((resolve) => void echo.listen(0, '127.0.0.1', resolve)));
afterAll(() => void echo.close());
const portOf = (): number => (echo.address() as AddressInfo).port;

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

describe.skipIf(process.platform === 'win32').each(['python3', 'node', 'perl'] as const)('a dialer in %s', (name) => {
  it.skipIf(!has(name))('carries one connection byte for byte, and ends with its input', async () => {
    const [program = '', ...args] = dialerCommand('127.0.0.1', portOf(), [name]);
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const sent = randomBytes(300_000);
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.stdin.write(sent);
    await expect.poll(() => Buffer.concat(parts).length).toBe(1 + sent.length);
    expect(Buffer.concat(parts).equals(Buffer.concat([Buffer.from('+'), sent]))).toBe(true);
    child.stdin.end();
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
  });
});

describe.skipIf(process.platform === 'win32')('a connection from a box', () => {
  const open = (script = scriptEngine(folder)) =>
    openBox(script.engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });

  it('is a stream', async () => {
    const stream = await dialFromBox(await open(), '127.0.0.1', portOf());
    stream.write('hello');
    expect(String((await stream.take(1).toArray())[0])).toBe('hello');
    stream.destroy();
  });

  it('says why it cannot be opened', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => void closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await expect(dialFromBox(await open(), '127.0.0.1', port)).rejects.toThrow(
      /cannot be reached from the box: .*refused/i,
    );
    const script = scriptEngine(folder);
    const box = await open(script);
    script.on('exec', 'echo agentjet-no-language >&2; exit 3');
    await expect(dialFromBox(box, '127.0.0.1', port)).rejects.toThrow(NoLanguage);
  });
});
