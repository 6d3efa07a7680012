import { expect } from 'chai';

import { listShownFields } from './shown-fields.js';

describe('the fields that a description shows', () => {
  it('hide what one of several forms marks, also where the field is named beside the forms', () => {
    const marked = { 'x-redact': true } as const;
    const schema = {
      properties: { code: {}, steps: { items: {}, anyOf: [{ items: marked }] } },
      anyOf: [{ properties: { code: marked } }],
    };
    const map = { additionalProperties: {}, anyOf: [{ properties: { pin: marked } }] };
    const texts = [
      ...listShownFields(schema, { code: 'SECRET', steps: ['SECRET'] }),
      ...listShownFields(map, { pin: 'SECRET', user: 'root' }),
    ];
    expect(texts.map(([path, text]) => [path, text.includes('SECRET')])).to.deep.equal([
      ['code', false],
      ['steps', false],
      ['pin', false],
      ['user', false],
    ]);
  });
});
