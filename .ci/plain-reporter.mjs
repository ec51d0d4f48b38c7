// A vitest reporter for output that is not a terminal. It prints the tests of each failed file, and regular progress
// lines. The errors follow at the end, as in vitest's own reporters.
import { DefaultReporter } from 'vitest/node';

const progressEveryMs = 20_000;

export default class PlainReporter extends DefaultReporter {
  #numFiles = 0;
  #done = { files: 0, passed: 0, failed: 0 };
  #startedAt = 0;
  #lastProgressAt = 0;

  constructor(options = {}) {
    super({ ...options, summary: false, isTTY: false });
  }

  onTestRunStart(specifications) {
    super.onTestRunStart(specifications);
    this.#numFiles = specifications.length;
    this.#startedAt = this.#lastProgressAt = performance.now();
  }

  onTestModuleEnd(testModule) {
    if (testModule.state() === 'failed') super.onTestModuleEnd(testModule);
    this.#done.files += 1;
    this.#done.passed += [...testModule.children.allTests('passed')].length;
    this.#done.failed += [...testModule.children.allTests('failed')].length;
    this.#printProgress();
  }

  #printProgress() {
    const now = performance.now();
    const { files, passed, failed } = this.#done;
    if (now - this.#lastProgressAt < progressEveryMs && files < this.#numFiles) return;
    this.#lastProgressAt = now;
    const seconds = Math.round((now - this.#startedAt) / 1000);
    this.log(`${files} of ${this.#numFiles} files, ${passed} tests passed, ${failed} failed, ${seconds} s`);
  }
}
