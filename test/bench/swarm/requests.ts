import { Agent, request } from 'node:http';

/**
 * Sends a fixed number of requests at a time over connections that stay open. The sender's own work is not measured.
 */
export class Requests {
  readonly #agent: Agent;

  constructor(concurrency: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  }

  post = (url: string, body: unknown, key = ''): Promise<Readonly<Record<string, unknown>>> =>
    this.send(url, typeof body === 'string' ? body : JSON.stringify(body), key);

  send(url: string, body: string, key = ''): Promise<Readonly<Record<string, unknown>>> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(key !== '' && { authorization: `Bearer ${key}` }),
      };
      const sent = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if ((response.statusCode ?? 0) < 300) resolve(JSON.parse(text) as Readonly<Record<string, unknown>>);
          else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 300)}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
