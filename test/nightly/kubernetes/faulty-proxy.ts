import { createServer, request as ask, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';

/** A proxy between clients and the API server, whose calls fail as `faultOf` says. */

export type CallFault = 'refuse' | 'overloaded' | 'lost-before' | 'lost-after' | 'slow' | 'cut';

export async function startFaultyProxy(
  target: { readonly host: string; readonly port: number },
  tls: { readonly cert: Buffer; readonly key: Buffer },
  faultOf: (isExec: boolean) => CallFault | undefined,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const server: Server = createServer(tls, (request, response) => {
    const fault = faultOf(false);
    if (fault === 'lost-before') return void request.socket.destroy();
    if (fault === 'refuse' || fault === 'overloaded') {
      const code = fault === 'refuse' ? 500 : 429;
      const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'injected', code });
      return void response.writeHead(code, { 'content-type': 'application/json' }).end(body);
    }
    const { method, headers, url: path } = request;
    const onward = ask({ ...target, method, headers, path, rejectUnauthorized: false }, (answer) => {
      if (fault === 'lost-after' || fault === 'cut')
        return void answer.resume().on('end', () => request.socket.destroy());
      const send = (): void => void answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
      if (fault === 'slow') setTimeout(send, 1000);
      else send();
    });
    onward.on('error', () => request.socket.destroy());
    request.pipe(onward);
  });
  server.on('upgrade', (request, socket, head) => {
    const fault = faultOf(true);
    socket.on('error', () => undefined);
    if (fault === 'lost-before' || fault === 'overloaded') return void socket.destroy();
    if (fault === 'refuse') return void socket.end('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n');
    const onward = connect({ ...target, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, () => {
      const lines = request.rawHeaders.flatMap((name, index, all) =>
        index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
      );
      onward.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      socket.pipe(onward);
      onward.pipe(socket);
      if (fault === 'cut' || fault === 'lost-after') setTimeout(() => socket.destroy(), 30 + Math.random() * 500);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, close };
}
