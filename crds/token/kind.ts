import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { signInRequestSchema, tokenRequestSchema } from '../tenant/index.js';
import { tokenColumns } from './columns.js';

/** What speaks for a tenant, a node or the platform. */
export const tokenKind = defineKind({
  kind: 'Token',
  singular: 'token',
  plural: 'tokens',
  shortNames: [],
  description: 'A bearer token; its secret is shown once, and only a digest of it is stored.',
  scope: 'tenant',
  range: 'tokens/',
  keyParts: ['id'],
  requests: { TokenRequest: tokenRequestSchema, SignInRequest: signInRequestSchema },
  events: [],
  path: '/api/v1/tokens',
  item: '{id}',
  operations: ['list', 'watch', 'create', 'delete'],
  deletedBy: 'admin',
  routes: {
    list: { summary: 'Lists tokens, without their secrets' },
    create: { summary: 'Mints a token; its text is answered once and not stored', codes: documentCodes.request },
    'GET /self': {
      summary: 'Shows the token that asks, without its secret: whom it speaks for, and with which role',
      answer: { status: 200, component: 'Object' },
    },
    'POST /sign-in-codes': {
      summary: 'Gives a code that signs a browser in once, within ten minutes, with the rights of the token that asks',
      answer: { status: 201, component: 'Object' },
    },
    'POST /sign-in': {
      summary: 'Exchanges such a code for a token that lasts twelve hours at most',
      body: 'SignInRequest',
      answer: { status: 201, component: 'Object' },
      codes: [...documentCodes.request, 'sign_in_code_invalid', 'outcome_unknown'],
    },
    delete: { summary: 'Revokes a token at once', codes: ['resource_not_found', 'outcome_unknown'] },
  },
  notFound: 'resource_not_found',
  nameField: 'id',
  columns: tokenColumns,
});
