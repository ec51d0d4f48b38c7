import type { Readable, Writable } from 'node:stream';
import { toErrorMessage } from '@agentjet/core';
import { toOneLine } from '@agentjet/core/text';
import type { ClientsAnswer, EpisodesAnswer, ServerAnswer, SwarmOperator } from '@agentjet/swarm-client';
import { renderTop, type TopView } from './top-screen.js';

type Input = Readable & { readonly isTTY?: boolean; readonly setRawMode?: (isRaw: boolean) => unknown };
type Output = Writable & { readonly columns?: number; readonly rows?: number };

export type TopTerminalOptions = {
  readonly input: Input;
  readonly output: Output;
  readonly address: string;
  readonly operator: Pick<SwarmOperator, 'clients' | 'episodes'>;
  /** Called if the user presses a key that ends the command. */
  readonly leave: () => void;
  readonly describeRates: (server: ServerAnswer) => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

const views: Readonly<Record<string, TopView>> = { c: 'clients', e: 'episodes', s: 'summary', '\u001b': 'summary' };

/** Draws `ajet swarm top` on a terminal, and reads its keys. Ages are drawn again each second. */
export class TopTerminal {
  readonly #options: TopTerminalOptions;
  readonly #timer: NodeJS.Timeout;
  #answer: { readonly server: ServerAnswer; readonly atMs: number; readonly rates: string } | undefined;
  #view: TopView = 'summary';
  #clients: ClientsAnswer | undefined;
  #episodes: EpisodesAnswer | undefined;
  #isReading = false;

  constructor(options: TopTerminalOptions) {
    this.#options = options;
    const { input, output } = options;
    if (input.isTTY === true) {
      input.setRawMode?.(true);
      input.on('data', this.#press);
      input.resume();
    }
    output.on('resize', this.#draw);
    this.#timer = setInterval(() => this.#refresh(), 1000);
  }

  show = (server: ServerAnswer): void => {
    const { now, describeRates } = this.#options;
    this.#answer = { server, atMs: now(), rates: describeRates(server) };
    this.#refresh();
  };

  away = (message: string): void => {
    this.#answer = undefined;
    this.#write([`The server cannot be reached: ${toOneLine(message)}`, 'Waiting for it. Press q to leave.']);
  };

  close = (): void => {
    const { input, output } = this.#options;
    clearInterval(this.#timer);
    output.off('resize', this.#draw);
    input.off('data', this.#press);
    if (input.isTTY !== true) return;
    input.setRawMode?.(false);
    input.pause();
  };

  readonly #press = (typed: Buffer | string): void => {
    const key = String(typed);
    if (key === 'q' || key === '\u0003') return this.#options.leave(); // raw mode sends Ctrl-C as a character
    const view = views[key.toLowerCase()];
    if (view === undefined) return;
    this.#view = view;
    this.#refresh();
  };

  #refresh(): void {
    this.#draw();
    if (this.#answer !== undefined && this.#view !== 'summary' && !this.#isReading) void this.#read(this.#view);
  }

  /** Reads the rows of the view. The next change or second reads them again. */
  async #read(view: TopView): Promise<void> {
    const { operator } = this.#options;
    this.#isReading = true;
    try {
      if (view === 'clients') this.#clients = await operator.clients();
      else this.#episodes = await operator.episodes({ state: 'running', limit: '200' });
    } catch (error) {
      this.#write([`The server does not answer: ${toOneLine(toErrorMessage(error))}`]);
      return;
    } finally {
      this.#isReading = false;
    }
    this.#draw();
  }

  readonly #draw = (): void => {
    if (this.#answer === undefined) return;
    const { output, address, now } = this.#options;
    const { server, atMs, rates } = this.#answer;
    const nowMs = now();
    const elapsedSeconds = Math.max(0, Math.floor((nowMs - atMs) / 1000));
    const shown = { view: this.#view, clients: this.#clients, episodes: this.#episodes };
    const size = { columns: output.columns ?? 80, rows: output.rows ?? 24 };
    this.#write(renderTop({ address, server, elapsedSeconds, nowMs, rates, ...shown }, size));
  };

  #write(lines: readonly string[]): void {
    this.#options.output.write(`\u001b[H\u001b[2J${lines.join('\r\n')}`);
  }
}
