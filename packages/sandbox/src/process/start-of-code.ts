import { randomUUID } from 'node:crypto';

/**
 * Finds the start of the code's output on standard error. The sandbox first writes its own messages there, and then
 * `mark`. All that follows is output of the code.
 */
export class StartOfCode {
  readonly mark = `ready-${randomUUID()}`;
  isReady = false;
  before = '';

  read(text: string, onReady: () => void): string {
    if (this.isReady) return text;
    this.before += text;
    const at = this.before.indexOf(`${this.mark}\n`);
    if (at === -1) return '';
    this.isReady = true;
    onReady();
    return this.before.slice(at + this.mark.length + 1);
  }
}
