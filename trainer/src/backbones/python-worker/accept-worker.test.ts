import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { openDoor } from './accept-worker.js';
import { encodeFrame, FrameReader, maxFrameBytes } from './frames.js';
import { schemaVersion } from './messages.js';

describe('the door for the worker', () => {
  test('hangs up on a stranger without the token and still takes the worker', async () => {
    const door = await openDoor('secret', '127.0.0.1');
    const port = Number(door.address.split(':')[1]);
    const stranger = connect(port, '127.0.0.1');
    stranger.on('error', () => undefined);
    stranger.write(encodeFrame({ kind: 'hello', schema: schemaVersion, token: 'guess' }));
    await new Promise((resolve) => stranger.once('close', resolve));
    const worker = connect(port, '127.0.0.1');
    worker.write(encodeFrame({ kind: 'hello', schema: schemaVersion, token: 'secret' }));
    const met = await door.connection;
    met.socket.destroy();
    worker.destroy();
    door.close();
  });

  test('reads frames however the bytes are cut, and refuses one that is too long', () => {
    const messages = [{ kind: 'a', ids: Int32Array.of(1, 2, 3) }, { kind: 'b' }];
    const bytes = Buffer.concat(messages.map(encodeFrame));
    for (const size of [1, 3, 7, bytes.length]) {
      const reader = new FrameReader();
      const read = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        reader.push(bytes.subarray(index * size, (index + 1) * size)),
      ).flat();
      expect(read).toMatchObject([{ kind: 'a' }, { kind: 'b' }]);
    }
    const head = Buffer.alloc(4);
    head.writeUInt32BE(maxFrameBytes + 1);
    expect(() => new FrameReader().push(head)).toThrow('over the limit');
  });
});
