import { expect } from 'chai';
import sinon from 'sinon';

import { ApiConnection } from './connection.js';

describe('a connection of the dashboard', () => {
  afterEach(() => sinon.restore());

  it('sends nothing to another path than the one that is given', async () => {
    const fetch = sinon.stub(globalThis, 'fetch').callsFake(async () => new Response('{}'));
    const connection = new ApiConnection('a token');
    const message = await connection
      .send('DELETE', `/api/v1/nodes/${encodeURIComponent('..')}`)
      .catch((thrown: Error) => thrown.message);
    expect(message).to.equal('".." is the name of no object: name the object itself (endpoint_not_found)');
    expect(fetch.args).to.deep.equal([]);
    await connection.send('DELETE', '/api/v1/nodes/one');
    expect(fetch.args.map(([path]) => path)).to.deep.equal(['/api/v1/nodes/one']);
  });
});
