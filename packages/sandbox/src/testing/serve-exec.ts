import type { ChildProcess } from 'node:child_process';
import type { WebSocket } from 'ws';

/** Serves one command over version 4 of the protocol of `pods/exec`, as a kubelet does. */
export function serveExec(socket: WebSocket, child: ChildProcess): void {
  const send = (channel: number, bytes: Buffer): void => {
    if (socket.readyState === socket.OPEN) socket.send(Buffer.concat([Buffer.from([channel]), bytes]));
  };
  child.stdout?.on('data', (bytes: Buffer) => send(1, bytes));
  child.stderr?.on('data', (bytes: Buffer) => send(2, bytes));
  child.stdin?.on('error', () => undefined);
  socket.on('message', (data: Buffer) => {
    if (data[0] === 0 && data.length > 1) child.stdin?.write(data.subarray(1));
  });
  socket.on('close', () => child.stdin?.end());
  child.on('error', (error) => send(3, failure(error.message)));
  child.on('close', (code, signal) => {
    send(3, code === 0 ? success : code === null ? failure(`the command got ${signal}`) : exitCode(code));
    socket.close();
  });
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const success = json({ metadata: {}, status: 'Success' });
const failure = (message: string): Buffer =>
  json({ metadata: {}, status: 'Failure', reason: 'InternalError', message, code: 500 });
const exitCode = (code: number): Buffer =>
  json({
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  });
