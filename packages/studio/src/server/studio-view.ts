import { parseRoute, formatRoute } from '../page-logic/route.js';

/** Keeps the address that a local tool asked the open pages to show. It changes no file. */
export class StudioView {
  #number = 0;
  #address = '';
  #watchers = 0;

  get number(): number {
    return this.#number;
  }
  get address(): string {
    return this.#address;
  }
  /** The number of open pages. */
  get watchers(): number {
    return this.#watchers;
  }

  /** Counts an open page until the returned function is called. */
  watch(): () => void {
    this.#watchers++;
    return () => void this.#watchers--;
  }

  show(address: string): void {
    this.#address = address;
    this.#number++;
  }
}

const maxQuote = 500;

/** Returns the address of `{ "address": "#/run/…", "quote": "…" }`, or undefined if it names no view of the page. */
export function parseViewRequest(value: Readonly<Record<string, unknown>>): string | undefined {
  const { address, quote = '' } = value;
  if (typeof address !== 'string' || typeof quote !== 'string' || quote.length > maxQuote) return undefined;
  const hash = address.slice(address.indexOf('#'));
  if (!hash.startsWith('#/')) return undefined;
  const route = parseRoute(hash);
  const isKnown = route.view !== 'runs' || /^#\/(\?.*)?$/.test(hash);
  return isKnown ? formatRoute({ ...route, query: { ...route.query, ...(quote !== '' && { quote }) } }) : undefined;
}
