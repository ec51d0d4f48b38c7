import { appendFile, truncate } from 'node:fs/promises';
import { readLineBeginnings, sizeOf } from '@agentjet/run-folder';

/** The maximum size of a line that is read. The server refuses requests of more than 8 MiB. */
const longestLine = 32 * 2 ** 20;

/** A file of JSON objects, one per line, that grows while a server runs. Only one process may write it. */
export class LineFile {
  readonly #file: string;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: string) {
    this.#file = file;
  }

  /** Reads the lines, one at a time. An incomplete last line, which a crash left, is removed, and `onNotice` is called. */
  static async open(
    file: string,
    { onLine, onNotice }: { readonly onLine?: (line: string) => void; readonly onNotice: (message: string) => void },
  ): Promise<LineFile> {
    await appendFile(file, '');
    let complete = 0;
    for await (const { end, beginning } of readLineBeginnings(file, longestLine)) {
      onLine?.(beginning);
      complete = end + 1;
    }
    const size = await sizeOf(file);
    if (size > complete) {
      await truncate(file, complete);
      onNotice(`${file} ended with an incomplete line. Its ${size - complete} bytes are removed.`);
    }
    return new LineFile(file);
  }

  /** Appends a line after all earlier ones. A line that cannot be written whole is removed, and the promise rejects. */
  append(value: object): Promise<void> {
    const written = this.#writing.then(() => this.#write(`${JSON.stringify(value)}\n`));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(line: string): Promise<void> {
    const size = await sizeOf(this.#file);
    try {
      await appendFile(this.#file, line);
    } catch (error) {
      await truncate(this.#file, size).catch(() => undefined);
      throw error;
    }
  }
}
