/**
 * The sentences of sections 2 to 8 of the specification, each with the tests that would catch it. `docs/conformance.md`
 * is made of them, and `make verify` looks whether the tests exist.
 *
 * @module
 */
import { deploymentSentences } from './section-2-deployment.js';
import { placementSentences } from './section-2-placement.js';
import { secretSentences } from './section-2-secrets.js';
import { stateSentences } from './section-3.js';
import { endpointSentences } from './section-4.js';
import { codeSentences } from './section-7.js';
import { limitSentences } from './section-8.js';
import type { Sentence } from './sentence.js';

export const sentences: readonly Sentence[] = [
  ...deploymentSentences,
  ...secretSentences,
  ...placementSentences,
  ...stateSentences,
  ...endpointSentences,
  ...codeSentences,
  ...limitSentences,
];
