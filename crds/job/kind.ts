import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { jobFields, jobSchema } from './admit.js';

/** Containers that run to their end. */
export const jobKind = defineKind({
  kind: 'Job',
  singular: 'job',
  plural: 'jobs',
  shortNames: [],
  description: 'A container that runs to its end, and is tried again when it fails.',
  scope: 'tenant',
  isSupported: false,
  quotas: { jobs: { default: 200, unit: 'count' } },
  fields: jobFields,
  body: jobSchema,
  kubernetes: { shortNames: ['mjob'] },
  events: [],
  path: '/api/v1/jobs',
  operations: ['create'],
  routes: {
    create: { codes: documentCodes.job },
  },
  nameField: 'name',
  columns: [],
});
