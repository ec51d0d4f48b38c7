// Sorts test files: the files that run whole programs come first. The other files are short, so no worker waits long at
// the end while another one finishes its last file.
import path from 'node:path';
import { BaseSequencer } from 'vitest/node';
import { root } from './workspaces.mjs';

const isWhole = ({ moduleId }) => /^(test|tutorial)\//.test(path.relative(root, moduleId));

export class FileOrder extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    return [...sorted.filter(isWhole), ...sorted.filter((file) => !isWhole(file))];
  }
}
