import { trainingEventSchema } from '@agentjet/swarm-wire';

/**
 * Returns all training events that an open server has sent, from the first one on. If the stream ends, it is opened
 * again.
 */
export class TrainingWatch {
  readonly said: string[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(url: string, key: string | undefined) {
    this.#watching = this.#watch(`${url}/swarm/v1/events`, { authorization: `Bearer ${key}` });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await fetch(url, { headers, signal })
        .then((response) => this.#read(response))
        .catch(() => undefined); // the server is being opened again, or the test is over
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body ?? []) {
      const parts = `${text}${decoder.decode(chunk as Uint8Array, { stream: true })}`.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) this.#note(part);
    }
  }

  #note(event: string): void {
    const data = /^event: training\ndata: (.*)$/.exec(event)?.[1];
    if (data === undefined) return;
    const { policy = '', state, problem = '' } = trainingEventSchema.parse(JSON.parse(data));
    this.said.push([policy, state, problem].filter((part) => part !== '').join(' '));
  }
}
