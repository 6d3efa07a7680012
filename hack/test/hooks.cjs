// Loaded into each process that runs files of tests.
// The cases of every property follow from MOORING_PROPERTY_SEED, so that the same files are judged by the same ones wherever they are tested.
// What each file took is added to the file named by MOORING_TEST_COSTS: seconds, and processor seconds of the process and of those it has started and collected.
const { appendFileSync, readFileSync } = require('node:fs');

const TICKS_PER_SECOND = 100;

/** utime, stime, cutime and cstime: the program's name before them may hold blanks, and ends with the last bracket. */
function readCpuSeconds() {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

const read = () => ({
  seconds: performance.now() / 1000,
  cpuSeconds: process.platform === 'linux' ? readCpuSeconds() : 0,
});
let before = read();

exports.mochaHooks = {
  async beforeAll() {
    const fc = await import('fast-check');
    fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.MOORING_PROPERTY_SEED) });
  },
  afterAll() {
    const after = read();
    const cost = { seconds: after.seconds - before.seconds, cpuSeconds: after.cpuSeconds - before.cpuSeconds };
    before = after;
    const { file } = this.test.parent.suites[0];
    appendFileSync(process.env.MOORING_TEST_COSTS, `${JSON.stringify({ file, ...cost })}\n`);
  },
};
