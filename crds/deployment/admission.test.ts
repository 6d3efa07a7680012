import { expect } from 'chai';

import { hashSpec } from '../meta/index.js';
import { listFaults, exampleFacts, full, least, limits, stored } from './admit.testing.js';
import { admitCreate, admitUpdate, toSpec } from './admit.js';

function accepted(admission: ReturnType<typeof admitCreate>) {
  if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
  return admission;
}

describe('a create with several faults', () => {
  it('is refused with all of them, in the order of the specification, one for each field', () => {
    const document = {
      bogus: 1,
      labels: { 'a b': 'x' },
      resources: { cpu: 'x', memory: 'y' },
      environment: { API_TOKEN: 'x', PORT: 1 },
      healthCheck: { timeout: '1s', retries: 1, type: 'http' },
      nodeId: 'nowhere',
      ports: [{ containerPort: 0 }],
      replicas: -1,
      image: 'nginx',
      name: 'Web',
      kind: 'Job',
    };
    expect(listFaults(admitCreate(document, exampleFacts, limits))).to.deep.equal([
      ['manifest_wrong_kind', 'kind'],
      ['deployment_name_invalid', 'name'],
      ['image_required', 'image'],
      ['replicas_negative', 'replicas'],
      ['port_invalid', 'ports[0].containerPort'],
      ['node_not_a_placement_candidate', 'nodeId'],
      ['healthcheck_type_unsupported', 'healthCheck.type'],
      ['healthcheck_retries_below_floor', 'healthCheck.retries'],
      ['healthcheck_timeout_below_floor', 'healthCheck.timeout'],
      ['field_invalid', 'environment.PORT'],
      ['plaintext_credential_in_environment', 'environment.API_TOKEN'],
      ['resources_quantity_invalid', 'resources.cpu'],
      ['resources_quantity_invalid', 'resources.memory'],
      ['label_invalid', 'labels.a b'],
      ['field_unknown', 'bogus'],
    ]);
  });

  it('is refused without quoting what may be a credential', () => {
    const canary = 'hunter2-canary';
    const document = {
      ...least,
      environment: { DB_PASSWORD: canary, NESTED: { a: canary }, LIST: [canary] },
      secrets: [{ values: { password: canary } }],
      password: canary,
    };
    const text = JSON.stringify(admitCreate(document, exampleFacts, limits));
    expect(text).not.to.contain(canary);
    expect(text).to.contain('[redacted, string of 14 bytes]');
    expect(JSON.stringify(admitCreate({ ...least, environment: [canary] }, exampleFacts, limits))).not.to.contain(
      canary,
    );
  });

  const fixes: ReadonlyArray<{ given: object; fix: object }> = [
    { given: { health_check: {} }, fix: { op: 'move', from: '/health_check', path: '/healthCheck' } },
    {
      given: { healthCheck: { type: 'exec', command: 'pg_isready -q' } },
      fix: { op: 'replace', path: '/healthCheck/command', value: ['pg_isready -q'] },
    },
    { given: { resources: { cpu: 1 } }, fix: { op: 'replace', path: '/resources/cpu', value: '1' } },
  ];
  for (const { given, fix } of fixes) {
    it(`offers a fix for ${JSON.stringify(given)}`, () => {
      const admission = admitCreate({ ...least, ...given }, exampleFacts, limits);
      expect(admission.ok ? [] : admission.rejections[0].fix).to.deep.equal([fix]);
    });
  }
});

describe('a named node', () => {
  const named = { ...least, nodeId: 'machine-2' };

  it('is stored by its id, and the alteration is announced', () => {
    const { spec, alterations } = accepted(admitCreate(named, exampleFacts, limits));
    expect(spec.nodeId).to.equal(`node_${'2'.repeat(26)}`);
    expect(alterations).to.deep.include({
      field: 'nodeId',
      from: 'machine-2',
      to: spec.nodeId,
      why: 'the id of the node of that name',
    });
  });

  const cases = [
    { nodes: 'unreadable' as const, status: 503 },
    { nodes: [], status: 422 },
  ];
  for (const { nodes, status } of cases) {
    it(`answers ${status} when the nodes are ${JSON.stringify(nodes)}`, () => {
      const admission = admitCreate(named, { ...exampleFacts, nodes }, limits);
      expect(listFaults(admission)).to.deep.equal([['node_candidates_unresolvable', 'nodeId']]);
      expect(admission.ok || admission.rejections[0].status).to.equal(status);
    });

    it(`[2.2.17 7.4.2] lets a deployment without one pass when they are ${JSON.stringify(nodes)}`, () => {
      expect(admitCreate(least, { ...exampleFacts, nodes }, limits).ok).to.equal(true);
    });
  }
});

describe('alterations of a create', () => {
  it('name every default', () => {
    const document = { ...least, ports: [{ containerPort: 80 }], healthCheck: { command: ['x'] } };
    const { spec, alterations } = accepted(admitCreate(document, exampleFacts, limits));
    expect(spec).to.deep.include({ replicas: 1, secretsVersion: 0 });
    expect(alterations.map(({ field, from, to }) => [field, from, to])).to.deep.equal([
      ['replicas', null, 1],
      ['ports[0].protocol', null, 'tcp'],
      ['healthCheck.type', null, 'exec'],
      ['secretsVersion', null, 0],
    ]);
  });

  it('is nothing when nothing was changed', () => {
    const { metadata: _, ...sent } = stored;
    const document = { ...sent, metadata: { ...stored.metadata, specHash: hashSpec(sent) } };
    const { spec, alterations } = accepted(admitCreate(document, exampleFacts, limits));
    expect(spec).to.deep.equal(sent);
    expect(alterations.map(({ field }) => field)).to.deep.equal(['metadata']);
  });

  it('is a secretsVersion that a client cannot choose', () => {
    const { spec, alterations } = accepted(
      admitCreate({ ...least, secretsVersion: 7, replicas: 1 }, exampleFacts, limits),
    );
    expect(spec.secretsVersion).to.equal(0);
    expect(alterations).to.have.length(1);
    expect(alterations[0]).to.include({ field: 'secretsVersion', from: 7, to: 0 });
  });

  it('is what only the server sets', () => {
    const { metadata: _, ...sent } = stored;
    const metadata = { uid: 'x', specHash: hashSpec(sent) };
    const document = { ...sent, metadata, status: {}, alterations: [], warnings: [] };
    const { alterations } = accepted(admitCreate(document, exampleFacts, limits));
    expect(alterations.map(({ field }) => field)).to.deep.equal(['metadata', 'status', 'alterations', 'warnings']);
  });
});

describe('an update', () => {
  const put = (document: unknown, of = stored) => admitUpdate(of, document, exampleFacts, limits);

  it('keeps what was not sent, replaces what was, removes what is null', () => {
    const { spec } = accepted(put({ environment: { NEW: '1' }, labels: null, replicas: 5 }));
    const { labels: _, metadata: _metadata, ...rest } = stored;
    expect(spec).to.deep.equal({ ...rest, environment: { NEW: '1' }, replicas: 5 });
  });

  it('changes nothing when it sends back what GET answered', () => {
    const body = {
      ...stored,
      metadata: { ...stored.metadata, revision: '4711' },
      status: {},
      alterations: [],
      warnings: [],
    };
    const admission = accepted(put(body));
    expect(admission.spec).to.deep.equal(toSpec(stored));
    expect(admission.ifMatch).to.equal('4711');
    expect(admission.alterations.map(({ field }) => field)).to.deep.equal([
      'metadata',
      'status',
      'alterations',
      'warnings',
    ]);
  });

  it('falls back to the default when it removes replicas, and announces that', () => {
    const { spec, alterations } = accepted(put({ replicas: null }));
    expect(spec.replicas).to.equal(1);
    expect(alterations[0]).to.include({ field: 'replicas', to: 1 });
  });

  it('[2.2.25] cannot move secretsVersion either way', () => {
    const rotated = { ...stored, secretsVersion: 4 };
    for (const secretsVersion of [0, 3, 5]) {
      const { spec, alterations } = accepted(put({ secretsVersion }, rotated));
      expect(spec.secretsVersion).to.equal(4);
      expect(alterations[0]).to.include({ field: 'secretsVersion', from: secretsVersion, to: 4 });
    }
    expect(accepted(put({}, rotated)).alterations).to.deep.equal([]);
  });

  const refusals: ReadonlyArray<{ given: unknown; found: [string, string][] }> = [
    { given: { name: 'web', kind: 'Deployment' }, found: [] },
    { given: { name: 'shop' }, found: [['field_immutable', 'name']] },
    { given: { name: 'Shop!' }, found: [['field_immutable', 'name']] },
    { given: { name: null }, found: [['name_required', 'name']] },
    { given: { kind: 'Job' }, found: [['manifest_wrong_kind', 'kind']] },
    { given: { kind: null }, found: [['manifest_wrong_kind', 'kind']] },
    { given: { image: null }, found: [['image_required', 'image']] },
    { given: { image: 'web' }, found: [['image_required', 'image']] },
    { given: { replicas: 101 }, found: [['replicas_out_of_range', 'replicas']] },
    { given: { secretsVersion: -1 }, found: [['secrets_version_negative', 'secretsVersion']] },
    { given: { secretsVersion: 'x' }, found: [['field_invalid', 'secretsVersion']] },
    { given: { bogus: 1 }, found: [['field_unknown', 'bogus']] },
    { given: { bogus: null }, found: [['field_unknown', 'bogus']] },
    { given: { nodeId: 'nowhere' }, found: [['node_not_a_placement_candidate', 'nodeId']] },
    { given: { metadata: { revision: 5 } }, found: [['field_invalid', 'metadata.revision']] },
    { given: { metadata: 'x' }, found: [] },
    { given: [], found: [['field_invalid', 'body']] },
  ];
  for (const { given, found } of refusals) {
    it(`${JSON.stringify(given)} → ${found[0]?.[0] ?? 'accepted'}`, () => {
      expect(listFaults(put(given))).to.deep.equal(found);
    });
  }

  it('is not refused for stored fields when the facts have changed since', () => {
    const strict = { ...limits, maxReplicas: 1, retriesFloor: 9, reservedNames: ['web'] };
    for (const nodes of ['unreadable' as const, []]) {
      expect(listFaults(admitUpdate(stored, { labels: {} }, { ...exampleFacts, nodes }, strict))).to.deep.equal([]);
      expect(listFaults(admitUpdate(stored, full, { ...exampleFacts, nodes }, strict))).to.deep.equal([]);
    }
  });

  it('is measured by the limits where it changes something', () => {
    const strict = { ...limits, maxReplicas: 1 };
    expect(listFaults(admitUpdate(stored, { replicas: 3 }, exampleFacts, strict))).to.deep.equal([
      ['replicas_out_of_range', 'replicas'],
    ]);
  });
});
