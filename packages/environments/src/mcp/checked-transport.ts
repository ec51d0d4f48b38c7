import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { requireShallow, tooLarge } from '../http/answer-check.js';

/** The limit for one message. The SDK copies everything received so far with every part, so a line of 32 MB would take seconds. */
export const mostLineBytes = 10 * 2 ** 20;

/**
 * Checks messages of a program, because the SDK accepts lists of any depth and only closes the connection if a line is
 * too long. Such an answer is not passed on. `onRefused` is called instead, because the session cannot continue.
 */
export function checkedTransport(inner: Transport, onRefused: (error: unknown) => void): Transport {
  const checked: Transport = {
    start: () => {
      inner.onmessage = (message) => {
        try {
          requireShallow(message);
        } catch (error) {
          onRefused(error);
          return;
        }
        checked.onmessage?.(message);
      };
      inner.onclose = () => checked.onclose?.();
      inner.onerror = (error) => {
        if (error.message.startsWith('ReadBuffer exceeded')) onRefused(tooLarge(mostLineBytes));
        checked.onerror?.(error);
      };
      return inner.start();
    },
    send: (message) => inner.send(message),
    close: () => inner.close(),
  };
  return checked;
}
