import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { BoxTalk } from '@agentjet/sandbox/boxes';
import { mostLineBytes } from './checked-transport.js';
import type { McpSdk } from './load-sdk.js';

/**
 * Carries messages over the standard input and output of a program that the SDK does not start itself. `onLost` is called
 * with the reason if the program ends before it is closed.
 */
export function talkTransport(
  { ReadBuffer, serializeMessage }: McpSdk,
  start: () => BoxTalk,
  onLost: (error: Error) => void,
): Transport {
  const lines = new ReadBuffer({ maxBufferSize: mostLineBytes });
  let talk: BoxTalk | undefined;
  let isClosed = false;
  const fail = (error: unknown): void => transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
  /** Returns false at the end. A line that is not a message is skipped. */
  const readOne = (): boolean => {
    try {
      const message = lines.readMessage();
      if (message !== null) transport.onmessage?.(message);
      return message !== null;
    } catch (error) {
      fail(error);
      return true;
    }
  };
  const read = (bytes: Buffer): void => {
    try {
      lines.append(bytes);
    } catch (error) {
      fail(error);
      return void talk?.close();
    }
    while (readOne());
  };
  const transport: Transport = {
    start: async () => {
      talk = start();
      talk.stdout.on('data', read);
      void talk.ended.then((why) => {
        if (!isClosed) onLost(new Error(`it ended: ${why}`));
        transport.onclose?.();
      });
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        const sent = (error: Error | null | undefined): void => (error ? reject(error) : resolve());
        if (talk === undefined) reject(new Error('The program has not started.'));
        else talk.stdin.write(serializeMessage(message), sent);
      }),
    close: async () => {
      isClosed = true;
      await talk?.close();
      lines.clear();
    },
  };
  return transport;
}
