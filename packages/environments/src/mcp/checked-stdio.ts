import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { requireShallow, tooLarge } from '../http/answer-check.js';

/** Of one message. The SDK copies what it has with every part that comes, so a line of 32 MB would take it seconds. */
export const mostLineBytes = 10 * 2 ** 20;

/**
 * The transport of the SDK, which takes lists in lists of any depth, and says of a line that is too long only that it has closed the
 * connection. `onRefused` is told of such an answer, since the session cannot go on; it comes no further.
 */
export function checkedStdio(inner: StdioClientTransport, onRefused: (error: unknown) => void): Transport {
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
