import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { expect } from 'chai';

import { json, type StreamReply } from './reply.js';
import { send } from './send.js';

describe('an answer', () => {
  it('that comes after another to the same request is let go', () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    let heard = '';
    const stream: StreamReply = {
      status: 200,
      type: 'text/plain',
      open: () => (heard += 'opened'),
      abandon: () => (heard += 'abandoned'),
    };
    send(response, json(400, {}), 'req_1', false);
    send(response, json(200, {}), 'req_2', false);
    send(response, stream, 'req_3', false);

    expect([response.statusCode, response.getHeader('x-request-id'), heard]).to.deep.equal([
      400,
      undefined,
      'abandoned',
    ]);
  });
});
