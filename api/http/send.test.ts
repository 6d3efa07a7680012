import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { expect } from 'chai';

import { replyJson, type StreamReply } from './reply.js';
import { sendReply } from './send.js';

describe('sending a reply', () => {
  it('drops a second reply to the same request', () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    let heard = '';
    const stream: StreamReply = {
      status: 200,
      type: 'text/plain',
      open: () => (heard += 'opened'),
      abandon: () => (heard += 'abandoned'),
    };
    sendReply(response, replyJson(400, {}), 'req_1', false);
    sendReply(response, replyJson(200, {}), 'req_2', false);
    sendReply(response, stream, 'req_3', false);

    expect([response.statusCode, response.getHeader('x-request-id'), heard]).to.deep.equal([
      400,
      undefined,
      'abandoned',
    ]);
  });
});
