import { expect } from 'chai';

import { ManualClock } from '../../../pkg/clock/manual-clock.testing.js';
import { ApiLab, type LabResponse } from '../../api-lab.testing.js';

const CODES = '/api/v1/tokens/sign-in-codes';

describe('links that sign in once', () => {
  const clock = new ManualClock();
  let lab: ApiLab;
  beforeEach(async () => {
    lab = await new ApiLab({ clock }).start();
  });
  afterEach(() => lab.stop());

  const give = async (token: string) => (await lab.ask('POST', CODES, { token })).body['code'] as string;
  const exchange = (code: unknown) => lab.ask('POST', '/api/v1/tokens/sign-in', { body: { code } });
  const codeOf = ({ status, body }: LabResponse) => [status, body['code']];
  const REFUSED = [401, 'sign_in_code_invalid'];

  it('give a token with the rights of the one that asked, not longer than it, and twelve hours at most', async () => {
    const token = await lab.tenantToken(lab.a);
    const { status, body } = await exchange(await give(token));
    expect(status).to.equal(201);
    expect(body).to.include({ kind: 'tenant', role: 'admin', tenant: lab.a, description: 'signed in with a link' });
    expect(Date.parse(String(body['expiresAt'])) - clock.now()).to.be.within(1, 12 * 3_600_000);
    const self = await lab.ask('GET', '/api/v1/tokens/self', { token: String(body['token']) });
    expect(self.body).to.include({ id: body['id'], tenant: lab.a });

    const admin = await lab.token({ kind: 'admin' });
    expect((await exchange(await give(admin.text))).body).to.include({ kind: 'admin', createdBy: admin.stored.id });
  });

  it('are refused the second time, also when both come at once', async () => {
    const code = await give(await lab.tenantToken(lab.a));
    const answers = await Promise.all([exchange(code), exchange(code), exchange(code)]);
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).to.deep.equal([201, 401, 401]);
    expect(codeOf(await exchange(code))).to.deep.equal(REFUSED);
  });

  it('are refused ten minutes later, by another server, and when nobody has given them out', async () => {
    const token = await lab.tenantToken(lab.a);
    const late = await give(token);
    await clock.pass(10 * 60_000);
    expect(codeOf(await exchange(late))).to.deep.equal(REFUSED);
    const other = await new ApiLab({ clock, store: lab.store, keyring: lab.keyring }).start();
    const foreign = await other.ask('POST', '/api/v1/tokens/sign-in', { body: { code: await give(token) } });
    expect(codeOf(foreign)).to.deep.equal(REFUSED);
    await other.stop();
    for (const code of ['', 'x', token, '__proto__']) expect(codeOf(await exchange(code)), code).to.deep.equal(REFUSED);
    expect((await exchange(7)).body['field']).to.equal('code');
    expect((await exchange(token)).text, 'what was sent').to.not.include(token);
  });

  it('end with the token that asked for them', async () => {
    const issuer = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'admin' });
    const code = await give(issuer.text);
    const revoked = await lab.ask('DELETE', `/api/v1/tokens/${issuer.stored.id}`, {
      token: await lab.tenantToken(lab.a),
    });
    expect(revoked.status).to.equal(200);
    expect(codeOf(await exchange(code))).to.deep.equal(REFUSED);
  });

  it('end with the life of the token that asked for them', async () => {
    const brief = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'admin', lifeSeconds: 60 });
    const code = await give(brief.text);
    await clock.pass(60_000);
    expect(codeOf(await exchange(code))).to.deep.equal(REFUSED);
  });

  it('are few: the oldest of a token makes room, and those of others stay', async () => {
    const [a, b] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.b)];
    const others = await give(b);
    const codes: string[] = [];
    for (let count = 0; count < 6; count++) codes.push(await give(a));
    expect(codeOf(await exchange(codes[0]))).to.deep.equal(REFUSED);
    for (const code of [...codes.slice(1), others]) expect((await exchange(code)).status).to.equal(201);
  });

  it('are asked for by administrators only, since whoever has one has a token', async () => {
    const { text } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'deployer' });
    expect(codeOf(await lab.ask('POST', CODES, { token: text }))).to.deep.equal([403, 'auth_forbidden']);
    expect((await lab.ask('POST', CODES)).status).to.equal(401);
  });

  it('are not guessed: what is refused is counted for the address, what is right is not', async () => {
    await lab.stop();
    lab = await new ApiLab({ clock, settings: { openRatePerSecond: 1, openRateBurst: 3 } }).start();
    const code = await give(await lab.tenantToken(lab.a));
    const headers = { connection: 'close' };
    const guess = () => lab.ask('POST', '/api/v1/tokens/sign-in', { body: { code: 'x' }, headers });
    for (let count = 0; count < 3; count++) expect((await guess()).status).to.equal(401);
    expect((await guess()).status).to.equal(429);
    expect((await exchange(code)).status).to.equal(201);
  });
});
