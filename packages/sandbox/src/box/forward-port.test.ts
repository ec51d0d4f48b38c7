import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { scriptEngine } from '../testing/scripted-engine.js';
import { openBox } from './box-host.js';
import { spawnClient } from './engine.js';
import { forwardPort, NoLanguage } from './forward-port.js';
import type { BoxLanguage } from './first-language.js';
import { forwarderCommand } from './forwarders.js';

const folder = mkdtempSync(path.join(tmpdir(), 'forward-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Answers with the body of the request, in pieces. */
const echo = createServer((request, response) => {
  request.on('data', (piece: Buffer) => response.write(piece));
  request.on('end', () => response.end());
});
const accept = (stream: unknown): void => void echo.emit('connection', stream);

/** Runs a forwarder on this machine in the place of a box. */
function forward(language: BoxLanguage) {
  const { engine } = scriptEngine(folder);
  const args = ['exec', '-i', 'box', ...forwarderCommand([language])];
  return forwardPort(spawnClient(engine, args, { hasInput: true }), accept);
}

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

describe.skipIf(process.platform === 'win32').each(['python3', 'node', 'perl'] as const)(
  'a forwarder in %s',
  (name) => {
    it.skipIf(!has(name))('carries many connections at once, byte for byte, until it is closed', async () => {
      const { port, check, close } = await forward(name);
      const bodies = Array.from({ length: 6 }, (_, index) => randomBytes(2 ** (index * 4)));
      const answers = bodies.map(async (body) => {
        const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
        return Buffer.from(await response.arrayBuffer());
      });
      for (const [index, answer] of (await Promise.all(answers)).entries())
        expect(answer.equals(bodies[index] ?? Buffer.alloc(0))).toBe(true);
      await check();
      close();
      await expect(check()).rejects.toThrow('The port was closed.');
      await expect.poll(() => fetch(`http://127.0.0.1:${port}/`).catch(() => 'closed')).toBe('closed');
    });
  },
);

describe.skipIf(process.platform === 'win32')('a port of a box', () => {
  it('breaks with the engine', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });
    on('exec', 'echo "container state improper" >&2; exit 125');
    await expect(box.forward(accept)).rejects.toThrow('A port of a box broke off: container state improper');
    on('exec', 'printf "\\000\\000\\000\\000\\000\\000\\000\\001\\067"; exit 137');
    const { port, broken } = await box.forward(accept);
    expect(port).toBe(7);
    await expect(broken).rejects.toThrow('broke off');
  });

  it('says whether it works, before anybody notices that it has broken', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });
    on('exec', `printf '\\000\\000\\000\\000\\000\\000\\000\\0017'; head -c 8 > /dev/null; exit 137`);
    await expect((await box.forward(accept)).check()).rejects.toThrow('A port of a box broke off');
  });

  it('opens no second connection for what arrives after a connection was destroyed', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });
    const frame = (id: number, byte: string): string => `printf '\\000\\000\\000\\00${id}\\000\\000\\000\\001${byte}'`;
    const untilDestroyed = 'head -c 8 > /dev/null';
    on('exec', [frame(0, '7'), frame(2, 'a'), untilDestroyed, frame(2, 'b'), frame(1, 'c'), 'exec cat'].join('\n'));
    let numOpen = 0;
    const port = await box.forward((stream) => {
      numOpen++;
      stream.destroy();
    });
    await expect.poll(() => numOpen).toBeGreaterThan(1);
    expect(numOpen).toBe(2);
    port.close();
  });

  it('reads no more than it can pass on', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });
    const piece = `printf '\\000\\000\\000\\001\\000\\000\\200\\000'; head -c 32768 /dev/zero`;
    on('exec', [`printf '\\000\\000\\000\\000\\000\\000\\000\\0017'`, `while ${piece}; do :; done`].join('\n'));
    const streams: Duplex[] = [];
    const port = await box.forward((opened) => void streams.push(opened));
    await expect.poll(() => streams[0]?.readableLength ?? 0).toBeGreaterThan(16 * 2 ** 20);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const [stream] = streams;
    expect(stream?.readableLength).toBeLessThan(17 * 2 ** 20);
    let read = 0;
    stream?.on('data', (bytes: Buffer) => (read += bytes.length));
    await expect.poll(() => read).toBeGreaterThan(18 * 2 ** 20);
    port.close();
  });

  it('breaks if a program in the box takes the place of the forwarder', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, { image: 'i', networks: ['none'], lifeSeconds: 60 });
    on('exec', `printf '\\000\\000\\000\\000\\000\\000\\000\\0017\\000\\000\\000\\001\\377\\377\\377\\377'; exec cat`);
    await expect((await box.forward(accept)).broken).rejects.toThrow('broke off');
  });

  it('needs a language in the image', async () => {
    const { engine } = scriptEngine(folder);
    const client = spawnClient(engine, ['exec', 'box', ...forwarderCommand([])], { hasInput: true });
    await expect(forwardPort(client, accept)).rejects.toBeInstanceOf(NoLanguage);
  });
});
