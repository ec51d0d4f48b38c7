// The order of test files: first those that want a separate process. A worker that is shared ends when the next file wants a separate one, so
// the files that share are run in a row; and they are short, so no worker waits long for the other's last file.
import { BaseSequencer } from 'vitest/node';

export class FileOrder extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    return [true, false].flatMap((isolate) => sorted.filter(({ project }) => project.config.isolate === isolate));
  }
}
