import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerAnswer } from '@agentjet/swarm-wire';

/** Sends an operator's requests with the commander's key. They wait while the server is away. */
export class Operator {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = `${url}/swarm/v1`;
    this.#key = key;
  }

  async ask<Answer>(
    method: string,
    route: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    for (;;) {
      const response = await fetch(`${this.#url}${route}`, {
        method,
        headers: { authorization: `Bearer ${this.#key}`, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      if (response?.ok === true) return (await response.json()) as Answer;
      if (response !== undefined && response.status < 500)
        throw new Error(`${method} ${route} was answered ${response.status}: ${await response.text()}`);
      await sleep(100);
    }
  }

  server = (): Promise<ServerAnswer> => this.ask('GET', '/server');

  /** Waits until the condition holds. */
  async until(isSo: (server: ServerAnswer) => boolean): Promise<ServerAnswer> {
    for (;;) {
      const server = await this.server();
      if (isSo(server)) return server;
      await sleep(100);
    }
  }

  /** Returns the mean reward of the evaluation of a step, by share. */
  async evaluation(step: number): Promise<Readonly<Record<string, number>>> {
    const sums: Record<string, { sum: number; count: number }> = {};
    for (let after = ''; ; ) {
      const query = `state=evaluated&limit=1000${after === '' ? '' : `&after=${after}`}`;
      const { episodes, next } = await this.ask<Page>('GET', `/episodes?${query}`);
      for (const { group_id: groupId = '', reward } of episodes) {
        const [, share = '', evaluated] = /^v-(.+)-(\d+)\.\d+$/.exec(groupId) ?? [];
        if (Number(evaluated) !== step) continue;
        const row = (sums[share] ??= { sum: 0, count: 0 });
        row.sum += reward ?? 0;
        row.count++;
      }
      if (next === undefined) break;
      after = next;
    }
    return Object.fromEntries(Object.entries(sums).map(([share, { sum, count }]) => [share, sum / count]));
  }
}

type Page = {
  readonly episodes: readonly { readonly group_id?: string; readonly reward?: number | null }[];
  readonly next?: string;
};
