import { entries } from './entry.js';

/** Section 7.5. */
export const volumeRejections = entries({
  query_parameter_unknown: {
    section: '7.5',
    status: 400,
    expected: ({ known }: { known: readonly string[] }) =>
      known.length === 0 ? 'no query parameters' : `only these query parameters: ${known.join(', ')}`,
    sample: { known: ['limit', 'continue', 'watch', 'after'] },
    why: 'A parameter that is misspelt and ignored answers a question that nobody asked.',
    remedy: 'Correct or remove the parameter.',
    example: 'GET /api/v1/deployments?limt=10',
    mended: 'GET /api/v1/deployments?limit=10',
  },
});
