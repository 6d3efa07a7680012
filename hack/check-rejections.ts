/**
 * Asks of every code whether it is declared once, documented, answered and tested, and whether the specification's
 * codes are all there. Prints what is wrong and exits with 1, or one line of counts.
 */
import { readFileSync } from 'node:fs';

import { catalogue, catalogueGroups } from '../crds/rejections/index.js';
import { judgeRejections } from './checks/rejections.js';
import { listSourceFiles } from './checks/source-files.js';
import { specifiedCodes } from './checks/specified-codes.js';

const sources = listSourceFiles().map(path => ({ path, text: readFileSync(path, 'utf8') }));
const wrong = judgeRejections(catalogueGroups, sources);
for (const line of wrong) console.log(line);

const specified = Object.values(specifiedCodes).flat().length;
console.log(
  `${Object.keys(catalogue).length} codes declared, the ${specified} of the specification among them; ${wrong.length} wrong`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
