/** The part of a Node server that closing needs. A server of HTTP/2 cannot close its connections at once. */
type ClosableServer = { close(onClosed: () => void): unknown; closeAllConnections?: () => void };

/** Closes a server and its connections. Resolves when its port is free. */
export function closeServer(server: ClosableServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections?.();
  });
}
