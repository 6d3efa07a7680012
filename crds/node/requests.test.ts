import { generateKeyPairSync, sign } from 'node:crypto';

import { expect } from 'chai';

import { checkClaimRelease, checkEnrolment, checkHeartbeat, checkJoinTokenRequest, checkRenewal } from './index.js';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const proof = sign(null, Buffer.from('text'), privateKey).toString('base64');
const heartbeat = {
  labels: { disk: 'ssd', 'mooring.io/country': 'DE', 'mooring.io/geo-region': 'eu' },
  capacity: { cpu: 4000, memory: 8 * 2 ** 30, disk: 100 * 2 ** 30 },
  agentVersion: '0.1.0',
};
const enrolment = {
  ...heartbeat,
  nodeName: 'machine-1',
  publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  proof,
};
const renewal = { nodeId: `node_${'1'.repeat(26)}`, at: 1_700_000_000_000, proof };

type Outcome = {
  readonly ok: boolean;
  readonly rejections?: readonly { readonly code: string; readonly field: string }[];
};
const faults = (outcome: Outcome) => (outcome.rejections ?? []).map(({ code, field }) => `${code} ${field}`);
const labels = (given: Record<string, unknown>) => ({ labels: given });
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']));

describe('an enrolment', () => {
  const cases: ReadonlyArray<{ given: Record<string, unknown>; found: string[] }> = [
    { given: {}, found: [] },
    { given: { controlPlane: true }, found: [] },
    { given: { controlPlane: 'yes' }, found: ['field_invalid controlPlane'] },
    { given: { nodeName: 'Machine' }, found: ['field_invalid nodeName'] },
    { given: { nodeName: '../etc' }, found: ['field_invalid nodeName'] },
    { given: { nodeName: undefined }, found: ['field_invalid nodeName'] },
    { given: { publicKey: 'AAAA' }, found: ['field_invalid publicKey'] },
    { given: { proof: 'x' }, found: ['field_invalid proof'] },
    { given: { agentVersion: 'a b' }, found: ['field_invalid agentVersion'] },
    { given: { capacity: { cpu: -1, memory: 1, disk: 1 } }, found: ['field_invalid capacity.cpu'] },
    { given: { capacity: { cpu: 1, memory: 1 } }, found: ['field_invalid capacity.disk'] },
    { given: { tenant: 'x' }, found: ['field_unknown tenant'] },
    { given: labels({ 'mooring.io/tenant': 'x' }), found: ['node_label_reserved labels.mooring.io/tenant'] },
    { given: labels({ 'Mooring.io/country': 'DE' }), found: ['node_label_reserved labels.Mooring.io/country'] },
    { given: labels({ 'mooring.io/country': 'Germany' }), found: ['label_invalid labels.mooring.io/country'] },
    { given: labels({ 'a b': 'x' }), found: ['label_invalid labels.a b'] },
    { given: labels({ a: 'x'.repeat(2 ** 20) }), found: ['label_invalid labels.a'] },
    { given: labels(many(65)), found: ['field_invalid labels'] },
    { given: labels(many(10_000)), found: ['field_invalid labels'] },
  ];
  for (const { given, found } of cases) {
    it(`${JSON.stringify(given).slice(0, 60)} → ${found[0] ?? 'accepted'}`, () => {
      expect(faults(checkEnrolment({ ...enrolment, ...given }))).to.deep.equal(found);
    });
  }

  it('writes countries in capitals, announced', () => {
    const checked = checkEnrolment({ ...enrolment, labels: { 'mooring.io/country': 'de' } });
    expect(checked.ok && checked.value.labels).to.deep.equal({ 'mooring.io/country': 'DE' });
    expect(checked.ok && checked.alterations[0]).to.include({
      field: 'labels.mooring.io/country',
      from: 'de',
      to: 'DE',
    });
  });

  it('does not repeat the proof', () => {
    expect(JSON.stringify(checkEnrolment({ ...enrolment, proof: 'my-proof' }))).not.to.contain('my-proof');
  });
});

describe('a heartbeat', () => {
  it('passes as it is', () => {
    expect(checkHeartbeat(heartbeat)).to.deep.equal({ ok: true, value: heartbeat, alterations: [] });
  });

  it('loses labels that are not allowed, and is accepted', () => {
    const given = { ...heartbeat, labels: { disk: 'ssd', 'mooring.io/control-plane': 'true', 'a b': 'c' } };
    const checked = checkHeartbeat(given);
    expect(checked.ok && checked.value.labels).to.deep.equal({ disk: 'ssd' });
    expect(checked.ok && checked.alterations.map(({ field, to }) => [field, to])).to.deep.equal([
      ['labels.mooring.io/control-plane', null],
      ['labels.a b', null],
    ]);
  });

  it('is brought down to what a machine can have when it claims more', () => {
    const given = { ...heartbeat, capacity: { ...heartbeat.capacity, cpu: Number.MAX_SAFE_INTEGER } };
    const checked = checkHeartbeat(given);
    expect(checked.ok && checked.value.capacity.cpu).to.equal(1_024_000);
    expect(checked.ok && checked.alterations[0]?.field).to.equal('capacity.cpu');
  });

  it('names an address for volumes that can be dialled, or is refused', () => {
    const check = (volumeAddress: unknown) => faults(checkHeartbeat({ ...heartbeat, volumeAddress }));
    for (const sound of ['10.0.0.7:7071', '[fd00::7]:1', 'a:65535', 'machine-1.example:443']) {
      expect(check(sound), sound).to.deep.equal([]);
    }
    const bad = [
      '',
      '10.0.0.7',
      ':7071',
      'a:0',
      'a:65536',
      'a:07',
      'a b:1',
      '-a:1',
      'http://a:1',
      'a:1/x',
      'a:1\n',
      '[x]:1',
    ];
    for (const text of [...bad, `${'a'.repeat(300)}:1`, 5]) {
      expect(check(text), String(text)).to.deep.equal(['field_invalid volumeAddress']);
    }
  });

  it('says which removed volumes it still has', () => {
    const check = (volume: object) =>
      faults(checkHeartbeat({ ...heartbeat, removedVolumes: { volumes: [volume], more: 3 } }));
    const sound = { name: `vol_${'1'.repeat(26)}.12`, volume: 'data', bytes: 5, until: '2030-01-01T00:00:00.000Z' };
    expect(check(sound)).to.deep.equal([]);
    for (const bad of [{ name: '../etc' }, { volume: 'No Name' }, { bytes: -1 }, { until: 'x'.repeat(99) }])
      expect(check({ ...sound, ...bad })).to.have.length(1);
  });

  it('says what keeps its volumes, in a word of any release', () => {
    const check = (volumeDriver: unknown) => faults(checkHeartbeat({ ...heartbeat, volumeDriver }));
    expect(check('btrfs')).to.deep.equal([]);
    for (const bad of ['', 'NO NAME', 'x'.repeat(99), 5]) {
      expect(check(bad), String(bad)).to.deep.equal(['field_invalid volumeDriver']);
    }
  });

  it('says what the engine of the node cannot do, in words of any release', () => {
    const check = (lacks: unknown) => faults(checkHeartbeat({ ...heartbeat, lacks }));
    for (const sound of [[], ['volumes', 'host_ports'], ['a_word_of_later']]) expect(check(sound)).to.deep.equal([]);
    for (const bad of ['', 'Volumes', 'a b', '1', 'a'.repeat(65), 5]) {
      expect(check([bad]), String(bad)).to.deep.equal(['field_invalid lacks[0]']);
    }
  });

  it('is refused when a field has the wrong type', () => {
    expect(faults(checkHeartbeat({ ...heartbeat, capacity: 'much' }))).to.deep.equal(['field_invalid capacity']);
  });
});

describe('a renewal and a request for a join token', () => {
  const cases: ReadonlyArray<{ check: (document: unknown) => Outcome; given: unknown; found: string[] }> = [
    { check: checkRenewal, given: renewal, found: [] },
    { check: checkRenewal, given: { ...renewal, nodeId: 'machine-1' }, found: ['field_invalid nodeId'] },
    { check: checkRenewal, given: { ...renewal, at: '1' }, found: ['field_invalid at'] },
    { check: checkJoinTokenRequest, given: {}, found: [] },
    { check: checkJoinTokenRequest, given: { nodeName: 'machine-1' }, found: [] },
    { check: checkJoinTokenRequest, given: { nodeName: 'a/b' }, found: ['field_invalid nodeName'] },
    { check: checkJoinTokenRequest, given: { node: 'a' }, found: ['field_unknown node'] },
  ];
  for (const { check, given, found } of cases) {
    it(`${JSON.stringify(given).slice(0, 60)} → ${found[0] ?? 'accepted'}`, () => {
      expect(faults(check(given))).to.deep.equal(found);
    });
  }
});

describe('release of a claim', () => {
  for (const header of [undefined, '', 'shop', '0b5c3a52', '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10, x']) {
    it(`[5.3] is refused with the tenant ${JSON.stringify(header)}`, () => {
      const checked = checkClaimRelease(header);
      expect(checked.ok || checked.rejections.map(({ code, field, status }) => [code, field, status])).to.deep.equal([
        ['node_claim_release_no_tenant', 'X-Tenant-ID', 400],
      ]);
    });
  }

  it('names the tenant', () => {
    const checked = checkClaimRelease('0B5C3A52-8d0e-4a53-9d0c-4f3c6b6f2a10');
    expect(checked.ok && checked.value.tenant).to.equal('0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10');
  });
});
