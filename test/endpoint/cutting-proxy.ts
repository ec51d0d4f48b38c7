import { type AddressInfo, connect, createServer } from 'node:net';

export type CuttingProxy = {
  /** The endpoint's address, through the proxy. */
  readonly baseUrl: string;
  readonly numCut: () => number;
  close(): void;
};

/** Opens a network that loses the first answer. The server has sent it, but the client sees a broken connection. */
export async function openCuttingProxy(baseUrl: string): Promise<CuttingProxy> {
  const { port, hostname, pathname } = new URL(baseUrl);
  let numCut = 0;
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    if (numCut > 0) {
      upstream.pipe(client);
      return;
    }
    numCut++;
    upstream.once('data', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port: own } = proxy.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${own}${pathname}`, numCut: () => numCut, close: () => void proxy.close() };
}
