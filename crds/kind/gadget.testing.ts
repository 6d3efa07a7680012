import { Type } from 'typebox';

import { type Field, toFieldSchema } from '../rule/index.js';
import { defineColumns, defineKind } from './index.js';

const fields = {
  name: { schema: Type.String(), required: true, rules: [] },
  size: { schema: Type.Integer(), rules: [], default: 3, partOf: 'template' },
  colour: { schema: Type.String(), rules: [] },
} as const satisfies Readonly<Record<string, Field<object, object>>>;

/** A made-up kind that has a descriptor and nothing else: tests show with it what follows from a descriptor alone. */
export const gadgetKind = defineKind({
  kind: 'Gadget',
  singular: 'gadget',
  plural: 'gadgets',
  shortNames: ['gdg'],
  description: 'A made-up kind.',
  scope: 'tenant',
  range: 'gadgets/',
  keyParts: ['tenant', 'name'],
  quotas: { gadgets: { default: 5, unit: 'count', countsRecords: true } },
  fields,
  body: toFieldSchema(fields),
  kubernetes: { shortNames: ['mgdg'], printed: [] },
  events: ['gadget.broken'],
  path: '/api/v1/gadgets',
  operations: ['list', 'watch', 'get', 'create'],
  routes: {
    create: { codes: ['field_invalid', 'quota_reached'] },
    'POST /{name}/polish': { summary: 'Polishes a gadget', answer: { status: 200, component: 'Object' } },
  },
  nameField: 'name',
  columns: defineColumns<{ readonly name: string; readonly size: number }>([
    { title: 'NAME', value: ({ name }) => name },
    { title: 'SIZE', isWide: true, value: ({ size }) => String(size) },
  ]),
});
