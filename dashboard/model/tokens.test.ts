import { expect } from 'chai';

import { describeHolder, listTokenActions, sortTokens, type TokenView } from './tokens.js';

const token = (id: string, more: Partial<TokenView> = {}): TokenView => ({
  id,
  kind: 'tenant',
  role: 'viewer',
  description: '',
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: 'x',
  expiresAt: '2031-01-01T00:00:00.000Z',
  ...more,
});

describe('tokens on their page', () => {
  it('say whom they speak for', () => {
    const held = [{}, { kind: 'admin' }, { kind: 'node', nodeName: 'm1' }, { kind: 'join', used: true }] as const;
    expect(held.map(more => describeHolder(token('a', more)))).to.deep.equal([
      'viewer',
      'the platform',
      'the agent of m1',
      'enrols one machine, used',
    ]);
  });

  it('are those of people first, the newest first', () => {
    const rows = [
      token('old'),
      token('machine', { kind: 'node', createdAt: '2030-03-01T00:00:00.000Z' }),
      token('new', { createdAt: '2030-02-01T00:00:00.000Z' }),
    ];
    expect(sortTokens(rows).map(({ id }) => id)).to.deep.equal(['new', 'old', 'machine']);
  });

  it('are revoked after a question, which warns of the own one; that of a node is not', () => {
    const [revoke] = listTokenActions(token('a', { description: 'for CI' }), { id: 'b' });
    expect(revoke).to.include({ method: 'DELETE', path: '/api/v1/tokens/a' });
    expect(revoke!.question)
      .to.match(/^Revoke a \(for CI\)\?/)
      .and.not.include('signed out');
    expect(listTokenActions(token('a'), { id: 'a' })[0]!.question).to.include('signed out');
    expect(listTokenActions(token('a', { kind: 'node' }), { id: 'b' })).to.deep.equal([]);
  });
});
