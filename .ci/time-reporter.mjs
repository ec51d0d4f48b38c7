// Writes the seconds of each test file, imports included, to the file that AJET_TEST_TIMES names.
import { writeFileSync } from 'node:fs';

export default class TimeReporter {
  onTestRunEnd(testModules) {
    const seconds = testModules.map((testModule) => {
      const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } =
        testModule.diagnostic();
      const sum = prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration;
      return [testModule.relativeModuleId, sum / 1000];
    });
    writeFileSync(process.env.AJET_TEST_TIMES, JSON.stringify(Object.fromEntries(seconds)));
  }
}
