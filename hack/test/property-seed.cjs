// Loaded into mocha: the cases of every property follow from MOORING_PROPERTY_SEED, so that the same files are judged by the same ones wherever they are tested.
const seed = Number(process.env.MOORING_PROPERTY_SEED);

exports.mochaHooks = {
  async beforeAll() {
    const fc = await import('fast-check');
    fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
  },
};
